// Whole frames as parts that are decoded ahead (io/part_decoder.hpp), for readers that need the text in order: any
// format whose frames a splitter finds.
#pragma once

#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/part_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// The text of one or more frames, and the decoder in the state after it. The decoder began at the start of the part,
/// so the reader of the text continues with it, whatever the cause why decoding ended.
class frame_part final : public io::decoded_part {
 public:
  frame_part(std::uint64_t offset, std::unique_ptr<io::decoder> used) : begin(offset), decoder(std::move(used)) {}

  /// Decodes from `in` until it is used up (ended_by: needs_input), a fault, or `max_bytes` of text in all. Throws
  /// std::bad_alloc.
  void decode(std::span<const std::byte> in, std::size_t max_bytes);

  /// Copies text that was not copied yet. A call ends at the end of a frame.
  std::size_t copy(std::span<std::byte> out) noexcept;

  /// Whether a frame was verified at the position of copy(). Returns true once for each frame.
  bool take_frame_end() noexcept;

  /// Whether copy() and take_frame_end() have nothing left.
  [[nodiscard]] bool is_used_up() const { return copied_ == bytes_ && next_end_ == frame_ends_.size(); }

  /// Bytes of text in all.
  [[nodiscard]] std::uint64_t text_bytes() const { return bytes_; }

  /// Frees the memory of the text. Precondition: is_used_up().
  void free_text() noexcept { chunks_.clear(); }

  const std::uint64_t begin;  ///< offset in the compressed input
  const std::unique_ptr<io::decoder> decoder;
  io::fill_status ended_by = io::fill_status::needs_input;  ///< needs_input: all bytes of the part were decoded
  std::size_t consumed = 0;                                 ///< compressed bytes of the part before the decoder

 private:
  [[nodiscard]] std::span<std::byte> room(std::size_t max_bytes);

  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;
  std::vector<std::unique_ptr<std::byte[]>> chunks_{};  // of the text
  std::size_t bytes_ = 0;                               // of text
  std::vector<std::size_t> frame_ends_{};               // offsets in the text
  std::size_t copied_ = 0;
  std::size_t next_end_ = 0;
};

/// How the frames of a format are decoded ahead in parts of about `group_bytes`. `memory_bytes`: for the text of a
/// part. The divider of the input calls part_queue::end_part().
io::part_format make_frame_parts(const io::format& format, const io::decoder_limits& limits);

}  // namespace gpuhist::pipeline
