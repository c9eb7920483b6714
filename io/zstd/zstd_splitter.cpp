// Divides zstd files into frames, and long frames into parts.
#include "io/block_splitter.hpp"
#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_decoder.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_head.hpp"
#include "io/zstd/zstd_parts.hpp"

#include <memory>
#include <string_view>

namespace gpuhist::io {
namespace {

/// Frames that state less than `least_text` bytes of text have no parts.
template <std::uint64_t least_text>
struct zstd_frames {
  using blocks = zstd_blocks;
  using head = zstd_head_reader;
  static constexpr std::size_t max_header_bytes = zstd_max_header_bytes;
  static constexpr std::string_view nothing_after = "no frame can be found after data that is not a zstd frame";
  static constexpr auto parse = parse_zstd_header;

  static bool is_skippable(const zstd_frame_header& header) { return header.skippable; }
  static blocks begin(const zstd_frame_header& header) { return blocks(header); }

  static constexpr bool first_block_begins_part = true;
  static constexpr std::size_t most_part_blocks = zstd_part_blocks;

  static std::shared_ptr<const frame_context> part_context(const zstd_blocks& blocks) {
    const zstd_frame_header& frame = blocks.frame();
    const bool is_long = frame.content_bytes.value_or(least_text) >= least_text;
    if (!blocks.is_at_block() || !is_long || !may_have_zstd_parts(frame)) return nullptr;
    return std::make_shared<zstd_context>(frame, blocks.is_at_first_block());
  }
};

}  // namespace

std::unique_ptr<splitter> make_zstd_splitter() {
  return std::make_unique<block_splitter<zstd_frames<zstd_least_text>>>(zstd_part_bytes);
}

std::unique_ptr<splitter> make_zstd_splitter_with_parts(std::size_t part_bytes) {
  return std::make_unique<block_splitter<zstd_frames<0>>>(part_bytes);
}

}  // namespace gpuhist::io
