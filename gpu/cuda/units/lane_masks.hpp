// Which of 32 bytes belong to each class, as masks, and the counts of classes in a part of them.
//
// The table gives for a byte the bits of its class, each in a byte of a word. `sum = 2 * sum + bits` over eight bytes
// makes four masks of eight bytes at once; those of four such groups are transposed to four planes of 32 bytes:
//
//     text      7  \n  a  5  ...                 digits: class 2, delimiter: class 0, others: class 1
//     plane 0   0  0   1  0                      bit 31 is the first byte
//     plane 1   1  0   0  1
//     class 2   1  0   0  1                      plane 1 without plane 0
#pragma once

#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/host_device.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace gpuhist::gpu::cuda::units {

inline constexpr unsigned words_of_lane = lane_bytes / sizeof(std::uint32_t);
inline constexpr unsigned class_bits = 4;

GPUHIST_HOST_DEVICE inline unsigned population(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__popc(static_cast<int>(bits)));
#else
  return static_cast<unsigned>(std::popcount(bits));
#endif
}

/// The highest bit that is set. Precondition: there is one. The same for lowest_bit().
GPUHIST_HOST_DEVICE inline unsigned highest_bit(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return 31U - static_cast<unsigned>(__clz(static_cast<int>(bits)));
#else
  return 31U - static_cast<unsigned>(std::countl_zero(bits));
#endif
}

GPUHIST_HOST_DEVICE inline unsigned lowest_bit(std::uint32_t bits) { return highest_bit(bits & (0U - bits)); }

/// Four of the bytes of `low` (0 to 3) and `high` (4 to 7), by the hexadecimal digits of `selector`.
GPUHIST_HOST_DEVICE inline std::uint32_t permuted(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, selector);
#else
  const std::uint64_t both = std::uint64_t{high} << 32U | low;
  std::uint32_t made = 0;
  for (unsigned i = 0; i < 4; ++i) {
    made |= static_cast<std::uint32_t>(both >> (8 * (selector >> (4 * i) & 7U)) & 0xffU) << (8 * i);
  }
  return made;
#endif
}

/// The bytes of a lane, as they are in memory.
struct lane_text {
  alignas(16) std::uint32_t words[words_of_lane];
};

/// The next bytes of a lane; zeros if there are none. `text`: aligned to 32, readable up to a multiple of 32.
GPUHIST_HOST_DEVICE inline lane_text load_lane(const std::uint8_t* text, std::uint32_t at, std::uint32_t bytes) {
  lane_text made{};
  if (at >= bytes) return made;
#if defined(__CUDA_ARCH__)
  const auto* const from = reinterpret_cast<const uint4*>(text + at);
  *reinterpret_cast<uint4*>(made.words) = __ldg(from);
  *reinterpret_cast<uint4*>(made.words + 4) = __ldg(from + 1);
#else
  std::memcpy(made.words, text + at, lane_bytes);
#endif
  return made;
}

/// Bit 31 is the first byte.
struct lane_masks {
  std::uint32_t planes[class_bits];
};

/// `bits_of(word, i)`: the entry of the class_table for byte i of a word.
template <class Table>
GPUHIST_HOST_DEVICE lane_masks classify(const lane_text& text, const Table& bits_of) {
  std::uint32_t groups[4];
  for (unsigned group = 0; group < 4; ++group) {
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < 8; ++i) sum = 2 * sum + bits_of(text.words[2 * group + i / 4], i % 4);
    groups[group] = sum;
  }
  const std::uint32_t low_end = permuted(groups[3], groups[2], 0x5140);
  const std::uint32_t low_begin = permuted(groups[1], groups[0], 0x5140);
  const std::uint32_t high_end = permuted(groups[3], groups[2], 0x7362);
  const std::uint32_t high_begin = permuted(groups[1], groups[0], 0x7362);
  return {{permuted(low_end, low_begin, 0x5410), permuted(low_end, low_begin, 0x7632),
           permuted(high_end, high_begin, 0x5410), permuted(high_end, high_begin, 0x7632)}};
}

/// `Counters`: of a row. Fewer have fewer classes, with fewer bits.
template <unsigned Counters>
GPUHIST_HOST_DEVICE std::uint32_t bytes_of_class(const lane_masks& masks, unsigned index) {
  constexpr unsigned used_bits = Counters == 4 ? 3 : class_bits;
  std::uint32_t found = ~std::uint32_t{0};
  for (unsigned bit = 0; bit < used_bits; ++bit) {
    found &= (index >> bit & 1U) != 0 ? masks.planes[bit] : ~masks.planes[bit];
  }
  return found;
}

/// The numbers of a row, two in a word. Sums stay below 2^16: they are of one tile.
template <unsigned Counters>
struct row_words {
  static constexpr unsigned size = Counters / 2;

  std::uint32_t at[size];

  GPUHIST_HOST_DEVICE row_words& operator+=(const row_words& more) {
    for (unsigned i = 0; i < size; ++i) at[i] += more.at[i];
    return *this;
  }
  GPUHIST_HOST_DEVICE row_words& operator-=(const row_words& less) {
    for (unsigned i = 0; i < size; ++i) at[i] -= less.at[i];
    return *this;
  }
  GPUHIST_HOST_DEVICE std::uint32_t first() const { return at[0] & 0xffffU; }
  GPUHIST_HOST_DEVICE void set_first(std::uint32_t number) { at[0] = (at[0] & 0xffff0000U) | number; }
};

/// The counts of the classes from 1 on in `part`, a mask; the first number is zero.
template <unsigned Counters>
GPUHIST_HOST_DEVICE row_words<Counters> count_classes(const lane_masks& masks, std::uint32_t part) {
  const auto count = [&](unsigned index) { return population(bytes_of_class<Counters>(masks, index) & part); };
  row_words<Counters> made;
  made.at[0] = count(1) << 16U;
  for (unsigned i = 1; i < row_words<Counters>::size; ++i) made.at[i] = count(2 * i) | count(2 * i + 1) << 16U;
  return made;
}

}  // namespace gpuhist::gpu::cuda::units
