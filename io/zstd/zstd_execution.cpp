#include "io/zstd/zstd_execution.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

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

/// Shared by all decoders.
std::shared_ptr<part_memory> shared_text_memory() {
  constexpr std::size_t kept_blocks = 4;
  static std::mutex mutex;
  static std::weak_ptr<part_memory> shared;
  const std::scoped_lock lock(mutex);
  auto memory = shared.lock();
  if (!memory) {
    memory = std::make_shared<part_memory>(zstd_text::chunk_bytes, kept_blocks);
    shared = memory;
  }
  return memory;
}

}  // namespace

void zstd_text::begin(std::uint64_t window_bytes, std::uint64_t kept_bytes) {
  chunks_.clear();
  window_bytes_ = window_bytes;
  kept_bytes_ = kept_bytes;
  bytes_ = 0;
  is_full_ = true;
}

/// Room for a block.
std::byte* zstd_text::next_place() {
  if (is_full_ || chunk_bytes - chunks_.back().used < block_text + beyond) {
    chunks_.push_back({.memory = shared_text_memory()->get(chunk_bytes)});
    std::uint64_t later = 0;
    for (const chunk& each : chunks_) later += each.used;
    while (later - chunks_.front().used >= kept_bytes_) {
      later -= chunks_.front().used;
      chunks_.pop_front();
    }
    is_full_ = false;
  }
  return chunks_.back().memory.get() + chunks_.back().used;
}

std::optional<std::span<const std::byte>> zstd_text::execute(const zstd_block_plan& block, zstd_offsets& offsets) {
  if (block.max_offset > window_bytes_) return std::nullopt;
  std::byte* const begin = next_place();
  const std::byte* const base = chunks_.back().memory.get();
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
  chunks_.back().used += block.text_bytes;
  bytes_ += block.text_bytes;
  return std::span<const std::byte>(begin, block.text_bytes);
}

/// A match that begins before the chunk, or whose offset is unknown. Null: it is invalid.
std::byte* zstd_text::copy_far(std::byte* to, const zstd_sequence& sequence, const zstd_offsets& offsets) const {
  const std::uint32_t offset = resolve(sequence.offset, offsets);
  const auto here = static_cast<std::size_t>(to - chunks_.back().memory.get());
  const std::uint64_t text = bytes_ + here - chunks_.back().used;
  if (offset == 0 || offset > window_bytes_ || offset > text) return nullptr;
  std::size_t left = sequence.match;
  const std::size_t before = offset > here ? offset - here : 0;  // the begin of the chunk
  if (before != 0) {
    std::size_t at = chunks_.size() - 2;
    std::size_t to_end = before;  // of the chunk with the next byte
    for (; to_end > chunks_[at].used; --at) to_end -= chunks_[at].used;
    if (left <= to_end) [[likely]] {
      copy_words<2 * word_bytes>(to, chunks_[at].memory.get() + chunks_[at].used - to_end, left);
      return to + left;
    }
    for (;; to_end = chunks_[++at].used) {
      const std::size_t next = std::min(left, to_end);
      std::memcpy(to, chunks_[at].memory.get() + chunks_[at].used - to_end, next);
      to += next;
      left -= next;
      if (left == 0 || at + 2 == chunks_.size()) break;
    }
  }
  if (offset < word_bytes) {
    copy_near(to, offset, left);
  } else {
    copy_words<0>(to, to - offset, left);
  }
  return to + left;
}

void zstd_text::put(std::vector<std::byte>& to, std::size_t count, std::size_t left_out) const {
  std::uint64_t kept = 0;
  for (const chunk& each : chunks_) kept += each.used;
  for (; count != 0 && count + left_out > kept; --count) to.push_back(std::byte{0});
  std::uint64_t skipped = kept - count - left_out;
  for (const chunk& each : chunks_) {
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(skipped, each.used));
    const std::span<const std::byte> taken(each.memory.get() + here, std::min(count, each.used - here));
    to.insert(to.end(), taken.begin(), taken.end());
    skipped -= here;
    count -= taken.size();
  }
}

}  // namespace gpuhist::io
