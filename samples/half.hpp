// Conversions of 16-bit floating-point numbers, for host and device.
#pragma once

#include "gpu/host_device.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace gpuhist::gpu::samples {

/// The float with these bits. nvcc has no std::bit_cast for device code in every version.
GPUHIST_HOST_DEVICE inline float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

GPUHIST_HOST_DEVICE inline std::uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  return std::bit_cast<std::uint32_t>(value);
#endif
}

/// Exact. Subnormal numbers are scaled by a multiplication, which also handles zero.
GPUHIST_HOST_DEVICE inline float from_float16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t rest = half & 0x7fffU;
  if (rest >= 0x7c00U) return float_of(sign | 0x7f800000U | (rest & 0x3ffU) << 13U);
  const float scaled = float_of(rest << 13U) * 0x1p112F;  // the exponent bias of binary32 is larger by 112
  return float_of(sign | bits_of(scaled));
}

GPUHIST_HOST_DEVICE inline float from_bfloat16(std::uint16_t upper) { return float_of(std::uint32_t{upper} << 16U); }

/// Rounds to the nearest binary16, ties to even. Values too large become infinity.
inline double round_to_float16(double value) {
  const double magnitude = std::fabs(value);
  if (!(magnitude < 65520)) return std::isnan(value) ? value : std::copysign(INFINITY, value);
  // in units of the last of 11 bits, or of the last place of subnormal numbers
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  return std::copysign(std::ldexp(std::nearbyint(std::ldexp(magnitude, 10 - exponent)), exponent - 10), value);
}

}  // namespace gpuhist::gpu::samples
