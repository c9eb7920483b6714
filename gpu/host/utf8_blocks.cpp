// Validates and counts UTF-8 in blocks of 64 bytes (Google Highway). The validation is that of Keiser and Lemire,
// "Validating UTF-8 In Less Than One Instruction Per Byte" (2020), implemented from the paper.
//
// Nearly every error shows in two neighbouring bytes, in three of their four nibbles. Three tables give the errors that
// are possible with each nibble, one bit each. Errors that all three have are real:
//
//     bytes e0 80         high nibble e     too short, overlong in 3 bytes, surrogate
//                         low nibble 0      too short, overlong in 2, 3, 4 bytes, ...
//                         high nibble 8     overlong in 2, 3 bytes, ...
//                         all of them       overlong in 3 bytes
//
// Two continuation bytes in sequence are such an error, too, except after a lead byte of 3 or 4 bytes. So their bit is
// compared with the positions 2 after a byte >= e0 and 3 after a byte >= f0.
//
// Each block begins at the first byte of a sequence. The sequence at its end may be incomplete; then the next block
// begins with it. So a block depends on no other block, and a block with an error has no effect on the counts.
#include "gpu/host/utf8_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/host/utf8_blocks.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using lanes = hn::CappedTag<std::uint8_t, utf8_block>;
using signed_lanes = hn::RebindToSigned<lanes>;
using wide_lanes = hn::Repartition<std::uint64_t, lanes>;
using vector = hn::Vec<lanes>;

constexpr std::size_t longest_pass = 255;  // vectors until a counter of 8 bits may overflow

HWY_INLINE vector set(unsigned value) { return hn::Set(lanes(), static_cast<std::uint8_t>(value)); }

HWY_INLINE std::uint64_t sum(vector counters) {
  return hn::GetLane(hn::SumOfLanes(wide_lanes(), hn::SumsOf8(counters)));
}

// Adds one to the lanes whose byte is an ASCII letter. All bytes of `text` are ASCII.
// With bit 5 set, letters are 'a'..'z'; 5 more, they are the largest signed values.
HWY_INLINE vector add_letters(vector counters, vector text) {
  const signed_lanes d;
  const auto folded = hn::BitCast(d, hn::Add(hn::Or(text, set(0x20)), set(0x7f - 'z')));
  const auto letters = hn::Gt(folded, hn::Set(d, 0x7f - 26));
  return hn::Sub(counters, hn::BitCast(lanes(), hn::VecFromMask(d, letters)));
}

#if HWY_TARGET != HWY_SCALAR

// One bit per byte of the block: the bytes for which `test` gives a mask.
template <class Test>
HWY_INLINE std::uint64_t block_bits(const std::uint8_t* block, const Test& test) {
  std::uint64_t bits = 0;
#pragma GCC unroll 4
  for (std::size_t at = 0; at < utf8_block; at += hn::Lanes(lanes())) {
    std::uint64_t some = 0;
    hn::StoreMaskBits(signed_lanes(), test(hn::BitCast(signed_lanes(), hn::LoadU(lanes(), block + at))),
                      reinterpret_cast<std::uint8_t*>(&some));
    bits |= some << at;
  }
  return bits;
}

HWY_INLINE std::uint64_t bits_at_least(const std::uint8_t* block, unsigned value) {  // value >= 0x80
  const auto below = hn::Set(signed_lanes(), static_cast<std::int8_t>(value - 1));
  const auto zero = hn::Zero(signed_lanes());
  return block_bits(block, [&](auto text) { return hn::And(hn::Gt(text, below), hn::Lt(text, zero)); });
}

HWY_INLINE bool is_ascii(const std::uint8_t* block) {
  vector any = hn::Zero(lanes());
#pragma GCC unroll 4
  for (std::size_t at = 0; at < utf8_block; at += hn::Lanes(lanes())) any = hn::Or(any, hn::LoadU(lanes(), block + at));
  return hn::AllFalse(signed_lanes(), hn::Lt(hn::BitCast(signed_lanes(), any), hn::Zero(signed_lanes())));
}

// Counts the ASCII blocks at the beginning. Returns their bytes.
HWY_INLINE std::size_t count_ascii(const std::uint8_t* text, std::size_t size, bool scripts, utf8_counts& counts) {
  const std::size_t width = hn::Lanes(lanes());
  const std::size_t pass = longest_pass / (utf8_block / width) * utf8_block;
  std::uint64_t letters = 0;
  std::size_t at = 0;
  for (bool ascii = true; ascii && size - at >= utf8_block;) {
    vector counters = hn::Zero(lanes());
    const std::size_t end = at + std::min(pass, (size - at) / utf8_block * utf8_block);
    for (; at != end; at += utf8_block) {
      ascii = is_ascii(text + at);
      if (!ascii) break;
#pragma GCC unroll 4
      for (std::size_t i = 0; i < utf8_block; i += width)
        counters = add_letters(counters, hn::LoadU(lanes(), text + at + i));
    }
    letters += sum(counters);
  }
  counts.code_points += at;
  if (scripts) {
    counts.scripts[static_cast<std::size_t>(script::latin)] += letters;
    counts.scripts[static_cast<std::size_t>(script::common)] += at - letters;
  }
  return at;
}

// Errors of two neighbouring bytes.
constexpr std::uint8_t too_short = 1U << 0U;          // 11______ 0_______, 11______ 11______
constexpr std::uint8_t too_long = 1U << 1U;           // 0_______ 10______
constexpr std::uint8_t overlong_3 = 1U << 2U;         // 11100000 100_____
constexpr std::uint8_t too_large = 1U << 3U;          // 11110100 1001____ and above
constexpr std::uint8_t surrogate = 1U << 4U;          // 11101101 101_____
constexpr std::uint8_t overlong_2 = 1U << 5U;         // 1100000_ 10______
constexpr std::uint8_t f_then_8 = 1U << 6U;           // 11110000 1000____ is overlong, 11110101 1000____ is too large
constexpr std::uint8_t two_continuations = 1U << 7U;  // 10______ 10______
constexpr std::uint8_t any_low = too_short | too_long | two_continuations;  // do not depend on the low nibble
constexpr std::uint8_t any_continuation = too_long | overlong_2 | two_continuations;
constexpr std::uint8_t above_f4 = any_low | too_large | f_then_8;

using nibble_table = std::array<std::uint8_t, 16>;
alignas(16) constexpr nibble_table first_high = {too_long,
                                                 too_long,
                                                 too_long,
                                                 too_long,
                                                 too_long,
                                                 too_long,
                                                 too_long,
                                                 too_long,
                                                 two_continuations,
                                                 two_continuations,
                                                 two_continuations,
                                                 two_continuations,
                                                 too_short | overlong_2,
                                                 too_short,
                                                 too_short | overlong_3 | surrogate,
                                                 too_short | too_large | f_then_8};
alignas(16) constexpr nibble_table first_low = {any_low | overlong_2 | overlong_3 | f_then_8,
                                                any_low | overlong_2,
                                                any_low,
                                                any_low,
                                                any_low | too_large,
                                                above_f4,
                                                above_f4,
                                                above_f4,
                                                above_f4,
                                                above_f4,
                                                above_f4,
                                                above_f4,
                                                above_f4,
                                                above_f4 | surrogate,
                                                above_f4,
                                                above_f4};
alignas(16) constexpr nibble_table second_high = {too_short,
                                                  too_short,
                                                  too_short,
                                                  too_short,
                                                  too_short,
                                                  too_short,
                                                  too_short,
                                                  too_short,
                                                  any_continuation | overlong_3 | f_then_8,
                                                  any_continuation | overlong_3 | too_large,
                                                  any_continuation | surrogate | too_large,
                                                  any_continuation | surrogate | too_large,
                                                  too_short,
                                                  too_short,
                                                  too_short,
                                                  too_short};

// Three zeros and ones: the masks of the bytes that are `n` after a byte of the block are at 3 - n.
constexpr auto after_begin = [] {
  std::array<std::uint8_t, utf8_bytes_before + utf8_block> made{};
  std::fill(made.begin() + utf8_bytes_before, made.end(), std::uint8_t{0xff});
  return made;
}();

// The byte `n` before each byte of the vector at `at` of the block; 0 before the block.
HWY_INLINE vector earlier(const std::uint8_t* block, std::size_t at, std::size_t n) {
  const vector text = hn::LoadU(lanes(), block + at - n);
  return at != 0 ? text : hn::And(text, hn::LoadU(lanes(), after_begin.data() + utf8_bytes_before - n));
}

HWY_INLINE vector look_up(const nibble_table& table, vector nibbles) {
  return hn::TableLookupBytes(hn::LoadDup128(lanes(), table.data()), nibbles);
}

// Whether the block, without an incomplete sequence at its end, is well-formed.
HWY_INLINE bool is_well_formed(const std::uint8_t* block) {
  vector errors = hn::Zero(lanes());
#pragma GCC unroll 4
  for (std::size_t at = 0; at < utf8_block; at += hn::Lanes(lanes())) {
    const vector before = earlier(block, at, 1);
    const vector of_two =
        hn::And(hn::And(look_up(first_high, hn::ShiftRight<4>(before)), look_up(first_low, hn::And(before, set(0x0f)))),
                look_up(second_high, hn::ShiftRight<4>(hn::LoadU(lanes(), block + at))));
    // bit 7 is set for bytes >= e0 and >= f0
    const vector third = hn::SaturatedSub(earlier(block, at, 2), set(0xe0 - 0x80));
    const vector fourth = hn::SaturatedSub(earlier(block, at, 3), set(0xf0 - 0x80));
    const vector expected = hn::And(hn::Or(third, fourth), set(two_continuations));
    errors = hn::Or(errors, hn::Xor(of_two, expected));
  }
  return hn::AllTrue(lanes(), hn::Eq(errors, hn::Zero(lanes())));
}

// Bytes of the incomplete sequence at the end of a well-formed block.
HWY_INLINE unsigned incomplete_bytes(const std::uint8_t* block) {
  if (block[utf8_block - 1] >= 0xc0) return 1;
  if (block[utf8_block - 2] >= 0xe0) return 2;
  return block[utf8_block - 3] >= 0xf0 ? 3 : 0;
}

HWY_INLINE void count_script(char32_t code_point, utf8_counts& counts) {
  ++counts.scripts[static_cast<std::size_t>(script_of(code_point))];
}

// Counts the scripts of the sequences whose first bytes are the bits of `leads` (not ASCII).
HWY_INLINE void count_scripts(const std::uint8_t* block, std::uint64_t leads, utf8_counts& counts) {
  const auto bits = [block](int at) { return static_cast<char32_t>(block[at] & 0x3fU); };
  const std::uint64_t long_leads = bits_at_least(block, 0xe0) & leads;
  const std::uint64_t longest_leads = long_leads == 0 ? 0 : bits_at_least(block, 0xf0) & leads;
  for (std::uint64_t left = leads & ~long_leads; left != 0; left &= left - 1) {
    const int at = std::countr_zero(left);
    count_script(((block[at] & 0x1fU) << 6U) | bits(at + 1), counts);
  }
  for (std::uint64_t left = long_leads & ~longest_leads; left != 0; left &= left - 1) {
    const int at = std::countr_zero(left);
    count_script(((block[at] & 0x0fU) << 12U) | (bits(at + 1) << 6U) | bits(at + 2), counts);
  }
  for (std::uint64_t left = longest_leads; left != 0; left &= left - 1) {
    const int at = std::countr_zero(left);
    count_script(((block[at] & 0x07U) << 18U) | (bits(at + 1) << 12U) | (bits(at + 2) << 6U) | bits(at + 3), counts);
  }
}

// Counts a well-formed block without its last `incomplete` bytes.
HWY_INLINE void count_block(const std::uint8_t* block, unsigned incomplete, bool scripts, utf8_counts& counts) {
  const auto last_continuation = hn::Set(signed_lanes(), static_cast<std::int8_t>(0xbf));
  const std::uint64_t complete = ~std::uint64_t{0} >> incomplete;
  const std::uint64_t firsts = block_bits(block, [&](auto text) { return hn::Gt(text, last_continuation); }) & complete;
  counts.code_points += static_cast<std::uint64_t>(std::popcount(firsts));
  if (!scripts) return;
  const std::uint64_t leads = bits_at_least(block, 0xc0) & complete;
  const std::uint64_t letters = block_bits(block, [](auto text) {
    const auto folded = hn::Or(text, hn::Set(signed_lanes(), 0x20));
    return hn::And(hn::Gt(folded, hn::Set(signed_lanes(), 'a' - 1)), hn::Lt(folded, hn::Set(signed_lanes(), 'z' + 1)));
  });
  const auto letter_count = static_cast<std::uint64_t>(std::popcount(letters));
  counts.scripts[static_cast<std::size_t>(script::latin)] += letter_count;
  counts.scripts[static_cast<std::size_t>(script::common)] +=
      static_cast<std::uint64_t>(std::popcount(firsts & ~leads)) - letter_count;
  count_scripts(block, leads, counts);
}

std::size_t count_blocks(const std::byte* bytes, std::size_t size, std::size_t from, bool scripts,
                         utf8_counts& counts) {
  const auto* text = reinterpret_cast<const std::uint8_t*>(bytes);
  utf8_counts sums = counts;  // a copy that no byte of the text can alias
  while (from + utf8_block <= size) {
    const std::uint8_t* block = text + from;
    if (is_ascii(block)) {
      from += count_ascii(block, size - from, scripts, sums);
      continue;
    }
    if (!is_well_formed(block)) break;
    const unsigned incomplete = incomplete_bytes(block);
    count_block(block, incomplete, scripts, sums);
    from += utf8_block - incomplete;
  }
  counts = sums;
  return from;
}

#else

// Vectors have one lane: the automaton is faster.
std::size_t count_blocks(const std::byte*, std::size_t, std::size_t from, bool, utf8_counts&) { return from; }

#endif

std::uint64_t newlines(const std::byte* bytes, std::size_t size) {
  const auto* text = reinterpret_cast<const std::uint8_t*>(bytes);
  const std::size_t width = hn::Lanes(lanes());
  std::uint64_t count = 0;
  std::size_t at = 0;
  while (size - at >= width) {
    vector counters = hn::Zero(lanes());
    const std::size_t end = at + std::min(longest_pass, (size - at) / width) * width;
    for (; at != end; at += width) {
      counters = hn::Sub(counters, hn::VecFromMask(lanes(), hn::Eq(hn::LoadU(lanes(), text + at), set('\n'))));
    }
    count += sum(counters);
  }
  for (; at != size; ++at) count += text[at] == '\n' ? 1 : 0;
  return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::host {
namespace {

HWY_EXPORT(count_blocks);
HWY_EXPORT(newlines);

}  // namespace

std::size_t count_utf8_blocks(std::span<const std::byte> text, std::size_t from, utf8_detail detail,
                              utf8_counts& counts) {
  return HWY_DYNAMIC_DISPATCH(count_blocks)(text.data(), text.size(), from, detail == utf8_detail::scripts, counts);
}

std::uint64_t count_newlines(std::span<const std::byte> text) {
  return HWY_DYNAMIC_DISPATCH(newlines)(text.data(), text.size());
}

}  // namespace gpuhist::gpu::host
#endif  // HWY_ONCE
