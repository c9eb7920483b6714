#include "io/lz4/lz4_splitter.hpp"

#include "io/block_splitter.hpp"
#include "io/lz4/lz4_frame.hpp"
#include "io/lz4/lz4_parts.hpp"

namespace gpuhist::io {
namespace {

struct lz4_frames {
  using blocks = lz4_blocks;
  using head = no_head;
  using opening = frame_opening<blocks>;
  static constexpr std::size_t max_header_bytes = lz4_max_header_bytes;
  static constexpr std::string_view nothing_after = "no frame can be found after data that is not an lz4 frame";

  static opening open(std::span<const std::byte> bytes) {
    const lz4_header_result parsed = parse_lz4_header(bytes);
    if (parsed.status == lz4_header_status::needs_more) return {};
    if (parsed.status != lz4_header_status::complete) return {.type = opening::kind::none, .reason = nothing_after};
    switch (parsed.header.kind) {
      case lz4_kind::skippable:
        return {.type = opening::kind::skippable, .skip_bytes = parsed.header.skip_bytes};
      case lz4_kind::legacy:
        return {.type = opening::kind::none, .reason = "the end of a legacy frame cannot be found without decoding it"};
      case lz4_kind::frame:
        break;
    }
    return {.type = opening::kind::blocks, .blocks = lz4_blocks(parsed.header)};
  }

  static std::shared_ptr<const frame_context> part_context(const lz4_blocks& blocks) {
    if (!blocks.is_at_block() || blocks.header().linked_blocks) return nullptr;
    return std::make_shared<lz4_context>(blocks.header());
  }
};

}  // namespace

std::unique_ptr<splitter> make_lz4_splitter() { return make_lz4_splitter_with_parts(lz4_part_bytes); }

std::unique_ptr<splitter> make_lz4_splitter_with_parts(std::size_t part_bytes) {
  return std::make_unique<block_splitter<lz4_frames>>(part_bytes);
}

}  // namespace gpuhist::io
