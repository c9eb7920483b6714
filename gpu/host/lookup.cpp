// Counting any classes by looking each byte up (AVX-512 with VBMI, BITALG and GFNI: Intel since Ice Lake, AMD since
// Zen 4).
//
// A table of 256 bytes is in four registers; VPERMI2B looks up 64 bytes in half of it at once. The entry of a value has
// one bit set, the bit of its class, so that eight classes are counted at a time:
//
//     text        b         \n        E         z        letters: a-d e-h i-l m-p q-t u-x y-z, '\n', and the rest
//     entry    00000001  10000000  00000000  01000000    the last class has no bit: it is the remainder
//
// Counting is a sum of the bits at the same position of all bytes. A full adder (one three-way XOR, one majority) turns
// three vectors into two: a sum and a carry of twice the weight. Eight vectors give one vector of weight eight, and
// only its bits have to be counted:
//
//     ones, v0, v1 -> ones, twos a     twos, twos a, twos b -> twos, fours a
//     ones, v2, v3 -> ones, twos b     ...                                      -> fours, eights
//
// GF2P8AFFINEQB transposes eight bytes as a matrix of bits: byte j of the eight then has the bits of class j, and
// VPOPCNTB counts them. More than nine classes need one table for each further eight.
#include "gpu/host/kernel.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/host/lookup.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// The Highway target HWY_AVX3_DL has every instruction used here except GF2P8AFFINEQB.
#define GPUHIST_WITH_GFNI [[gnu::target("gfni")]]

constexpr std::size_t width = 64;
constexpr std::size_t group = 8 * width;   // bytes that full adders reduce to one vector
constexpr std::size_t block = 31 * group;  // an 8-bit counter grows by at most 8 per group: no overflow
constexpr int three_way_xor = 0x96;
constexpr int majority = 0xe8;

struct lookup_table {
  explicit lookup_table(const one_hot_table& table)
      : quarter{_mm512_loadu_si512(table.data()), _mm512_loadu_si512(table.data() + width),
                _mm512_loadu_si512(table.data() + 2 * width), _mm512_loadu_si512(table.data() + 3 * width)} {}

  HWY_INLINE __m512i operator()(__m512i bytes) const {
    const __m512i ascii = _mm512_permutex2var_epi8(quarter[0], bytes, quarter[1]);
    const __m512i others = _mm512_permutex2var_epi8(quarter[2], bytes, quarter[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), ascii, others);
  }

  __m512i quarter[4];
};

// Adds a and b to `sum`; returns the carry.
HWY_INLINE __m512i full_add(__m512i& sum, __m512i a, __m512i b) {
  const __m512i carry = _mm512_ternarylogic_epi64(sum, a, b, majority);
  sum = _mm512_ternarylogic_epi64(sum, a, b, three_way_xor);
  return carry;
}

// Byte j of every eight: the number of the eight bytes that have bit j.
GPUHIST_WITH_GFNI HWY_INLINE __m512i count_bits(__m512i bytes) {
  const __m512i identity = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201U));
  return _mm512_popcnt_epi8(_mm512_gf2p8affine_epi64_epi8(identity, bytes, 0));
}

// Lane j: the sum of the bytes j of every eight.
HWY_INLINE __m512i sum_by_class(__m512i counts) {
  alignas(width) static constexpr auto by_class = [] {
    std::array<std::uint8_t, width> order{};
    for (std::size_t i = 0; i < width; ++i) order[i] = static_cast<std::uint8_t>(i % 8 * 8 + i / 8);
    return order;
  }();
  const __m512i grouped = _mm512_permutexvar_epi8(_mm512_load_si512(by_class.data()), counts);
  return _mm512_sad_epu8(grouped, _mm512_setzero_si512());
}

// The full adders between groups, and their counters of eight bits. One table, one block.
class class_adder {
 public:
  HWY_INLINE class_adder() {
    // in the body: elsewhere g++ ignores the target attribute
    ones_ = twos_ = fours_ = eights_ = singles_ = _mm512_setzero_si512();
  }

  GPUHIST_WITH_GFNI HWY_INLINE void add_group(const lookup_table& class_of, const std::byte* bytes) {
    const auto at = [&](std::size_t i) HWY_ATTR { return class_of(_mm512_loadu_si512(bytes + i * width)); };
    const __m512i twos_a = full_add(ones_, at(0), at(1));
    const __m512i twos_b = full_add(ones_, at(2), at(3));
    const __m512i fours_a = full_add(twos_, twos_a, twos_b);
    const __m512i twos_c = full_add(ones_, at(4), at(5));
    const __m512i twos_d = full_add(ones_, at(6), at(7));
    const __m512i fours_b = full_add(twos_, twos_c, twos_d);
    eights_ = _mm512_add_epi8(eights_, count_bits(full_add(fours_, fours_a, fours_b)));
  }

  GPUHIST_WITH_GFNI HWY_INLINE void add_vector(__m512i classes) {
    singles_ = _mm512_add_epi8(singles_, count_bits(classes));
  }

  GPUHIST_WITH_GFNI HWY_INLINE __m512i totals() const {
    const __m512i one = sum_by_class(_mm512_add_epi8(singles_, count_bits(ones_)));
    const __m512i two = _mm512_slli_epi64(sum_by_class(count_bits(twos_)), 1);
    const __m512i four = _mm512_slli_epi64(sum_by_class(count_bits(fours_)), 2);
    const __m512i eight = _mm512_slli_epi64(sum_by_class(eights_), 3);
    return _mm512_add_epi64(_mm512_add_epi64(one, two), _mm512_add_epi64(four, eight));
  }

 private:
  __m512i ones_;
  __m512i twos_;
  __m512i fours_;
  __m512i eights_;   // byte j of every eight: a counter of class j
  __m512i singles_;  // as eights_, for the vectors after the last whole group
};

GPUHIST_WITH_GFNI __m512i count_block(std::span<const std::byte> bytes, const one_hot_table& table) {
  const lookup_table class_of(table);
  class_adder adder;
  std::size_t at = 0;
  for (; at + group <= bytes.size(); at += group) adder.add_group(class_of, bytes.data() + at);
  for (; at + width <= bytes.size(); at += width) adder.add_vector(class_of(_mm512_loadu_si512(bytes.data() + at)));
  if (at != bytes.size()) {
    const __mmask64 rest = (std::uint64_t{1} << (bytes.size() - at)) - 1;
    const __m512i classes = class_of(_mm512_maskz_loadu_epi8(rest, bytes.data() + at));
    adder.add_vector(_mm512_maskz_mov_epi8(rest, classes));
  }
  return adder.totals();
}

bool can_look_up() {
  static const bool has_gfni = __builtin_cpu_supports("gfni") != 0;
  return has_gfni;
}

// Adds the counts of the classes 8 t + j to counts[8 t + j], t < tables.size().
void count_classes(std::span<const std::byte> bytes, std::span<const one_hot_table> tables, std::uint32_t* counts) {
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    const auto part = bytes.subspan(at, std::min(block, bytes.size() - at));
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const __m256i more = _mm512_cvtepi64_epi32(count_block(part, tables[i]));
      auto* const to = reinterpret_cast<__m256i*>(counts + 8 * i);
      _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), more));
    }
  }
}

#undef GPUHIST_WITH_GFNI

#else

bool can_look_up() { return false; }
void count_classes(std::span<const std::byte>, std::span<const one_hot_table>, std::uint32_t*) {}

#endif

const char* lookup_target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::host {
namespace {

HWY_EXPORT(can_look_up);
HWY_EXPORT(count_classes);
HWY_EXPORT(lookup_target);

constexpr std::size_t max_classes = 256;

}  // namespace

bool lookup_applies(const prepared_partition&) { return HWY_DYNAMIC_DISPATCH(can_look_up)(); }

double lookup_cost(const prepared_partition& prepared) { return 0.081 * static_cast<double>(prepared.one_hot.size()); }

void count_lookup(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row) {
  std::array<std::uint32_t, max_classes> counts;
  const std::size_t last = prepared.counted.classes - std::size_t{1};
  std::fill_n(counts.begin(), 8 * prepared.one_hot.size(), 0U);
  HWY_DYNAMIC_DISPATCH(count_classes)(bytes, prepared.one_hot, counts.data());
  auto remaining = static_cast<std::uint32_t>(bytes.size());
  for (std::size_t i = 0; i < last; ++i) {
    row[i] = counts[i];
    remaining -= counts[i];
  }
  row[last] = remaining;
}

std::string_view lookup_instruction_set() { return HWY_DYNAMIC_DISPATCH(lookup_target)(); }

}  // namespace gpuhist::gpu::host
#endif  // HWY_ONCE
