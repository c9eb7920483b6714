#include "io/zstd/zstd_execution.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr std::size_t block_text = zstd_block_header::max_size;
constexpr std::size_t beyond = 64;  // of a block: copies of whole words may go so far, without effect
constexpr std::size_t word_bytes = 16;

/// Copies at least `bytes` bytes, and up to `least` or a word more, from memory that does not overlap within a word.
template <std::size_t word, std::size_t least>
[[gnu::always_inline]] inline void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < least; i += word) std::memcpy(to + i, from + i, word);
  if (bytes <= least) [[likely]]
    return;
  for (std::size_t i = least; i < bytes; i += word) std::memcpy(to + i, from + i, word);
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

struct place {
  std::byte* to = nullptr;
  const std::byte* literals = nullptr;
  const zstd_sequence* next = nullptr;
};

/// Executes sequences up to one whose match begins before `base`, or whose offset is unknown: of that one, only the
/// literals. `end`: the last sequence. Matches are copied in words of `word` bytes, the length of two thirds of them.
template <std::size_t word>
[[gnu::always_inline]] inline place execute_near(place at, const zstd_sequence* end, const std::byte* base) {
  for (; at.next != end; ++at.next) {
    const zstd_sequence each = *at.next;
    copy_words<word_bytes, word_bytes>(at.to, at.literals, each.literals);
    at.to += each.literals;
    at.literals += each.literals;
    if (each.offset - std::size_t{1} >= static_cast<std::size_t>(at.to - base)) [[unlikely]]
      break;
    if (each.offset >= word) [[likely]] {
      copy_words<word, 32>(at.to, at.to - each.offset, each.match);
    } else {
      copy_near(at.to, each.offset, each.match);
    }
    at.to += each.match;
  }
  return at;
}

#if defined(__x86_64__)
const bool has_avx2 = __builtin_cpu_supports("avx2");

[[gnu::target("avx2")]] place execute_near_avx2(place at, const zstd_sequence* end, const std::byte* base) {
  return execute_near<32>(at, end, base);
}
#endif

place execute_near_here(place at, const zstd_sequence* end, const std::byte* base) {
#if defined(__x86_64__)
  if (has_avx2) return execute_near_avx2(at, end, base);
#endif
  return execute_near<word_bytes>(at, end, base);
}

constexpr std::size_t least_chunk = std::size_t{1} << 20U;

constexpr std::size_t chunks_of_copy = 4;  // a quarter of a chunk is a copy, which costs 1 % of the time of decoding

constexpr std::size_t kept_chunks = 4;

}  // namespace

void zstd_text::begin(std::uint64_t window_bytes, std::uint64_t kept_bytes) {
  chunks_.clear();
  window_bytes_ = window_bytes;
  kept_bytes_ = kept_bytes;
  chunk_bytes_ = std::bit_ceil(static_cast<std::size_t>(
      std::clamp<std::uint64_t>(chunks_of_copy * window_bytes, least_chunk, zstd_largest_chunk)));
  bytes_ = 0;
  is_full_ = true;
}

/// Room for a block.
std::byte* zstd_text::next_place() {
  if (is_full_ || chunk_bytes_ - chunks_.back().used < block_text + beyond) add_chunk();
  return chunks_.back().memory.get() + chunks_.back().used;
}

void zstd_text::add_chunk() {
  chunk added{.memory = part_memory::shared(chunk_bytes_, kept_chunks)->get(chunk_bytes_)};
  if (!chunks_.empty()) {
    const chunk& last = chunks_.back();
    added.copied = added.used =
        std::min({last.used, static_cast<std::size_t>(window_bytes_), chunk_bytes_ / chunks_of_copy});
    std::copy_n(last.memory.get() + last.used - added.copied, added.copied, added.memory.get());
  }
  chunks_.push_back(std::move(added));
  is_full_ = false;
  std::uint64_t kept = 0;
  for (const chunk& each : chunks_) kept += each.text_bytes();
  for (; kept - chunks_.front().text_bytes() >= kept_bytes_; chunks_.pop_front()) {
    kept -= chunks_.front().text_bytes();
  }
}

std::optional<std::span<const std::byte>> zstd_text::execute(const zstd_block_plan& block, zstd_offsets& offsets) {
  if (block.max_offset > window_bytes_) return std::nullopt;
  std::byte* const begin = next_place();
  const std::byte* const base = chunks_.back().memory.get();
  const zstd_sequence* const end = block.sequences.data() + block.sequences.size();
  place at{.to = begin, .literals = block.literals.data(), .next = block.sequences.data()};
  while ((at = execute_near_here(at, end, base)).next != end) {
    at.to = copy_far(at.to, *at.next++, offsets);
    if (at.to == nullptr) return std::nullopt;
  }
  std::memcpy(at.to, at.literals,
              static_cast<std::size_t>(block.literals.data() + block.literals.size() - at.literals));
  const zstd_offsets before = offsets;
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = resolve(block.offsets[i], before);
  chunks_.back().used += block.text_bytes;
  bytes_ += block.text_bytes;
  return std::span<const std::byte>(begin, block.text_bytes);
}

/// A match that begins before the chunk, or whose offset is unknown. Null: it is invalid.
std::byte* zstd_text::copy_far(std::byte* to, const zstd_sequence& sequence, const zstd_offsets& offsets) const {
  const std::uint32_t offset = resolve(sequence.offset, offsets);
  const chunk& last = chunks_.back();
  const auto here = static_cast<std::size_t>(to - last.memory.get());
  const std::uint64_t text = bytes_ + here - last.used;
  if (offset == 0 || offset > window_bytes_ || offset > text) return nullptr;
  std::size_t left = sequence.match;
  if (offset > here) {
    std::size_t to_end = offset - (here - last.copied);  // of the chunk with the next byte
    std::size_t at = chunks_.size() - 2;
    for (; to_end > chunks_[at].text_bytes(); --at) to_end -= chunks_[at].text_bytes();
    const std::byte* const from = chunks_[at].memory.get() + chunks_[at].used - to_end;
    if (left <= to_end) [[likely]] {
      copy_words<word_bytes, 2 * word_bytes>(to, from, left);
      return to + left;
    }
    std::copy_n(from, to_end, to);
    for (to += to_end, left -= to_end; left != 0 && ++at + 1 < chunks_.size();) {
      const std::size_t next = std::min(left, chunks_[at].text_bytes());
      to = std::copy_n(chunks_[at].memory.get() + chunks_[at].copied, next, to);
      left -= next;
    }
    for (const std::byte* rest = last.memory.get() + last.copied; left != 0; --left) *to++ = *rest++;
    return to;
  }
  if (offset < word_bytes) {
    copy_near(to, offset, left);
  } else {
    copy_words<word_bytes, 0>(to, to - offset, left);
  }
  return to + left;
}

void zstd_text::put(std::vector<std::byte>& to, std::size_t count, std::size_t left_out) const {
  std::uint64_t kept = 0;
  for (const chunk& each : chunks_) kept += each.text_bytes();
  for (; count != 0 && count + left_out > kept; --count) to.push_back(std::byte{0});
  std::uint64_t skipped = kept - count - left_out;
  for (const chunk& each : chunks_) {
    const std::span<const std::byte> all(each.memory.get() + each.copied, each.text_bytes());
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(skipped, all.size()));
    const auto taken = all.subspan(here, std::min(count, all.size() - here));
    to.insert(to.end(), taken.begin(), taken.end());
    skipped -= here;
    count -= taken.size();
  }
}

}  // namespace gpuhist::io
