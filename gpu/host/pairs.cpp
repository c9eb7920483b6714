// Counting pairs of neighbouring bytes: SIMD turns a block of text into classes, and two neighbouring classes into the
// number of their pair. With up to 16 classes a number has 8 bits, and the kernels that count bytes count the numbers.
//
//     text                  t    h    e   \n         blocks overlap by one byte
//     classes               4    1    1    7
//     numbers (first, second)  41   11   17          first << shift | second
//
// With more classes a number has up to 10 bits, and four tables of counters are increased in turn (see counter_tables).
#include "gpu/host/pairs.hpp"

#include "gpu/host/counter_tables.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/host/pairs.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "gpu/host/bit_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using bytes_tag = hn::ScalableTag<std::uint8_t>;

// With more comparisons than this, looking bytes up one by one is faster.
constexpr std::size_t max_comparisons = 48;

#if HWY_TARGET == HWY_AVX3_DL

// A table of 256 bytes is in four registers (see lookup.cpp).
class classifier {
 public:
  HWY_INLINE explicit classifier(const prepared_partition& prepared)
      : quarters_{_mm512_loadu_si512(prepared.counted.class_of.data()),
                  _mm512_loadu_si512(prepared.counted.class_of.data() + 64),
                  _mm512_loadu_si512(prepared.counted.class_of.data() + 128),
                  _mm512_loadu_si512(prepared.counted.class_of.data() + 192)} {}

  static bool applies(const prepared_partition&) { return true; }

  HWY_INLINE hn::Vec<bytes_tag> operator()(hn::Vec<bytes_tag> bytes) const {
    const __m512i ascii = _mm512_permutex2var_epi8(quarters_[0], bytes.raw, quarters_[1]);
    const __m512i others = _mm512_permutex2var_epi8(quarters_[2], bytes.raw, quarters_[3]);
    return hn::Vec<bytes_tag>{_mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes.raw), ascii, others)};
  }

 private:
  __m512i quarters_[4];
};

#else

// Compares with the boundaries between classes (see ranges.cpp).
class classifier {
 public:
  HWY_INLINE explicit classifier(const prepared_partition& prepared) : prepared_(prepared) {}

  static bool applies(const prepared_partition& prepared) {
    return prepared.at_least.size() + prepared.equal.size() <= max_comparisons;
  }

  HWY_INLINE hn::Vec<bytes_tag> operator()(hn::Vec<bytes_tag> bytes) const {
    const bytes_tag d;
    auto classes = hn::Set(d, prepared_.lowest_class);
    for (const probe& each : prepared_.at_least) {
      const auto value = hn::Set(d, each.value);
      const auto passes = hn::Eq(hn::Max(bytes, value), bytes);
      classes = hn::IfThenElse(passes, hn::Set(d, each.to), classes);
    }
    for (const probe& each : prepared_.equal) {
      classes = hn::IfThenElse(hn::Eq(bytes, hn::Set(d, each.value)), hn::Set(d, each.to), classes);
    }
    return classes;
  }

 private:
  const prepared_partition& prepared_;
};

#endif

// Writes the class of each byte.
void classify(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint8_t* HWY_RESTRICT to) {
  const bytes_tag d;
  const auto* const from = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t at = 0;
  if (classifier::applies(prepared)) {
    const classifier class_of(prepared);
    for (; at + hn::Lanes(d) <= bytes.size(); at += hn::Lanes(d))
      hn::StoreU(class_of(hn::LoadU(d, from + at)), d, to + at);
  }
  for (; at < bytes.size(); ++at) to[at] = prepared.counted.class_of[from[at]];
}

// Writes the numbers of the pairs (classes[i], classes[i + 1]), i < count, for up to 16 classes.
void number_pairs(const std::uint8_t* HWY_RESTRICT classes, std::size_t count, unsigned shift,
                  std::uint8_t* HWY_RESTRICT to) {
  const bytes_tag d;
  std::size_t at = 0;
  for (; at + hn::Lanes(d) <= count; at += hn::Lanes(d)) {
    const auto first = hn::LoadU(d, classes + at);
    const auto second = hn::LoadU(d, classes + at + 1);
    const auto shifted = shift == 4 ? hn::ShiftLeft<4>(first) : hn::ShiftLeft<3>(first);
    hn::StoreU(hn::Or(shifted, second), d, to + at);
  }
  for (; at < count; ++at) to[at] = static_cast<std::uint8_t>(classes[at] << shift | classes[at + 1]);
}

// The same, for up to 32 classes.
void number_many_pairs(const std::uint8_t* HWY_RESTRICT classes, std::size_t count, std::uint16_t* HWY_RESTRICT to) {
  const hn::ScalableTag<std::uint16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> half;
  std::size_t at = 0;
  for (; at + hn::Lanes(d) <= count; at += hn::Lanes(d)) {
    const auto first = hn::PromoteTo(d, hn::LoadU(half, classes + at));
    const auto second = hn::PromoteTo(d, hn::LoadU(half, classes + at + 1));
    hn::StoreU(hn::Or(hn::ShiftLeft<5>(first), second), d, to + at);
  }
  for (; at < count; ++at) to[at] = static_cast<std::uint16_t>(classes[at] << 5U | classes[at + 1]);
}

#if HWY_TARGET == HWY_AVX3_DL

bool can_mask() { return can_sum_bits(); }

// The bit of each class of the table with this number, which has eight classes; 0 for classes of other tables.
HWY_INLINE __m512i bits_of_table(std::size_t table) {
  alignas(width) std::array<std::uint8_t, width> bits{};
  for (std::size_t i = 0; i < 8; ++i) bits[8 * table + i] = static_cast<std::uint8_t>(1U << i);
  return _mm512_load_si512(bits.data());
}

// Counts the pairs of one class with the eight classes of one table. Lane j: class 8 table + j.
GPUHIST_WITH_GFNI __m512i count_after(const std::uint8_t* HWY_RESTRICT classes, std::size_t count, std::size_t first,
                                      std::size_t table) {
  const __m512i bits = bits_of_table(table);
  const __m512i wanted = _mm512_set1_epi8(static_cast<char>(first));
  class_adder adder;
  const auto pairs_at = [&](std::size_t at) HWY_ATTR {
    const __mmask64 is_first = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(classes + at), wanted);
    return _mm512_maskz_permutexvar_epi8(is_first, _mm512_loadu_si512(classes + at + 1), bits);
  };
  std::size_t at = 0;
  for (; at + group <= count; at += group) {
    adder.add_group([&](std::size_t i) HWY_ATTR { return pairs_at(at + i * width); });
  }
  for (; at + width <= count; at += width) adder.add_vector(pairs_at(at));
  if (at != count) {
    const __mmask64 rest = (std::uint64_t{1} << (count - at)) - 1;
    const __mmask64 is_first = _mm512_mask_cmpeq_epi8_mask(rest, _mm512_maskz_loadu_epi8(rest, classes + at), wanted);
    const __m512i second = _mm512_maskz_loadu_epi8(rest, classes + at + 1);
    adder.add_vector(_mm512_maskz_permutexvar_epi8(is_first, second, bits));
  }
  return adder.totals();
}

// Adds the pairs (classes[i], classes[i + 1]), i < count <= block of full adders, to pairs[0 .. many x many).
void add_masked_pairs(const std::uint8_t* HWY_RESTRICT classes, std::size_t count, std::size_t many,
                      std::uint32_t* HWY_RESTRICT pairs) {
  for (std::size_t first = 0; first < many; ++first) {
    for (std::size_t table = 0; 8 * table < many; ++table) {
      alignas(width) std::array<std::uint64_t, 8> counts;
      _mm512_store_si512(counts.data(), count_after(classes, count, first, table));
      std::uint32_t* const to = pairs + first * many + 8 * table;
      for (std::size_t i = 0; i < std::min<std::size_t>(8, many - 8 * table); ++i) {
        to[i] += static_cast<std::uint32_t>(counts[i]);
      }
    }
  }
}

#else

bool can_mask() { return false; }
void add_masked_pairs(const std::uint8_t*, std::size_t, std::size_t, std::uint32_t*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::host {
namespace {

HWY_EXPORT(classify);
HWY_EXPORT(number_pairs);
HWY_EXPORT(number_many_pairs);
HWY_EXPORT(can_mask);
HWY_EXPORT(add_masked_pairs);

constexpr std::size_t block = 8192;  // bytes whose classes and numbers stay in the first-level cache
constexpr std::size_t numbers_of_8_bits = 256;
constexpr std::size_t numbers_of_10_bits = 1024;
constexpr unsigned shift_of_many = 5;

// Below this size, clearing and folding the counters costs more than they save.
constexpr std::size_t worthwhile = 1024;
constexpr std::size_t worthwhile_for_many = 4096;

// Calls `count` with the classes of each block and the number of its pairs, which is one less.
template <typename Count>
void for_each_block(std::span<const std::byte> bytes, const prepared_partition& prepared, Count count) {
  std::array<std::uint8_t, block + 1> classes;
  for (std::size_t at = 0; at + 1 < bytes.size(); at += block) {
    const auto part = bytes.subspan(at, std::min(block + 1, bytes.size() - at));
    HWY_DYNAMIC_DISPATCH(classify)(part, prepared, classes.data());
    count(classes.data(), part.size() - 1);
  }
}

void count_numbers(std::span<const std::byte> bytes, const prepared_pairs& prepared, std::uint32_t* pairs) {
  std::array<std::uint32_t, numbers_of_8_bits> sums{};
  std::array<std::uint32_t, numbers_of_8_bits> counts;
  std::array<std::uint8_t, block> numbers;
  for_each_block(bytes, prepared.classes, [&](const std::uint8_t* classes, std::size_t count) {
    HWY_DYNAMIC_DISPATCH(number_pairs)(classes, count, prepared.shift, numbers.data());
    prepared.numbers_kernel->count(std::as_bytes(std::span(numbers).first(count)), prepared.numbers, counts.data());
    for (std::size_t i = 0; i < prepared.numbers.counted.classes; ++i) sums[i] += counts[i];
  });
  const std::size_t width = prepared.classes.counted.classes;
  for (std::size_t i = 0; i < width * width; ++i) pairs[i] = sums[i / width << prepared.shift | i % width];
}

using pair_tables = counter_tables<std::uint16_t, numbers_of_10_bits>;

void add_numbers(const std::uint16_t* numbers, std::size_t count, pair_tables& to) {
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    std::array<std::uint64_t, 2> words;
    std::memcpy(words.data(), numbers + at, sizeof words);
    to.add_word(words[0]);
    to.add_word(words[1]);
  }
  for (; at < count; ++at) to.add(numbers[at]);
}

void count_many(std::span<const std::byte> bytes, const prepared_pairs& prepared, std::uint32_t* pairs) {
  pair_tables tables;
  std::array<std::uint16_t, block> numbers;
  for_each_block(bytes, prepared.classes, [&](const std::uint8_t* classes, std::size_t count) {
    HWY_DYNAMIC_DISPATCH(number_many_pairs)(classes, count, numbers.data());
    add_numbers(numbers.data(), count, tables);
  });
  const std::size_t width = prepared.classes.counted.classes;
  for (std::size_t i = 0; i < width * width; ++i) pairs[i] = tables.count(i / width << shift_of_many | i % width);
}

void count_masked(std::span<const std::byte> bytes, const prepared_pairs& prepared, std::uint32_t* pairs) {
  const std::size_t width = prepared.classes.counted.classes;
  std::fill_n(pairs, width * width, 0U);
  for_each_block(bytes, prepared.classes, [&](const std::uint8_t* classes, std::size_t count) {
    HWY_DYNAMIC_DISPATCH(add_masked_pairs)(classes, count, width, pairs);
  });
}

partition numbers_of(unsigned bits) {
  partition numbers = partition::identity();
  numbers.classes = static_cast<std::uint16_t>(1U << bits);
  for (std::size_t value = numbers.classes; value < numbers_of_8_bits; ++value) numbers.class_of[value] = 0;
  return numbers;
}

}  // namespace

prepared_pairs::prepared_pairs(const partition& pair_classes) : classes(prepare(pair_classes)) {
  constexpr std::size_t most_passes = 40;  // more take longer than tables: docs/tuning.md
  const std::size_t passes = pair_classes.classes * ((pair_classes.classes + std::size_t{7}) / 8);
  masks = passes <= most_passes && HWY_DYNAMIC_DISPATCH(can_mask)();
  constexpr std::uint16_t few = 8;
  constexpr std::uint16_t some = 16;
  if (pair_classes.classes > some) return;
  shift = pair_classes.classes <= few ? 3 : 4;
  numbers = prepare(numbers_of(2 * shift));
  numbers_kernel = &best_kernel(numbers);
}

void count_pairs(std::span<const std::byte> bytes, const prepared_pairs& prepared, std::uint32_t* pairs) {
  if (bytes.size() >= worthwhile && prepared.masks) return count_masked(bytes, prepared, pairs);
  const bool is_many = prepared.numbers_kernel == nullptr;
  if (bytes.size() < (is_many ? worthwhile_for_many : worthwhile)) {
    return count_pairs_simply(bytes, prepared.classes.counted, pairs);
  }
  if (is_many) return count_many(bytes, prepared, pairs);
  count_numbers(bytes, prepared, pairs);
}

void count_pairs_simply(std::span<const std::byte> bytes, const partition& classes, std::uint32_t* pairs) {
  const std::size_t width = classes.classes;
  std::fill_n(pairs, width * width, 0U);
  if (bytes.empty()) return;
  const auto class_of = [&](std::byte value) -> std::size_t {
    return classes.class_of[std::to_integer<std::size_t>(value)];
  };
  std::size_t before = class_of(bytes.front());
  for (const std::byte value : bytes.subspan(1)) {
    const std::size_t next = class_of(value);
    ++pairs[before * width + next];
    before = next;
  }
}

}  // namespace gpuhist::gpu::host
#endif  // HWY_ONCE
