// Sums of the bits at the same position of many bytes (see lookup.cpp), for the kernels that count eight classes at a
// time. Highway includes this file once for each instruction set; it has content for AVX3_DL only.
#if defined(GPUHIST_BIT_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GPUHIST_BIT_SUMS_INL
#undef GPUHIST_BIT_SUMS_INL
#else
#define GPUHIST_BIT_SUMS_INL
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#if HWY_TARGET == HWY_AVX3_DL

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

// The Highway target HWY_AVX3_DL has every instruction used here except GF2P8AFFINEQB.
#define GPUHIST_WITH_GFNI [[gnu::target("gfni")]]

constexpr std::size_t width = 64;
constexpr std::size_t group = 8 * width;   // bytes that full adders reduce to one vector
constexpr std::size_t block = 31 * group;  // an 8-bit counter grows by at most 8 per group: no overflow
constexpr int three_way_xor = 0x96;
constexpr int majority = 0xe8;

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

  // `at` returns the vectors 0 to 7 of the group.
  template <typename At>
  GPUHIST_WITH_GFNI HWY_INLINE void add_group(const At& at) {
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

// Whether this machine has GF2P8AFFINEQB.
inline bool can_sum_bits() {
  static const bool has_gfni = __builtin_cpu_supports("gfni") != 0;
  return has_gfni;
}

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#endif

#endif  // GPUHIST_BIT_SUMS_INL
