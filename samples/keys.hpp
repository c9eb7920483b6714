// Samples as keys: unsigned integers in the order of the samples. Bins are intervals of keys, so host and device assign
// samples to them by the same integer comparisons.
//
// Every sample type is loaded as one of four carriers: std::uint32_t (integers up to 32 bits, already a key), float
// (float16, bfloat16, float32), std::uint64_t (int64, already a key) and double.
#pragma once

#include "samples/half.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace gpuhist::gpu::samples {

template <class Carrier>
using key_of_carrier = std::conditional_t<sizeof(Carrier) == 4, std::uint32_t, std::uint64_t>;

inline constexpr std::uint32_t sign32 = 0x80000000U;
inline constexpr std::uint64_t sign64 = std::uint64_t{1} << 63U;

GPUHIST_HOST_DEVICE inline std::uint64_t bits_of(double value) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint64_t>(__double_as_longlong(value));
#else
  return std::bit_cast<std::uint64_t>(value);
#endif
}

/// The key of a carrier that is not NaN. Both zeros have the same key.
///
///     float     sign exponent fraction      key
///     -inf      1 11111111 000...           007fffff   all bits are inverted if the sign is set,
///     -1.0      1 01111111 000...           407fffff   otherwise only the sign
///      0.0      0 00000000 000...           80000000
///      1.0      0 01111111 000...           bf800000
GPUHIST_HOST_DEVICE inline std::uint32_t key_of(std::uint32_t key) { return key; }
GPUHIST_HOST_DEVICE inline std::uint64_t key_of(std::uint64_t key) { return key; }
GPUHIST_HOST_DEVICE inline std::uint32_t key_of(float value) {
  const std::uint32_t bits = bits_of(value + 0.0F);
  return bits ^ ((bits & sign32) != 0 ? ~std::uint32_t{0} : sign32);
}
GPUHIST_HOST_DEVICE inline std::uint64_t key_of(double value) {
  const std::uint64_t bits = bits_of(value + 0.0);
  return bits ^ ((bits & sign64) != 0 ? ~std::uint64_t{0} : sign64);
}

GPUHIST_HOST_DEVICE inline bool is_nan(std::uint32_t) { return false; }
GPUHIST_HOST_DEVICE inline bool is_nan(std::uint64_t) { return false; }
GPUHIST_HOST_DEVICE inline bool is_nan(float value) { return value != value; }
GPUHIST_HOST_DEVICE inline bool is_nan(double value) { return value != value; }

/// The carrier that has a key.
template <class Carrier>
Carrier carrier_of(key_of_carrier<Carrier> key) {
  if constexpr (std::is_integral_v<Carrier>) {
    return key;
  } else {
    constexpr auto sign = static_cast<key_of_carrier<Carrier>>(sizeof(Carrier) == 4 ? sign32 : sign64);
    return std::bit_cast<Carrier>(static_cast<key_of_carrier<Carrier>>((key & sign) != 0 ? key ^ sign : ~key));
  }
}

}  // namespace gpuhist::gpu::samples
