#include "pipeline/flow/decoding/encoded_frames.hpp"

#include <algorithm>

namespace gpuhist::pipeline {
namespace {

namespace zstd = gpu::cuda::zstd;

// Text of frames begins at multiples of this.
constexpr std::uint64_t text_alignment = 32;

zstd::block_type type_of(io::zstd_block_type type) {
  switch (type) {
    case io::zstd_block_type::run_length:
      return zstd::block_type::run;
    case io::zstd_block_type::compressed:
      return zstd::block_type::compressed;
    case io::zstd_block_type::raw:
    case io::zstd_block_type::reserved:
      break;
  }
  return zstd::block_type::raw;
}

bool is_supported(const io::zstd_layout& frame, std::uint64_t max_text) {
  return frame.header.dictionary_id == 0 && frame.header.window_bytes <= zstd::max_window_bytes &&
         frame.header.content_bytes.value_or(0) <= max_text;
}

void append(const io::zstd_layout& frame, std::uint64_t block_limit, std::uint64_t text_room, encoded_frames& to) {
  const auto index = static_cast<std::uint32_t>(to.frames.size());
  to.frames.push_back({.text_at = to.text_room,
                       .text_room = text_room,
                       .window_bytes = frame.header.window_bytes,
                       .content_bytes = frame.header.content_bytes.value_or(zstd::unknown_size),
                       .first_block = static_cast<std::uint32_t>(to.blocks.size()),
                       .block_count = static_cast<std::uint32_t>(frame.blocks.size()),
                       .block_limit = static_cast<std::uint32_t>(block_limit),
                       .has_checksum = frame.checksum ? 1U : 0U,
                       .checksum = frame.checksum.value_or(0)});
  for (const io::zstd_block& each : frame.blocks) {
    to.blocks.push_back({.at = static_cast<std::uint32_t>(each.at),
                         .bytes = each.header.size,
                         .type = type_of(each.header.type),
                         .frame = index});
  }
  if (!frame.header.content_bytes) to.stated_text.reset();
  if (to.stated_text) *to.stated_text += *frame.header.content_bytes;
  to.text_room += (text_room + text_alignment - 1) / text_alignment * text_alignment;
}

}  // namespace

std::optional<encoded_frames> list_frames(const io::byte_access& bytes) {
  encoded_frames listed;
  for (std::uint64_t at = 0; at < bytes.size;) {
    const auto frame = io::lay_out_zstd_frame(bytes, at);
    if (!frame) return std::nullopt;
    at = frame->end;
    if (frame->header.skippable) continue;
    const std::uint64_t block_limit = std::min<std::uint64_t>(zstd::max_block_bytes, frame->header.window_bytes);
    const std::uint64_t max_text = block_limit * frame->blocks.size();
    if (!is_supported(*frame, max_text)) return std::nullopt;
    append(*frame, block_limit, frame->header.content_bytes.value_or(max_text), listed);
  }
  return listed;
}

}  // namespace gpuhist::pipeline
