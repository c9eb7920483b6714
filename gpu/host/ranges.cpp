// Counting a few classes with SIMD (Google Highway: one source, compiled for every instruction set and chosen at run
// time).
//
// The classes of a typical scheme are ranges of byte values, so the class map has few boundaries:
//
//     value   0 .......... a  b  c  d  e  f  g  h  i ...
//     class   other        [  a - d  ] [  e - h  ] [ ...
//     boundary             ^           ^           ^
//
// Counting the bytes at or above each boundary takes one comparison and one subtraction for 16 to 64 bytes: a
// comparison gives -1 in each byte that passes, and subtracting it adds one to the counter of that lane. Differences
// between the counts of neighbouring boundaries are the counts of the classes:
//
//     text         h   e   l   l   o       8 bit counters in lanes; after at most 255 vectors,
//     >= 'a'      -1  -1  -1  -1  -1       before one can overflow, they are summed to 64 bits
//     >= 'e'      -1  -1  -1  -1  -1       #(>= a) - #(>= e)  = bytes in a-d
//     >= 'i'       0   0  -1  -1  -1       #(>= e) - #(>= i)  = bytes in e-h
//
// A single value inside another class ('\n' in "other") takes one equality instead of two boundaries. The counters of
// up to 12 comparisons stay in registers. For more comparisons, further passes read the same few KiB from the
// first-level cache.
#include "gpu/host/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/host/ranges.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using lanes = hn::ScalableTag<std::int8_t>;
using wide_lanes =
    hn::RepartitionToWide<hn::RepartitionToWide<hn::RepartitionToWide<hn::Repartition<std::uint8_t, lanes>>>>;

constexpr std::size_t longest_pass = 255;  // vectors until a counter of 8 bits may overflow
constexpr std::size_t max_probes = 12;     // per pass

// Values are compared as signed numbers, the only comparison of SSE and AVX2. Flipping the top bit preserves the order.
constexpr int top_bit = 0x80;

struct at_least {
  static constexpr int flip = top_bit;
  static constexpr int adjust = -1;  // >= value is > value - 1; no boundary is 0
  template <class V>
  static HWY_INLINE auto passes(V bytes, V value) {
    return hn::Gt(bytes, value);
  }
};

struct equal {
  static constexpr int flip = 0;
  static constexpr int adjust = 0;
  template <class V>
  static HWY_INLINE auto passes(V bytes, V value) {
    return hn::Eq(bytes, value);
  }
};

// The best form for each target: one masked addition if comparisons give a mask register (AVX-512), otherwise the
// subtraction of -1.
template <class V, class M>
HWY_INLINE V count_passed(V counter, M passed) {
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElse(passed, hn::Add(counter, hn::Set(lanes(), 1)), counter);
#else
  return hn::Sub(counter, hn::VecFromMask(lanes(), passed));
#endif
}

template <class V>
HWY_INLINE std::uint64_t sum(V counter) {
  const hn::Repartition<std::uint8_t, lanes> bytes;
  return hn::GetLane(hn::SumOfLanes(wide_lanes(), hn::SumsOf8(hn::BitCast(bytes, counter))));
}

// Adds the bytes of `vectors` (at most longest_pass) vectors that pass each of `count` probes to hits[0 .. count).
template <class Compare, std::size_t... I>
HWY_INLINE void pass(const std::int8_t* HWY_RESTRICT bytes, std::size_t vectors, const probe* probes,
                     std::uint64_t* HWY_RESTRICT hits, std::index_sequence<I...>) {
  const lanes d;
  using vector = hn::Vec<lanes>;
  const vector flip = hn::Set(d, static_cast<std::int8_t>(Compare::flip));
  const vector values[] = {
      hn::Set(d, static_cast<std::int8_t>((probes[I].value + Compare::adjust) ^ Compare::flip))...};
  vector counters[] = {((void)I, hn::Zero(d))...};
  const std::size_t width = hn::Lanes(d);
  for (const std::int8_t* end = bytes + vectors * width; bytes != end; bytes += width) {
    const vector text = hn::Xor(hn::LoadU(d, bytes), flip);
    ((counters[I] = count_passed(counters[I], Compare::passes(text, values[I]))), ...);
  }
  ((hits[I] += sum(counters[I])), ...);
}

using pass_function = void (*)(const std::int8_t*, std::size_t, const probe*, std::uint64_t*);

template <class Compare, std::size_t Count>
void pass_of(const std::int8_t* bytes, std::size_t vectors, const probe* probes, std::uint64_t* hits) {
  pass<Compare>(bytes, vectors, probes, hits, std::make_index_sequence<Count>());
}

// passes[n - 1] makes n comparisons. The number is a compile-time constant, so that the counters stay in registers.
template <class Compare, std::size_t... I>
constexpr std::array<pass_function, max_probes> make_passes(std::index_sequence<I...>) {
  return {pass_of<Compare, I + 1>...};
}

template <class Compare>
void pass_all(const std::int8_t* bytes, std::size_t vectors, std::span<const probe> probes, std::uint64_t* hits) {
  static constexpr auto passes = make_passes<Compare>(std::make_index_sequence<max_probes>());
  for (std::size_t at = 0; at < probes.size(); at += max_probes) {
    const std::size_t count = std::min(max_probes, probes.size() - at);
    passes[count - 1](bytes, vectors, probes.data() + at, hits + at);
  }
}

// Returns the number of bytes that were compared: all except an incomplete last vector.
std::size_t count_hits(std::span<const std::byte> bytes, const prepared_partition& prepared,
                       std::uint64_t* boundary_hits, std::uint64_t* equal_hits) {
  const std::size_t width = hn::Lanes(lanes());
  const auto* text = reinterpret_cast<const std::int8_t*>(bytes.data());
  const std::size_t vectors = bytes.size() / width;
  for (std::size_t at = 0; at < vectors; at += longest_pass) {
    const std::size_t count = std::min(longest_pass, vectors - at);
    pass_all<at_least>(text + at * width, count, prepared.at_least, boundary_hits);
    pass_all<equal>(text + at * width, count, prepared.equal, equal_hits);
  }
  return vectors * width;
}

// Measured; roughly independent of the number of comparisons.
double cycles_per_comparison() { return 0.004 + 1.1 / static_cast<double>(hn::Lanes(lanes())); }

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::host {
namespace {

constexpr std::size_t max_comparisons = 64;  // for more, tables of counters are faster

HWY_EXPORT(count_hits);
HWY_EXPORT(cycles_per_comparison);
HWY_EXPORT(target_name);

std::size_t comparisons(const prepared_partition& prepared) { return prepared.at_least.size() + prepared.equal.size(); }

}  // namespace

bool ranges_applies(const prepared_partition& prepared) { return comparisons(prepared) <= max_comparisons; }

double ranges_cost(const prepared_partition& prepared) {
  return 0.02 + HWY_DYNAMIC_DISPATCH(cycles_per_comparison)() * static_cast<double>(comparisons(prepared));
}

void count_ranges(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row) {
  std::array<std::uint64_t, max_comparisons> boundary_hits{};
  std::array<std::uint64_t, max_comparisons> equal_hits{};
  const std::size_t compared =
      HWY_DYNAMIC_DISPATCH(count_hits)(bytes, prepared, boundary_hits.data(), equal_hits.data());

  std::fill_n(row, prepared.counted.classes, 0U);
  row[prepared.lowest_class] = static_cast<std::uint32_t>(compared);
  const auto move = [row](const probe& by, std::uint64_t hits) {
    row[by.from] -= static_cast<std::uint32_t>(hits);  // may wrap temporarily: sums modulo 2^32 are exact
    row[by.to] += static_cast<std::uint32_t>(hits);
  };
  for (std::size_t i = 0; i < prepared.at_least.size(); ++i) move(prepared.at_least[i], boundary_hits[i]);
  for (std::size_t i = 0; i < prepared.equal.size(); ++i) move(prepared.equal[i], equal_hits[i]);
  for (const std::byte value : bytes.subspan(compared)) {
    ++row[prepared.counted.class_of[std::to_integer<std::size_t>(value)]];
  }
}

std::string_view ranges_instruction_set() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace gpuhist::gpu::host
#endif  // HWY_ONCE
