// Counting all 256 byte values with SIMD and scalar code at once (Google Highway).
//
// The SIMD part counts bits. Eight vectors are transposed to eight planes; plane j has bit j of all bytes:
//
//     bytes      'a' 61   01100001          plane 7   0 0 0 ..      one bit per byte: 512 bytes are
//                '\n' 0a  00001010    ->    plane 6   1 0 0 ..      eight planes of 512 bits
//                '0' 30   00110000          ...
//                ...                        plane 0   1 0 0 ..
//
// The AND of four planes or their complements marks the bytes that have a given high nibble (16 masks) or a given low
// nibble (16 masks). The AND of a high and a low mask marks a byte value, and its population count counts that value:
//
//     high[6] & low[1]   1 0 0 ..     bits set: number of 'a'
//
// This is an AND, a population count and an addition for each of 256 values, whatever the bytes. High nibbles that do
// not occur are skipped; text has few. Two high nibbles share each load of a low mask.
//
// This uses the vector units and leaves the scalar units idle, which can count one byte per cycle. So each pass also
// counts some bytes with tables of counters, one word at a time between the vector operations. With AVX-512 both
// together take 0.66 cycles per byte; each alone takes about 1.
#include "gpu/host/counter_tables.hpp"
#include "gpu/host/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/host/bit_planes.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using lanes = hn::ScalableTag<std::uint64_t>;
using narrow_lanes = hn::Rebind<std::uint32_t, lanes>;
using vector = hn::Vec<lanes>;
using narrow_vector = hn::Vec<narrow_lanes>;

// Sizes of one pass. With six blocks, two sets of high masks fit the registers and the scratch memory fits a
// first-level cache of 32 KiB. With two words for each two values, the stores (one per cycle) are as busy as the vector
// units.
constexpr std::size_t blocks = 6;
constexpr std::size_t words = 2;

constexpr std::size_t nibbles = 16;
constexpr std::size_t planes = 8;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t max_lanes = HWY_MAX_BYTES / word_bytes;
constexpr std::size_t blocks_per_word = blocks / words;
constexpr std::size_t scalar_bytes_per_step = nibbles * words * word_bytes;  // for each two high nibbles

// One mask per block, with one bit per byte.
using masks = std::array<std::array<std::uint64_t, max_lanes>, blocks>;

struct scratch {
  alignas(HWY_MAX_BYTES) std::array<masks, nibbles> low;
  alignas(HWY_MAX_BYTES) std::array<masks, 4> upper;                                      // by bits 7 and 6
  alignas(HWY_MAX_BYTES) std::array<masks, 4> middle;                                     // by bits 5 and 4
  alignas(HWY_MAX_BYTES) std::array<std::array<std::uint32_t, max_lanes>, 256> counts{};  // one per lane
  byte_tables tables;
};

HWY_INLINE vector load(const masks& from, std::size_t block) { return hn::Load(lanes(), from[block].data()); }
HWY_INLINE void store(vector mask, masks& to, std::size_t block) { hn::Store(mask, lanes(), to[block].data()); }

// Selects bits. Highway's IfVecThenElse selects bits only with AVX-512.
HWY_INLINE vector select(vector chosen, vector yes, vector no) {
  return hn::OrAnd(hn::AndNot(chosen, no), chosen, yes);
}

// One step of the transposition. Afterwards `a` has the bits of both vectors at the positions in `stay`, and `b` has
// the others. Bits that are shifted into the next byte are never selected.
template <int Shift>
HWY_INLINE void swap_bits(vector& a, vector& b, std::uint64_t stay) {
  const vector chosen = hn::Set(lanes(), stay);
  const vector from_b = hn::ShiftLeft<Shift>(b);
  const vector from_a = hn::ShiftRight<Shift>(a);
  a = select(chosen, a, from_b);
  b = select(chosen, from_a, b);
}

// The pragmas are needed: arrays of vectors are kept in registers only if the loops over them are unrolled, which -O2
// does not do.

// Transposes eight vectors of bytes to planes.
HWY_INLINE void transpose(vector (&vectors)[planes]) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 4; ++i) swap_bits<4>(vectors[i], vectors[i + 4], 0x0f0f0f0f0f0f0f0f);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 4; ++i)
    swap_bits<2>(vectors[i + i / 2 * 2], vectors[i + i / 2 * 2 + 2], 0x3333333333333333);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < planes; i += 2) swap_bits<1>(vectors[i], vectors[i + 1], 0x5555555555555555);
}

// The four masks of the combinations of two planes.
HWY_INLINE void combine(vector high, vector low, vector (&result)[4]) {
  result[3] = hn::And(high, low);
  result[2] = hn::AndNot(low, high);
  result[1] = hn::AndNot(high, low);
  result[0] = hn::AndNot(hn::Or(high, low), hn::Set(lanes(), ~std::uint64_t{0}));
}

HWY_NOINLINE void slice(const std::byte* bytes, std::size_t block, scratch& to) {
  vector plane[planes];
  const auto* text = reinterpret_cast<const std::uint64_t*>(bytes);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < planes; ++i) plane[i] = hn::LoadU(lanes(), text + i * hn::Lanes(lanes()));
  transpose(plane);
  vector upper[4], middle[4], second[4], first[4];
  combine(plane[7], plane[6], upper);
  combine(plane[5], plane[4], middle);
  combine(plane[3], plane[2], second);
  combine(plane[1], plane[0], first);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 4; ++i) {
    store(upper[i], to.upper[i], block);
    store(middle[i], to.middle[i], block);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < 4; ++j) store(hn::And(second[i], first[j]), to.low[4 * i + j], block);
  }
}

HWY_INLINE void add(vector counted, std::array<std::uint32_t, max_lanes>& to) {
  const narrow_lanes d;
  hn::Store(hn::Add(hn::Load(d, to.data()), hn::TruncateTo(d, counted)), d, to.data());
}

// Prevents the compiler from loading a mask once for each use: the processor does one load of 64 bytes per cycle.
HWY_INLINE vector in_register(vector mask) {
#if HWY_TARGET == HWY_AVX3_DL
  asm("" : "+v"(mask.raw));
#endif
  return mask;
}

HWY_INLINE void count_word(const std::byte* at, byte_tables& into) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  into.add_word(word);
}

// Counts the values of the high nibbles `high` and `high` + 1 (`high` is even), and `nibbles` * `words` words of
// `text`.
HWY_NOINLINE void count_two_nibbles(std::size_t high, const std::byte* text, scratch& in) {
  vector even[blocks], odd[blocks];
  vector any = hn::Zero(lanes());
#pragma GCC unroll 8
  for (std::size_t k = 0; k < blocks; ++k) {
    const vector upper = load(in.upper[high / 4], k);
    even[k] = hn::And(upper, load(in.middle[high % 4], k));
    odd[k] = hn::And(upper, load(in.middle[high % 4 + 1], k));
    any = hn::Or3(any, even[k], odd[k]);
  }
  if (hn::AllTrue(lanes(), hn::Eq(any, hn::Zero(lanes())))) {
    for (std::size_t i = 0; i < nibbles * words; ++i) count_word(text + i * word_bytes, in.tables);
    return;
  }
  for (std::size_t low = 0; low < nibbles; ++low) {
    vector in_even = hn::Zero(lanes());
    vector in_odd = hn::Zero(lanes());
#pragma GCC unroll 8
    for (std::size_t k = 0; k < blocks; ++k) {
      const vector mask = in_register(load(in.low[low], k));
      in_even = hn::Add(in_even, hn::PopulationCount(hn::And(even[k], mask)));
      in_odd = hn::Add(in_odd, hn::PopulationCount(hn::And(odd[k], mask)));
      if (k % blocks_per_word != blocks_per_word - 1) continue;
      count_word(text, in.tables);  // between the vector operations, so that both units are busy
      text += word_bytes;
    }
    add(in_even, in.counts[nibbles * high + low]);
    add(in_odd, in.counts[nibbles * (high + 1) + low]);
  }
}

std::size_t pass_bytes() {
  return blocks * planes * hn::Lanes(lanes()) * word_bytes + nibbles / 2 * scalar_bytes_per_step;
}

// Counts all 256 values in the whole passes at the beginning of `bytes`. Returns the size of those passes in bytes.
std::size_t count_values(std::span<const std::byte> bytes, std::uint32_t* counts) {
  scratch memory;
  const std::size_t block_bytes = planes * hn::Lanes(lanes()) * word_bytes;
  const std::size_t whole = bytes.size() / pass_bytes() * pass_bytes();
  for (std::size_t at = 0; at < whole; at += pass_bytes()) {
    for (std::size_t k = 0; k < blocks; ++k) slice(bytes.data() + at + k * block_bytes, k, memory);
    const std::byte* const text = bytes.data() + at + blocks * block_bytes;
    for (std::size_t i = 0; i < nibbles / 2; ++i) count_two_nibbles(2 * i, text + i * scalar_bytes_per_step, memory);
  }
  for (std::size_t value = 0; value < 256; ++value) {
    counts[value] = memory.tables.count(value);
    for (std::size_t lane = 0; lane < hn::Lanes(lanes()); ++lane) counts[value] += memory.counts[value][lane];
  }
  return whole;
}

const char* planes_target() { return hwy::TargetName(HWY_TARGET); }

// Planes are as fast as tables only with a vector instruction for population counts.
double planes_cycles() { return HWY_TARGET == HWY_AVX3_DL ? 0.68 : 2.5; }

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::host {
namespace {

// Below this size, clearing and folding cost more than they save.
constexpr std::size_t planes_worthwhile = std::size_t{16} << 10U;

HWY_EXPORT(count_values);
HWY_EXPORT(planes_target);
HWY_EXPORT(planes_cycles);

}  // namespace

double planes_cost(const prepared_partition&) { return HWY_DYNAMIC_DISPATCH(planes_cycles)(); }

void count_planes(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row) {
  if (bytes.size() < planes_worthwhile) return count_tables(bytes, prepared, row);
  std::array<std::uint32_t, 256> counts;
  const std::size_t counted = HWY_DYNAMIC_DISPATCH(count_values)(bytes, counts.data());
  count_tables(bytes.subspan(counted), prepared, row);
  for (std::size_t value = 0; value < 256; ++value) row[prepared.counted.class_of[value]] += counts[value];
}

std::string_view planes_instruction_set() { return HWY_DYNAMIC_DISPATCH(planes_target)(); }

}  // namespace gpuhist::gpu::host
#endif  // HWY_ONCE
