#include "io/gzip/deflate_run.hpp"

#include "io/gzip/gzip_header.hpp"

#include <algorithm>

namespace gpuhist::io {
namespace {

constexpr std::size_t member_trailer_bytes = 8;

std::size_t size_between(const deflate_text::position& begin, const deflate_text& text) {
  std::size_t size = 0;
  const auto& chunks = text.chunks();
  for (std::size_t i = begin.chunks == 0 ? 0 : begin.chunks - 1; i < chunks.size(); ++i) size += chunks[i].size;
  return size - begin.size;
}

}  // namespace

bool deflate_run::begin_at_block(std::uint64_t first_begin, std::uint64_t begin,
                                 std::optional<std::span<const std::byte>> window) {
  position_ = begin;
  first_begin_ = first_begin;
  in_member_ = true;
  opens_stretch_ = true;
  return window ? text_.begin_bytes(*window) : text_.begin_marked();
}

run_end deflate_run::decode(deflate_blocks& blocks, const deflate_data& data, std::uint64_t until) {
  const std::uint64_t base = 8 * data.offset;
  deflate_bits bits(data.bytes, position_ - base);
  while (true) {
    if (!in_member_) {
      if (const auto end = read_between(data, until)) return *end;
      bits.seek(position_ - base);
    }
    if (position_ >= until) return run_end::reached;
    if (const auto end = read_block(blocks, bits)) return *end;
    position_ = base + bits.position();
    stretches_.back().end = position_;
    if (!in_member_ && position_ >= until) return run_end::reached;
  }
}

/// Nothing: the block was decoded.
std::optional<run_end> deflate_run::read_block(deflate_blocks& blocks, deflate_bits& bits) {
  const deflate_text::position begin = text_.end();
  const block_end end = blocks.decode(bits, text_);
  if (end != block_end::next && end != block_end::last) {
    text_.truncate(begin);
    if (end == block_end::incomplete) return run_end::incomplete;
    return end == block_end::full ? run_end::full : run_end::damaged;
  }
  if (opens_stretch_) {
    if (!text_.charge(2 * sizeof(deflate_stretch))) {  // a vector may have twice the needed memory
      text_.truncate(begin);
      return run_end::full;
    }
    stretches_.push_back({.first_begin = first_begin_, .begin = position_});
    opens_stretch_ = false;
  }
  stretches_.back().text_bytes += size_between(begin, text_);
  if (end == block_end::last) {
    stretches_.back().ends_member = true;
    in_member_ = false;
    after_member_ = true;
  } else if (!text_.leave_marks()) {
    return std::nullopt;  // it continues with marks
  }
  return std::nullopt;
}

/// Reads a trailer, padding, and the header of a member. Nothing: a block follows.
std::optional<run_end> deflate_run::read_between(const deflate_data& data, std::uint64_t until) {
  auto at = static_cast<std::size_t>((position_ + 7) / 8 - data.offset);
  if (after_member_) {
    if (data.bytes.size() - at < member_trailer_bytes) return run_end::incomplete;
    at += member_trailer_bytes;
    const auto rest = data.bytes.subspan(at);
    at += static_cast<std::size_t>(std::ranges::find_if(rest, [](std::byte byte) { return byte != std::byte{}; }) -
                                   rest.begin());
  }
  if (8 * (data.offset + at) >= until) return run_end::reached;
  if (at == data.bytes.size()) return run_end::incomplete;
  gzip_header header;
  const std::size_t size = header.advance(data.bytes.subspan(at));
  if (header.status() == gzip_header_status::needs_more) return run_end::incomplete;
  if (header.status() != gzip_header_status::complete) return run_end::damaged;
  if (!text_.forget_window()) return run_end::full;
  position_ = 8 * (data.offset + at + size);
  first_begin_ = position_;
  in_member_ = true;
  opens_stretch_ = true;
  return std::nullopt;
}

}  // namespace gpuhist::io
