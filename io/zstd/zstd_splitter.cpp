#include "io/zstd/zstd_splitter.hpp"

#include "io/block_splitter.hpp"
#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_head.hpp"

namespace gpuhist::io {
namespace {

struct zstd_frames {
  using blocks = zstd_blocks;
  using head = zstd_head_reader;
  using opening = frame_opening<blocks>;
  static constexpr std::size_t max_header_bytes = zstd_max_header_bytes;
  static constexpr std::string_view nothing_after = "no frame can be found after data that is not a zstd frame";

  static opening open(std::span<const std::byte> bytes) {
    const zstd_header_result parsed = parse_zstd_header(bytes);
    if (parsed.status == header_status::needs_more) return {};
    if (parsed.status != header_status::complete) return {.type = opening::kind::none, .reason = nothing_after};
    if (parsed.header.skippable) return {.type = opening::kind::skippable, .skip_bytes = parsed.header.skip_bytes};
    return {.type = opening::kind::blocks, .blocks = zstd_blocks(parsed.header.has_checksum)};
  }
};

}  // namespace

std::unique_ptr<splitter> make_zstd_splitter() { return std::make_unique<block_splitter<zstd_frames>>(); }

}  // namespace gpuhist::io
