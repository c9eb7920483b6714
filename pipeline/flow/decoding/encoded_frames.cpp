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

void append(const io::zstd_layout& frame, zstd::encoded_frame listed, encoded_frames& to) {
  const auto index = static_cast<std::uint32_t>(to.frames.size());
  const std::uint64_t text_room = listed.text_room;
  listed.text_at = to.text_room;
  listed.first_block = static_cast<std::uint32_t>(to.blocks.size());
  listed.block_count = static_cast<std::uint32_t>(frame.blocks.size());
  listed.checksum = frame.checksum.value_or(0);
  to.frames.push_back(listed);
  for (const io::zstd_block& each : frame.blocks) {
    to.blocks.push_back(encoded_block_of(each.header, static_cast<std::uint32_t>(each.at)));
    to.blocks.back().frame = index;
  }
  if (!frame.header.content_bytes) to.stated_text.reset();
  if (to.stated_text) *to.stated_text += *frame.header.content_bytes;
  to.text_room += (text_room + text_alignment - 1) / text_alignment * text_alignment;
}

}  // namespace

bool is_supported(const io::zstd_frame_header& header) {
  return !header.skippable && header.dictionary_id == 0 && header.window_bytes <= zstd::max_window_bytes;
}

zstd::encoded_frame encoded_header(const io::zstd_frame_header& header) {
  return {
      .window_bytes = header.window_bytes,
      .content_bytes = header.content_bytes.value_or(zstd::unknown_size),
      .block_limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(zstd::max_block_bytes, header.window_bytes)),
      .has_checksum = header.has_checksum ? 1U : 0U};
}

zstd::encoded_block encoded_block_of(const io::zstd_block_header& header, std::uint32_t at) {
  return {.at = at, .bytes = header.size, .type = type_of(header.type)};
}

std::optional<encoded_frames> list_frames(const io::byte_access& bytes) {
  encoded_frames listed;
  for (std::uint64_t at = 0; at < bytes.size;) {
    const auto frame = io::lay_out_zstd_frame(bytes, at);
    if (!frame) return std::nullopt;
    at = frame->end;
    if (frame->header.skippable) continue;
    zstd::encoded_frame header = encoded_header(frame->header);
    const std::uint64_t max_text = std::uint64_t{header.block_limit} * frame->blocks.size();
    if (!is_supported(frame->header) || frame->header.content_bytes.value_or(0) > max_text) return std::nullopt;
    header.text_room = frame->header.content_bytes.value_or(max_text);
    append(*frame, header, listed);
  }
  return listed;
}

}  // namespace gpuhist::pipeline
