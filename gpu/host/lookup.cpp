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

#include "gpu/host/bit_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

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

GPUHIST_WITH_GFNI __m512i count_block(std::span<const std::byte> bytes, const one_hot_table& table) {
  const lookup_table class_of(table);
  class_adder adder;
  std::size_t at = 0;
  for (; at + group <= bytes.size(); at += group) {
    adder.add_group([&](std::size_t i)
                        HWY_ATTR { return class_of(_mm512_loadu_si512(bytes.data() + at + i * width)); });
  }
  for (; at + width <= bytes.size(); at += width) adder.add_vector(class_of(_mm512_loadu_si512(bytes.data() + at)));
  if (at != bytes.size()) {
    const __mmask64 rest = (std::uint64_t{1} << (bytes.size() - at)) - 1;
    const __m512i classes = class_of(_mm512_maskz_loadu_epi8(rest, bytes.data() + at));
    adder.add_vector(_mm512_maskz_mov_epi8(rest, classes));
  }
  return adder.totals();
}

bool can_look_up() { return can_sum_bits(); }

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
