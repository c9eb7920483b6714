// Hashes the text of a frame on the host while a device decodes it. The text arrives in pieces: one is copied while the
// piece before it is hashed. The device multiplies the words of a long text first, in chunks of several pieces and
// ahead of their copies, because its kernel may have to wait for those of other lanes:
//
//     text       | written by phase 6 ........................................ | not yet
//     products   | hashed ..... | chunk      | chunk      | chunk (kernel waits) |
//     host         hashed | piece | piece (being copied)
#pragma once

#include "gpu/cuda/handles.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/zstd/checksum.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::frames {

/// Owned by one lane, not thread-safe. Only the constructor allocates.
class text_hasher {
 public:
  /// `max_text`: of a frame. The device is current. Throws engine_error.
  text_hasher(runtime& api, std::uint64_t max_text);

  /// The text of a frame that a device decodes in parts, or of a step; all pointers are of device memory.
  struct hashed_text {
    const zstd::decoded_frame* result = nullptr;
    const std::uint8_t* text = nullptr;  ///< of the frame
    std::uint64_t begin = 0;             ///< only bytes from there on are hashed; a multiple of 32
    bool is_last = true;                 ///< false: bytes after the last whole stripe are not hashed yet
  };

  /// XXH64 of the text of a frame. Unspecified if the frame is rejected. Throws engine_error.
  std::uint64_t hash(const hashed_text& text, std::uint64_t text_room);

  /// Adds the text of a step to the hash of a frame, which was made with multiplies(). Returns the number of bytes.
  /// Throws engine_error.
  std::uint64_t add(const hashed_text& text, zstd::piecewise_xxh64& to);

  /// Whether the device multiplies the words of steps.
  [[nodiscard]] bool multiplies() const { return has_products_; }

 private:
  static constexpr std::size_t chunks = 4;

  struct progress {
    hashed_text of{};
    zstd::decoded_frame now{};
    bool multiplies = false;
    std::uint64_t multiplied = 0;  ///< bytes whose products are queued

    [[nodiscard]] std::uint64_t written() const;
    [[nodiscard]] const std::uint8_t* text_at(std::uint64_t hashed) const { return of.text + of.begin + hashed; }
  };

  std::uint64_t add(progress& of, zstd::piecewise_xxh64& to);
  void poll(progress& of);
  std::size_t next_piece(progress& of, std::uint64_t copied);
  void multiply_ahead(progress& of, std::uint64_t copied);
  void take_piece(const progress& of, std::uint64_t copied, std::size_t bytes, unsigned which);
  void copy_to_host(void* to, const void* from, std::size_t bytes);
  [[nodiscard]] std::uint8_t* products_at(std::uint64_t text_at) const;

  runtime& api_;
  const bool has_products_;
  pinned_memory result_;
  std::array<pinned_memory, 2> pieces_;
  device_memory products_;
  stream stream_;
  event polled_;
  std::array<event, 2> copied_;
};

}  // namespace gpuhist::gpu::cuda::frames
