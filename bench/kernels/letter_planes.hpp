// The buckets of the letters of 32 bytes at once, from bit planes: the arithmetic of bit_sliced. It also runs on the
// host.
//
// A plane holds one bit of each of 32 bytes. The order of the bits in a plane does not affect a count, so the
// transposition ends when every word is a plane:
//
//     8 words of 4 bytes      swap nibbles         swap pairs           swap bits
//     76543210 76543210 ...   3210 3210 3210 ...   10 10 10 10 ...      0 0 0 0 0 0 0 0 ...   plane 0
//                             7654 7654 7654 ...   32 32 32 32 ...      1 1 1 1 1 1 1 1 ...   plane 1
//                                                  54 54 54 54 ...      ...
//
// Each stage exchanges parts of four pairs of words with two shifts and two selections per pair: 48 operations for 32
// bytes. On the device, a selection is one LOP3, and so is each function of three planes below.
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::bench::kernels {

/// The 32 bits of plane k are the k-th bits of 32 bytes, in the same order in all planes.
struct bit_planes {
  std::uint32_t plane[8];
};

/// Bit i of mask k is set if byte i is in bucket k of the letters. Bytes in no mask are in the last bucket.
struct letter_masks {
  std::uint32_t mask[7];
};

/// The bits of `ones` where the mask is 1, of `zeros` where it is 0. One LOP3, which the compiler does not use for
/// constant masks.
GPUHIST_HOST_DEVICE inline std::uint32_t select(std::uint32_t mask, std::uint32_t ones, std::uint32_t zeros) {
#if defined(__CUDA_ARCH__)
  std::uint32_t selected;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(selected) : "r"(mask), "r"(ones), "r"(zeros));
  return selected;
#else
  return (mask & ones) | (~mask & zeros);
#endif
}

/// Moves the parts of both words that `low` selects to `first` and the others to `second`. Parts are `Distance` bits
/// wide.
template <unsigned Distance>
GPUHIST_HOST_DEVICE inline void exchange_parts(std::uint32_t& first, std::uint32_t& second, std::uint32_t low) {
  const std::uint32_t lows = select(low, first, second << Distance);
  second = select(low, first >> Distance, second);
  first = lows;
}

/// The planes of the 32 bytes in eight words.
GPUHIST_HOST_DEVICE inline bit_planes transpose(const std::uint32_t (&words)[8]) {
  std::uint32_t w[8] = {words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
  for (unsigned i = 0; i < 4; ++i) exchange_parts<4>(w[i], w[i + 4], 0x0f0f0f0fU);  // 0-3: low nibbles, 4-7: high
  for (unsigned i = 0; i < 8; i += 4) {                                             // bits 10, 10, 32, 32
    exchange_parts<2>(w[i], w[i + 2], 0x33333333U);
    exchange_parts<2>(w[i + 1], w[i + 3], 0x33333333U);
  }
  for (unsigned i = 0; i < 8; i += 2) exchange_parts<1>(w[i], w[i + 1], 0x55555555U);
  return {{w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]}};
}

/// The masks of the buckets. Lower-case letters are 011vvvvv with v = 1 to 26. The bucket is (v - 1) / 4, so only bits
/// 2, 3 and 4 of v - 1 are needed: bit k of v - 1 is bit k of v, inverted if all lower bits of v are 0. v = 0 wraps to
/// bucket 7, as do 29 to 31; bucket 7 is not counted. 27 and 28 are removed from bucket 6.
GPUHIST_HOST_DEVICE inline letter_masks letters_of(const bit_planes& planes) {
  const std::uint32_t(&p)[8] = planes.plane;
  const std::uint32_t letters = ~p[7] & p[6] & p[5];
  const std::uint32_t any_012 = p[0] | p[1] | p[2];
  const std::uint32_t bit_2 = p[2] ^ ~(p[0] | p[1]);
  const std::uint32_t bit_3 = p[3] ^ ~any_012;
  const std::uint32_t bit_4 = p[4] ^ ~(any_012 | p[3]);
  const std::uint32_t low = letters & ~bit_4;  // buckets 0 to 3
  const std::uint32_t high = letters & bit_4;  // buckets 4 to 7
  const std::uint32_t y_or_z = p[0] ^ p[1];    // for bucket 6: v = 25 and 26 end in 01 and 10, 27 and 28 in 11 and 00
  return {{low & ~bit_3 & ~bit_2, low & ~bit_3 & bit_2, low & bit_3 & ~bit_2, low & bit_3 & bit_2,
           high & ~bit_3 & ~bit_2, high & ~bit_3 & bit_2, high & bit_3 & ~bit_2 & y_or_z}};
}

}  // namespace gpuhist::bench::kernels
