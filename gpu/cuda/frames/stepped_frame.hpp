// Decodes a long frame in steps (steps.hpp), as its bytes arrive: its text may be longer than the memory of a batch.
// While the text of a step is hashed, the device decodes the next one.
#pragma once

#include "gpu/cuda/frames/frame_batch.hpp"
#include "gpu/cuda/handles.hpp"
#include "gpu/cuda/zstd/checksum.hpp"
#include "gpu/frame_decoder.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace gpuhist::gpu::cuda::frames {

/// Owned by one lane, not thread-safe. Only the constructor allocates.
class stepped_frame {
 public:
  /// `memory` outlives it. The device is current. Throws engine_error.
  explicit stepped_frame(frame_batch& memory);

  /// The most text of the blocks of a step with the window of the frame; 0: the batch has too little memory.
  [[nodiscard]] static std::uint64_t text_of_step(const frame_decoder::limits& limits);

  /// Decodes the only job of the batch, which has steps, and writes its results. Afterwards no work is left on the
  /// stream. Throws engine_error.
  void decode(const stream& on, int multiprocessors, const partition& counted);

  /// Of the last frame, decoded or not.
  [[nodiscard]] std::uint64_t compressed_bytes() const { return compressed_bytes_; }

  /// Of the last frame: time in which it waited for steps, and whether one did not come.
  [[nodiscard]] std::chrono::nanoseconds waited() const { return waited_; }
  [[nodiscard]] bool is_given_up() const { return is_given_up_; }

 private:
  // Two steps are on the device at the same time. Each has one of two places in all memory that the host shares.
  struct place {
    event begun;  // its result is cleared, and may be polled
    event ended;
  };

  [[nodiscard]] frame_step* next_of(frame_steps& steps);
  void enqueue(const frame_step& step, std::uint64_t number, const stream& on, int multiprocessors);
  void copy_blocks(const frame_step& step, std::uint64_t number, const stream& on);
  [[nodiscard]] bool end(frame_step& step, std::uint64_t number, const partition& counted, zstd::piecewise_xxh64& hash);
  [[nodiscard]] bool is_verified(const frame_step& last, const zstd::piecewise_xxh64& hash) const;
  [[nodiscard]] const zstd::encoded_frame& frame() const { return batch_.jobs_.front()->frames.front(); }
  [[nodiscard]] std::uint8_t* text_of(std::uint64_t number) const;

  frame_batch& batch_;
  std::array<place, 2> places_;
  std::uint64_t text_bytes_ = 0;  // of ended steps
  std::uint64_t text_begin_ = 0;  // of the memory of the next step, in the text of the frame
  std::uint64_t hashed_ = 0;      // bytes
  std::uint32_t crc32_ = 0;       // of the text of a member, inverted
  std::uint64_t compressed_bytes_ = 0;
  std::chrono::nanoseconds waited_{0};
  bool is_given_up_ = false;
};

}  // namespace gpuhist::gpu::cuda::frames
