#include "pipeline/flow/decoding/encoded_frames.hpp"

#include "gpu/cuda/deflate/portions.hpp"
#include "io/frame_magic.hpp"
#include "io/gzip/gzip_header.hpp"
#include "io/gzip/gzip_splitter.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace deflate = gpu::cuda::deflate;
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

// Places a frame after those before it. Its blocks follow.
void append(zstd::encoded_frame frame, encoded_frames& to) {
  frame.text_at = to.text_room;
  frame.first_block = static_cast<std::uint32_t>(to.blocks.size());
  to.text_room += (frame.text_room + text_alignment - 1) / text_alignment * text_alignment;
  if (frame.content_bytes == zstd::unknown_size) to.stated_text.reset();
  if (to.stated_text) *to.stated_text += frame.content_bytes;
  to.frames.push_back(frame);
}

void append(const io::zstd_layout& frame, zstd::encoded_frame listed, encoded_frames& to) {
  const auto index = static_cast<std::uint32_t>(to.frames.size());
  listed.block_count = static_cast<std::uint32_t>(frame.blocks.size());
  listed.checksum = frame.checksum.value_or(0);
  append(listed, to);
  for (const io::zstd_block& each : frame.blocks) {
    to.blocks.push_back(encoded_block_of(each.header, static_cast<std::uint32_t>(each.at)));
    to.blocks.back().frame = index;
  }
}

// Nothing: there is no whole header before `end`.
std::optional<io::gzip_header> header_of(const io::byte_access& bytes, std::uint64_t begin, std::uint64_t end) {
  std::array<std::byte, 64> piece{};
  io::gzip_header header;
  while (header.status() == io::gzip_header_status::needs_more && begin + header.size() < end) {
    const std::uint64_t at = begin + header.size();
    const auto next = std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), end - at)));
    bytes.copy(at, next);
    header.advance(next);
  }
  if (header.status() != io::gzip_header_status::complete) return std::nullopt;
  return header;
}

bool append_member(const io::byte_access& bytes, std::uint64_t begin, std::uint64_t end, encoded_frames& to) {
  const std::optional<io::gzip_header> header = header_of(bytes, begin, end);
  if (!header || begin + header->size() + member_trailer::size > end) return false;
  const std::uint64_t stream = begin + header->size();
  const auto trailer = member_trailer::before(bytes, end);
  if (trailer.text_bytes > io::highest_deflate_ratio * (end - begin)) return false;
  const auto index = static_cast<std::uint32_t>(to.frames.size());
  const std::uint64_t stream_bytes = end - member_trailer::size - stream;
  const std::uint32_t portions = deflate::member_room::portions_of(stream_bytes, trailer.text_bytes);
  const auto room = deflate::member_room::of(portions, trailer.text_bytes);
  append({.text_room = trailer.text_bytes,
          .window_bytes = deflate::window_bytes,
          .content_bytes = trailer.text_bytes,
          .block_count = room.blocks,
          .checksum = trailer.checksum,
          .portions = room.portions},
         to);
  to.stated_text.reset();  // a size of BGZF may have led over members
  to.sequences += room.entries;
  to.blocks.insert(to.blocks.end(), room.blocks,
                   {.at = static_cast<std::uint32_t>(stream),
                    .bytes = static_cast<std::uint32_t>(stream_bytes),
                    .type = zstd::block_type::member,
                    .frame = index});
  to.lacks_end_marker = header->bgzf_bytes() && trailer.text_bytes > 0;
  return true;
}

// The places after a member that another one seems to follow. Ends early when `use` returns false.
template <class Use>
void for_each_end(const io::byte_access& bytes, Use use) {
  constexpr std::size_t piece_bytes = std::size_t{64} << 10U;
  const std::unique_ptr<io::splitter> splitter = io::make_gzip_splitter();
  splitter->permit_guesses(bytes.size);
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes.size)));
  for (std::uint64_t at = 0; at < bytes.size;) {
    auto rest =
        std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes.size - at)));
    bytes.copy(at, rest);
    while (!rest.empty()) {
      const io::split_step step = splitter->advance(rest);
      rest = rest.subspan(step.taken);
      at += step.taken;
      if (step.frame_ends && !use(at - step.beyond)) return;
    }
  }
}

std::optional<encoded_frames> list_members(const io::byte_access& bytes) {
  encoded_frames listed;
  std::uint64_t begin = 0;
  bool is_valid = true;
  const auto append_until = [&](std::uint64_t end) {
    is_valid = append_member(bytes, std::exchange(begin, end), end, listed);
    return is_valid;
  };
  for_each_end(bytes, append_until);
  if (is_valid && begin < bytes.size) append_until(bytes.size);
  if (!is_valid) return std::nullopt;
  return listed;
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

namespace {

std::optional<encoded_frames> list_zstd_frames(const io::byte_access& bytes) {
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

}  // namespace

bool begins_member(std::span<const std::byte> bytes) { return !bytes.empty() && bytes.front() == std::byte{0x1F}; }

member_trailer member_trailer::before(const io::byte_access& bytes, std::uint64_t end) {
  std::array<std::byte, size> trailer{};
  bytes.copy(end - size, trailer);
  return {.checksum = static_cast<std::uint32_t>(io::little_endian(std::span(trailer).first(4))),
          .text_bytes = static_cast<std::uint32_t>(io::little_endian(std::span(trailer).last(4)))};
}

std::optional<std::uint64_t> header_of_only_member(const io::byte_access& bytes) {
  if (bytes.size == 0) return std::nullopt;
  const std::optional<io::gzip_header> header = header_of(bytes, 0, bytes.size);
  bool is_only = true;
  if (header) for_each_end(bytes, [&](std::uint64_t) { return is_only = false; });
  if (!header || !is_only || header->bgzf_bytes()) return std::nullopt;
  return header->size();
}

std::optional<encoded_frames> list_frames(const io::byte_access& bytes) {
  std::byte first{};
  if (bytes.size > 0) bytes.copy(0, {&first, 1});
  return begins_member({&first, 1}) ? list_members(bytes) : list_zstd_frames(bytes);
}

}  // namespace gpuhist::pipeline
