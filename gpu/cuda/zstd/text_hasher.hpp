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

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

/// Owned by one lane, not thread-safe. Only the constructor allocates.
class text_hasher {
 public:
  /// `max_text`: of a frame. The device is current. Throws engine_error.
  text_hasher(runtime& api, std::uint64_t max_text);

  /// XXH64 of the text of a frame that a device decodes in parts, in device memory. Unspecified if the frame is
  /// rejected. Throws engine_error.
  std::uint64_t hash(const decoded_frame* result, const std::uint8_t* text, std::uint64_t text_room);

 private:
  static constexpr std::size_t chunks = 4;

  struct progress {
    const decoded_frame* result = nullptr;
    const std::uint8_t* text = nullptr;
    decoded_frame now{};
    bool multiplies = false;
    std::uint64_t multiplied = 0;  ///< bytes whose products are queued
  };

  void poll(progress& of);
  std::size_t next_piece(progress& of, std::uint64_t copied);
  void multiply_ahead(progress& of, std::uint64_t copied);
  void take_piece(const progress& of, std::uint64_t copied, std::size_t bytes, unsigned which);
  void copy_to_host(void* to, const void* from, std::size_t bytes);
  [[nodiscard]] std::uint8_t* products_at(std::uint64_t text_at) const;

  runtime& api_;
  pinned_memory result_;
  std::array<pinned_memory, 2> pieces_;
  device_memory products_;
  stream stream_;
  event polled_;
  std::array<event, 2> copied_;
};

}  // namespace gpuhist::gpu::cuda::zstd
