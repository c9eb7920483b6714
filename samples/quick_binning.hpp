// The slot of a sample on devices, by an estimate with few instructions. The host calculates the same numbers when bins
// are made, to measure their errors (tables.cpp).
//
// The position of a sample is counted in slots (or cells of a guide, and 1): 0 is one step below the first bin.
//
//     t = saturate((value - origin) * scale + offset)   one fused operation after the difference; NaN gives 0
//     position = t * steps                              exact: fused with the sum that rounds it down
//
// The position does not decrease with the sample. Where it is not near a whole number, its whole part is the slot. Near
// one, a comparison with the threshold decides. Position 0, where NaN is, is near by definition.
#pragma once

#include "samples/binning.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace gpuhist::gpu::samples {

template <class Carrier>
struct quick_binning {
  using difference = std::conditional_t<std::is_same_v<Carrier, double>, double, float>;

  bool usable = false;
  bool is_unsigned = false;  ///< keys are the integers themselves (uint32)
  difference origin = 0;
  float scale = 0;
  float offset = 0;
  float steps = 0;  ///< the largest position: bins (or cells) + 1.5
  float clear = 0;  ///< a position is near a whole number if its distance from the middle between two is larger
};

struct quick_position {
  std::uint32_t slot;  ///< the whole part
  float from_middle;   ///< the rest, less 0.5
};

/// The value less the origin.
template <class Carrier>
GPUHIST_HOST_DEVICE inline float quick_difference(const quick_binning<Carrier>& in, Carrier value) {
  if constexpr (std::is_same_v<Carrier, double>) {
    return static_cast<float>(value - in.origin);
  } else if constexpr (std::is_same_v<Carrier, float>) {
    return subtract(value, in.origin);
  } else if constexpr (sizeof(Carrier) == 8) {
    return subtract(static_cast<float>(static_cast<std::int64_t>(value ^ sign64)), in.origin);
  } else {
    const float integer =
        in.is_unsigned ? static_cast<float>(value) : static_cast<float>(static_cast<std::int32_t>(value ^ sign32));
    return subtract(integer, in.origin);
  }
}

template <class Carrier>
GPUHIST_HOST_DEVICE inline quick_position quick_position_of(const quick_binning<Carrier>& in, Carrier value) {
  const float difference = quick_difference(in, value);
#if defined(__CUDA_ARCH__)
  const float part = __saturatef(__fmaf_rn(difference, in.scale, in.offset));
  // The sum has ones as its last place, so its bits contain the number rounded down.
  const float sum = __fmaf_rd(part, in.steps, 0x1.8p23F);
  const float rest = __fmaf_rn(part, in.steps, __fsub_rn(0x1.8p23F, sum));
  return {__float_as_uint(sum) - __float_as_uint(0x1.8p23F), __fsub_rn(rest, 0.5F)};
#else
  const float raw = std::fma(difference, in.scale, in.offset);
  const float part = raw > 0 ? std::min(raw, 1.0F) : 0;
  const double position = static_cast<double>(part) * static_cast<double>(in.steps);
  const double whole = std::floor(position);
  return {static_cast<std::uint32_t>(whole), static_cast<float>(position - whole) - 0.5F};
#endif
}

/// The slot of a sample whose position is near a whole number.
template <class Carrier>
GPUHIST_HOST_DEVICE inline std::uint32_t quick_checked(const binning<Carrier>& in, Carrier value,
                                                       const quick_position& at) {
  if (is_nan(value)) return in.bins + 2;
  const std::uint32_t above = at.slot + (at.from_middle > 0 ? 1 : 0);  // the slot after the nearest threshold
  if (above == 0) return 0;
  if (above > in.limit) return in.limit;  // the type has no larger values
  return above - (key_of(value) < in.tables.thresholds[above - 1] ? 1 : 0);
}

template <class Carrier>
GPUHIST_HOST_DEVICE inline bool is_near(const quick_binning<Carrier>& in, const quick_position& at) {
#if defined(__CUDA_ARCH__)
  return fabsf(at.from_middle) > in.clear;  // the absolute value is part of the comparison
#else
  return std::fabs(at.from_middle) > in.clear;
#endif
}

/// The slot of a sample as devices find it: by the position in bins, or, if the binning has a guide, by the cell.
template <class Carrier>
GPUHIST_HOST_DEVICE inline std::uint32_t quick_slot(const binning<Carrier>& in, const quick_binning<Carrier>& quick,
                                                    Carrier value) {
  if (in.tables.guide == nullptr) {
    const quick_position at = quick_position_of(quick, value);
    return is_near(quick, at) ? quick_checked(in, value, at) : at.slot;
  }
  const std::uint32_t cell = quick.usable ? quick_position_of(quick, value).slot : nearest(estimate(in, value)).slot();
  return guided_slot(in, in.tables, value, cell);
}

}  // namespace gpuhist::gpu::samples
