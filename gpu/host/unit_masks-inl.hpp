// Masks of the bytes of a block that are delimiters, and that are in each of several sets of values, for unit_rows.cpp.
// Highway includes this file once for each instruction set.
//
// The mask of any set of values takes three look-ups in tables of 16 bytes (PSHUFB), the last of them for all sets:
//
//     byte           h  h  h  h  n  n  n  n        high and low nibble
//     low_half[n]    7  6  5  4  3  2  1  0        bit h: the value h n is in the set; all zero if the byte >= 0x80
//     high_half[n]   f  e  d  c  b  a  9  8        all zero if the byte < 0x80
//     1 << h % 8     0  0  0  1  0  0  0  0        the bit to test in low_half[n] | high_half[n]
//
// AVX-512 with VBMI looks a byte up in a table of 256 entries instead: one bit for each of eight columns (lookup.cpp).
#if defined(GPUHIST_UNIT_MASKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GPUHIST_UNIT_MASKS_INL
#undef GPUHIST_UNIT_MASKS_INL
#else
#define GPUHIST_UNIT_MASKS_INL
#endif

#include "gpu/host/unit_rows.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using lanes = hn::ScalableTag<std::uint8_t>;
using vector = hn::Vec<lanes>;

constexpr std::size_t block = 64;
constexpr std::size_t max_columns = max_unit_sets + 1;
constexpr std::size_t any = max_columns;  // instead of a number of columns: known at run time only

// Calls `function` for the columns 0 to columns - 1. For a fixed number there is no loop, and what the function indexes
// stays in registers.
template <std::size_t Columns, class Function>
HWY_INLINE void for_columns(std::size_t columns, const Function& function) {
  if constexpr (Columns == any) {
    for (std::size_t i = 0; i < columns; ++i) function(i);
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>)
        HWY_ATTR { (function(I), ...); }(std::make_index_sequence<Columns>());
  }
}

#if HWY_TARGET != HWY_SCALAR
// Bit i: lane i.
template <class M>
HWY_INLINE std::uint64_t bits_of(M mask) {
#if HWY_TARGET <= HWY_AVX3
  return static_cast<std::uint64_t>(mask.raw);
#elif HWY_TARGET == HWY_AVX2
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(hn::VecFromMask(lanes(), mask).raw));
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  return static_cast<std::uint32_t>(_mm_movemask_epi8(hn::VecFromMask(lanes(), mask).raw));
#else
  std::uint64_t bits = 0;
  hn::StoreMaskBits(lanes(), mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
#endif
}
#endif

#if HWY_TARGET == HWY_SCALAR

// No SIMD: one look-up for each byte and eight columns.
template <std::size_t Columns>
class classifier {
 public:
  explicit classifier(const prepared_units& prepared)
      : tables_(prepared.tables()),
        columns_(prepared.columns()),
        delimiter_(std::to_integer<std::uint8_t>(prepared.delimiter())) {}

  std::uint64_t classify(const std::uint8_t* text, std::uint64_t* members) const {
    std::uint64_t delimiters = 0;
    std::fill_n(members, columns_, 0U);
    for (std::size_t at = 0; at < block; ++at) {
      delimiters |= std::uint64_t{text[at] == delimiter_} << at;
      for (std::size_t i = 0; i < columns_; ++i) {
        members[i] |= (std::uint64_t{tables_[i / 8][text[at]]} >> i % 8 & 1U) << at;
      }
    }
    return delimiters;
  }

 private:
  std::span<const one_hot_table> tables_;
  std::size_t columns_;
  std::uint8_t delimiter_;
};

#elif HWY_TARGET == HWY_AVX3_DL

// Looks 64 bytes up for eight columns at a time. `Columns` up to eight: the table stays in registers.
template <std::size_t Columns>
class classifier {
 public:
  HWY_INLINE explicit classifier(const prepared_units& prepared)
      : tables_(prepared.tables().data()), columns_(prepared.columns()) {
    // in the body: elsewhere g++ ignores the target attribute
    delimiter_ = _mm512_set1_epi8(std::to_integer<char>(prepared.delimiter()));
    if constexpr (Columns != any && Columns != 0) table_ = load(*tables_);
  }

  // Writes the mask of each column; returns the mask of the delimiters.
  HWY_INLINE std::uint64_t classify(const std::uint8_t* text, std::uint64_t* HWY_RESTRICT members) const {
    const __m512i bytes = _mm512_loadu_si512(text);
    if constexpr (Columns == 0) {
      // only the delimiter
    } else if constexpr (Columns != any) {
      const __m512i classes = look_up(table_, bytes);
      for_columns<Columns>(columns_, [&](std::size_t i) HWY_ATTR { members[i] = bits(classes, i); });
    } else {
      for (std::size_t at = 0; at < columns_; at += 8) {
        const __m512i classes = look_up(load(tables_[at / 8]), bytes);
        for (std::size_t i = at; i < std::min(at + 8, columns_); ++i) members[i] = bits(classes, i % 8);
      }
    }
    return _mm512_cmpeq_epi8_mask(bytes, delimiter_);
  }

 private:
  struct table {
    __m512i quarter[4];
  };

  static HWY_INLINE table load(const one_hot_table& from) {
    return {{_mm512_loadu_si512(from.data()), _mm512_loadu_si512(from.data() + block),
             _mm512_loadu_si512(from.data() + 2 * block), _mm512_loadu_si512(from.data() + 3 * block)}};
  }

  static HWY_INLINE __m512i look_up(const table& in, __m512i bytes) {
    const __m512i ascii = _mm512_permutex2var_epi8(in.quarter[0], bytes, in.quarter[1]);
    const __m512i others = _mm512_permutex2var_epi8(in.quarter[2], bytes, in.quarter[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), ascii, others);
  }

  static HWY_INLINE std::uint64_t bits(__m512i classes, std::size_t i) {
    return _mm512_test_epi8_mask(classes, _mm512_set1_epi8(static_cast<char>(1U << i)));
  }

  __m512i delimiter_;
  table table_;
  const one_hot_table* tables_;
  std::size_t columns_;
};

#else

// Looks up by nibbles.
template <std::size_t Columns>
class classifier {
 public:
  HWY_INLINE explicit classifier(const prepared_units& prepared)
      : sets_(prepared.nibbles().data()), columns_(prepared.columns()) {
    alignas(16) static constexpr std::uint8_t bit_of[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const lanes d;
    bit_of_ = hn::LoadDup128(d, bit_of);
    delimiter_ = hn::Set(d, std::to_integer<std::uint8_t>(prepared.delimiter()));
    if constexpr (Columns != any) {
      for_columns<Columns>(columns_, [&](std::size_t i) HWY_ATTR { halves_[i] = load(sets_[i]); });
    }
  }

  // Writes the mask of each column; returns the mask of the delimiters.
  HWY_INLINE std::uint64_t classify(const std::uint8_t* text, std::uint64_t* HWY_RESTRICT members) const {
    const lanes d;
    vector low[vectors];
    vector high[vectors];
    vector bit[vectors];
    std::uint64_t delimiters = 0;
    for_columns<vectors>(vectors, [&](std::size_t v) HWY_ATTR {
      const vector bytes = hn::LoadU(d, text + v * width);
      delimiters |= bits_of(hn::Eq(bytes, delimiter_)) << v * width;
      if constexpr (Columns == 0) return;
      low[v] = low_index(bytes);
      high[v] = low_index(hn::Xor(bytes, hn::Set(d, 0x80)));
      bit[v] = hn::TableLookupBytes(bit_of_, hn::ShiftRight<4>(bytes));
    });
    for_columns<Columns>(columns_, [&](std::size_t i) HWY_ATTR {
      const halves of = set(i);
      std::uint64_t mask = 0;
      for_columns<vectors>(vectors, [&](std::size_t v) HWY_ATTR {
        const vector row = hn::Or(hn::TableLookupBytesOr0(of.low, low[v]), hn::TableLookupBytesOr0(of.high, high[v]));
        mask |= bits_of(hn::TestBit(row, bit[v])) << v * width;
      });
      members[i] = mask;
    });
    return delimiters;
  }

 private:
  static constexpr std::size_t width = hn::MaxLanes(lanes());
  static constexpr std::size_t vectors = block / width;

  struct halves {
    vector low;
    vector high;
  };

  static HWY_INLINE halves load(const nibble_set& from) {
    return {hn::LoadDup128(lanes(), from.low_half.data()), hn::LoadDup128(lanes(), from.high_half.data())};
  }

  HWY_INLINE halves set(std::size_t i) const {
    if constexpr (Columns == any) return load(sets_[i]);
    return halves_[i];
  }

  // The low nibble, and the bit that makes TableLookupBytesOr0 return 0. PSHUFB ignores the other bits itself.
  static HWY_INLINE vector low_index(vector bytes) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
    return bytes;
#else
    return hn::And(bytes, hn::Set(lanes(), 0x8f));
#endif
  }

  halves halves_[Columns == any || Columns == 0 ? 1 : Columns];
  vector bit_of_;
  vector delimiter_;
  const nibble_set* sets_;
  std::size_t columns_;
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#endif  // GPUHIST_UNIT_MASKS_INL
