// A batch of zstd frames for the decoder of devices, in host memory. Its buffers have exactly the sizes that the
// decoder may use, so that the address sanitizer detects every access outside them, and the text of each frame is
// followed by bytes that no phase may change.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"
#include "tests/support/byte_vectors.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace gpuhist::test {

/// Sizes of the buffers that frames share.
struct batch_rooms {
  std::uint32_t literal_bytes = 0;
  std::uint32_t sequence_entries = 0;
};

/// The bytes of the buffers whose sizes batch_buffers does not have.
struct batch_bytes {
  std::size_t compressed = 0;
  std::size_t text = 0;
};

/// Decodes a batch in host memory: fills text, results and `used`.
using batch_decoder = std::function<void(const gpu::cuda::zstd::batch_buffers& batch, const batch_bytes& bytes)>;

class zstd_batch {
 public:
  /// The frames of one call of add().
  struct sample {
    bool is_listed = false;  ///< otherwise it is not in the batch
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t at = 0;  ///< its first byte in the compressed bytes
  };

  /// Adds the frames of `packed`, if they can be listed. Samples are listed apart from each other.
  sample add(std::span<const std::byte> packed);

  /// Gives a frame less room for its text.
  void limit_text(std::uint32_t frame, std::uint64_t room) { frames_[frame].text_room = room; }

  /// The frame is divided into parts in phase 6.
  void divide(std::uint32_t frame) { frames_[frame].is_in_parts = 1; }
  void divide_all() {
    for (std::uint32_t i = 0; i < size(); ++i) divide(i);
  }

  /// What the blocks of the batch describe, and the room that it needs.
  batch_rooms describe();

  /// Decodes with as much room as the batch needs, or with `rooms`.
  void decode(const batch_decoder& decoder);
  void decode(const batch_decoder& decoder, const batch_rooms& rooms);

  [[nodiscard]] bool is_decoded(const sample& which) const;
  [[nodiscard]] gpu::cuda::zstd::verdict verdict_of(std::uint32_t frame) const { return results_[frame].is; }
  [[nodiscard]] std::span<const std::byte> text_of(std::uint32_t frame) const;
  /// The text of all its frames, which are decoded.
  [[nodiscard]] byte_vector text_of(const sample& which) const;

  /// False: bytes between the texts of frames were changed.
  [[nodiscard]] bool kept_bounds() const;

  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  [[nodiscard]] const std::vector<gpu::cuda::zstd::encoded_frame>& frames() const { return frames_; }
  [[nodiscard]] const std::vector<gpu::cuda::zstd::encoded_block>& blocks() const { return blocks_; }
  [[nodiscard]] std::span<const std::byte> compressed() const { return compressed_; }
  /// After describe() or decode().
  [[nodiscard]] const gpu::cuda::zstd::decoded_block& decoded(std::uint32_t block) const { return decoded_[block]; }
  [[nodiscard]] const gpu::cuda::zstd::block_codes& codes(std::uint32_t block) const { return codes_[block]; }

 private:
  [[nodiscard]] gpu::cuda::zstd::batch_buffers allocate_descriptions();

  std::vector<gpu::cuda::zstd::encoded_frame> frames_;
  std::vector<gpu::cuda::zstd::encoded_block> blocks_;
  byte_vector compressed_;
  std::unique_ptr<std::byte[]> words_;  // the compressed bytes and padding
  std::unique_ptr<gpu::cuda::zstd::block_codes[]> codes_;
  std::unique_ptr<gpu::cuda::zstd::decoded_block[]> decoded_;
  std::unique_ptr<std::uint8_t[]> text_;
  std::unique_ptr<gpu::cuda::zstd::decoded_frame[]> results_;
};

}  // namespace gpuhist::test
