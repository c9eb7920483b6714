#include "io/zstd/zstd_execution.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr std::size_t block_text = std::size_t{128} << 10U;
constexpr std::size_t beyond = 64;  // of a block: copies of whole words may go so far, without effect
constexpr std::size_t word_bytes = 16;

void copy_word(std::byte* to, const std::byte* from) { std::memcpy(to, from, word_bytes); }

/// Copies at least `bytes` bytes, and up to `least` or a word more, from memory that does not overlap within a word.
template <std::size_t least>
[[gnu::always_inline]] inline void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < least; i += word_bytes) copy_word(to + i, from + i);
  if (bytes <= least) [[likely]]
    return;
  for (std::size_t i = least; i < bytes; i += word_bytes) copy_word(to + i, from + i);
}

/// A match at an offset of less than a word.
void copy_near(std::byte* to, std::size_t offset, std::size_t bytes) {
  constexpr std::size_t half = 8;
  constexpr std::array<std::uint8_t, half> whole_periods{8, 8, 8, 9, 8, 10, 12, 14};  // at least 8 bytes of them
  const std::byte* from = to - offset;
  std::size_t i = 0;
  if (offset < half) {
    for (; i < half; ++i) to[i] = from[i];
    from = to - whole_periods[offset];
  }
  for (; i < bytes; i += half) std::memcpy(to + i, from + i, half);
}

}  // namespace

std::size_t zstd_window::memory_for(std::uint64_t window_bytes) {
  return static_cast<std::size_t>(window_bytes) + 2 * block_text + beyond;
}

void zstd_window::begin(std::uint64_t window_bytes) {
  const std::size_t wanted = memory_for(window_bytes);
  if (!memory_ || size_ != wanted) {
    memory_ = nullptr;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(wanted);
    size_ = wanted;
  }
  window_bytes_ = window_bytes;
  at_ = turn_ = 0;
  text_bytes_ = 0;
}

std::byte* zstd_window::next_place() {
  if (size_ - beyond - at_ < block_text) {
    turn_ = at_;
    at_ = 0;
  }
  return memory_.get() + at_;
}

std::span<std::byte> zstd_window::room() { return {next_place(), block_text}; }

void zstd_window::add(std::size_t bytes) {
  at_ += bytes;
  text_bytes_ += bytes;
}

std::optional<std::span<const std::byte>> zstd_window::execute(const zstd_block_plan& block, zstd_offsets& offsets) {
  if (block.max_offset > window_bytes_) return std::nullopt;
  std::byte* const begin = next_place();
  const std::byte* const base = memory_.get();
  std::byte* to = begin;
  const std::byte* literals = block.literals.data();
  for (const zstd_sequence& each : block.sequences) {
    copy_words<word_bytes>(to, literals, each.literals);
    to += each.literals;
    literals += each.literals;
    if (each.offset - std::size_t{1} >= static_cast<std::size_t>(to - base)) [[unlikely]] {
      to = copy_far(to, each, offsets);
      if (to == nullptr) return std::nullopt;
      continue;
    }
    if (each.offset >= word_bytes) [[likely]] {
      copy_words<2 * word_bytes>(to, to - each.offset, each.match);
    } else {
      copy_near(to, each.offset, each.match);
    }
    to += each.match;
  }
  std::memcpy(to, literals, static_cast<std::size_t>(block.literals.data() + block.literals.size() - literals));
  const zstd_offsets before = offsets;
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = resolve(block.offsets[i], before);
  add(block.text_bytes);
  return std::span<const std::byte>(begin, block.text_bytes);
}

std::array<std::span<const std::byte>, 2> zstd_window::text() const {
  const auto kept = static_cast<std::size_t>(std::min(text_bytes_, window_bytes_));
  const std::size_t here = std::min(kept, at_);
  return {{{memory_.get() + turn_ - (kept - here), kept - here}, {memory_.get() + at_ - here, here}}};
}

/// A match that begins before the turn, or whose offset is unknown. Null: it is invalid.
std::byte* zstd_window::copy_far(std::byte* to, const zstd_sequence& sequence, const zstd_offsets& offsets) const {
  const std::uint32_t offset = resolve(sequence.offset, offsets);
  const auto here = static_cast<std::size_t>(to - memory_.get());
  const std::uint64_t text = text_bytes_ + here - at_;
  if (offset == 0 || offset > window_bytes_ || offset > text) return nullptr;
  std::size_t left = sequence.match;
  if (offset > here) {
    const std::size_t before_turn = offset - here;
    const std::size_t first = std::min(left, before_turn);
    std::memmove(to, memory_.get() + turn_ - before_turn, first);
    to += first;
    left -= first;
  }
  for (; left != 0; --left, ++to) *to = *(to - offset);
  return to;
}

}  // namespace gpuhist::io
