// The slot of a sample: the same arithmetic on the host and on devices.
//
// Bin i has the keys thresholds[i] <= key < thresholds[i + 1]. A row has these slots:
//
//     slot      0      1 .. bins    bins + 1   bins + 2
//     samples   below  in the bins  above      NaN
//
// An estimate of the position of a sample saves most or all of the search. It is a float that does not decrease with
// the key, and it is calculated with the same roundings everywhere.
//
// - direct: the estimate counts bins. The plan has measured, with the same arithmetic, how far the estimate of any
//   threshold is from its number: at most `tolerance`, less than half a bin. A sample whose estimate is farther than
//   that from every integer needs no look-up. For the others, one comparison with the nearest threshold decides.
// - guided: the estimate counts the cells of a table that has the number of thresholds before and in each cell. A
//   binary search among those in the cell finds the bin. Because the estimate is monotone, this is exact for every
//   table.
#pragma once

#include "samples/keys.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace gpuhist::gpu::samples {

template <class Key>
struct bin_tables {
  const Key* thresholds = nullptr;       ///< `limit` of them
  const std::uint32_t* guide = nullptr;  ///< guided: steps + 2 entries; null: direct
};

template <class Carrier>
struct binning {
  using key = key_of_carrier<Carrier>;

  bin_tables<key> tables;
  std::uint32_t bins = 0;
  std::uint32_t limit = 0;  ///< bins + 1, or bins if no key can be above the last bin

  // The estimate: in units of bins (direct) or of cells (guided).
  bool on_keys = true;  ///< from the key; otherwise from the value, which must be a floating-point number
  key low = 0;          ///< keys are clamped to [low, high], which includes a key below and one above the bins
  key high = 0;
  key centre = 0;      ///< subtracted from keys
  Carrier origin = 0;  ///< subtracted from values
  float shift = 0;     ///< subtracted from the difference of keys
  float scale = 0;
  float steps = 0;      ///< bins or cells
  float ceiling = 0;    ///< of the estimate: steps + 0.5, or steps - 0.5 if no key can be above
  float tolerance = 0;  ///< direct
};

GPUHIST_HOST_DEVICE inline float subtract(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fsub_rn(a, b);  // never part of a fused multiply-add, which rounds differently
#else
  return a - b;
#endif
}

GPUHIST_HOST_DEVICE inline float multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

template <class Carrier>
GPUHIST_HOST_DEVICE inline float key_estimate(const binning<Carrier>& in, key_of_carrier<Carrier> key) {
  using signed_key = std::make_signed_t<key_of_carrier<Carrier>>;
  const auto clamped = key < in.low ? in.low : key > in.high ? in.high : key;
  const auto difference = static_cast<signed_key>(clamped - in.centre);
  return multiply(subtract(static_cast<float>(difference), in.shift), in.scale);
}

template <class Carrier>
GPUHIST_HOST_DEVICE inline float value_estimate(const binning<Carrier>& in, Carrier value) {
  return multiply(static_cast<float>(value - in.origin), in.scale);
}

/// The estimate of a sample that is not NaN, before it is limited.
template <class Carrier>
GPUHIST_HOST_DEVICE inline float raw_estimate(const binning<Carrier>& in, Carrier value) {
  if constexpr (std::is_floating_point_v<Carrier>) {
    return in.on_keys ? key_estimate(in, key_of(value)) : value_estimate(in, value);
  } else {
    return key_estimate(in, value);
  }
}

/// As raw_estimate, for direct binnings: those of floating-point numbers are on values.
template <class Carrier>
GPUHIST_HOST_DEVICE inline float raw_direct_estimate(const binning<Carrier>& in, Carrier value) {
  if constexpr (std::is_floating_point_v<Carrier>) {
    return value_estimate(in, value);
  } else {
    return key_estimate(in, value);
  }
}

/// From -0.5 (below) to steps + 0.5 (above); steps + 1.5 for NaN.
template <class Carrier>
GPUHIST_HOST_DEVICE inline float limited(const binning<Carrier>& in, Carrier value, float raw) {
#if defined(__CUDA_ARCH__)
  const float result = fmaxf(fminf(raw, in.ceiling), -0.5F);
#else
  const float below_ceiling = raw < in.ceiling ? raw : in.ceiling;
  const float result = below_ceiling > -0.5F ? below_ceiling : -0.5F;
#endif
  return is_nan(value) ? in.steps + 1.5F : result;
}

template <class Carrier>
GPUHIST_HOST_DEVICE inline float estimate(const binning<Carrier>& in, Carrier value) {
  return limited(in, value, raw_estimate(in, value));
}

/// The slot for an estimate that is not near an integer, or the cell and 1 for a guided one: floor(estimate) + 1.
struct nearest_step {
  int step;        ///< the nearest integer
  float distance;  ///< from it to the estimate

  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t slot() const {
    return static_cast<std::uint32_t>(step + (distance < 0 ? 0 : 1));
  }
};

GPUHIST_HOST_DEVICE inline nearest_step nearest(float estimated) {
  // The sum has ones as its last place, so its bits contain the rounded number. Conversions are slower.
  constexpr float large = 0x1.8p23F;
  const float sum = subtract(estimated, -large);
  const auto step = static_cast<int>(bits_of(sum)) - static_cast<int>(bits_of(large));
  return {step, subtract(estimated, subtract(sum, large))};
}

/// An entry of the guide: the number of thresholds in the cells before, and in the cell.
struct guide_entry {
  static constexpr std::uint32_t count_bits = 11;
  static constexpr std::uint32_t many = (1U << count_bits) - 1;  ///< this number or more: search to the end

  std::uint32_t before;
  std::uint32_t inside;

  [[nodiscard]] std::uint32_t packed() const { return before << count_bits | (inside < many ? inside : many); }
  [[nodiscard]] GPUHIST_HOST_DEVICE static guide_entry of(std::uint32_t packed) {
    return {packed >> count_bits, packed & many};
  }
};

/// The number of thresholds that are not above the key.
template <class Key>
GPUHIST_HOST_DEVICE inline std::uint32_t search(const Key* thresholds, std::uint32_t first, std::uint32_t last,
                                                Key key) {
  while (first < last) {
    const std::uint32_t middle = (first + last) / 2;
    if (thresholds[middle] <= key) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

/// `tables` are those of the binning, or a copy.
template <class Carrier>
GPUHIST_HOST_DEVICE inline std::uint32_t guided_slot(const binning<Carrier>& in,
                                                     const bin_tables<key_of_carrier<Carrier>>& tables, Carrier value,
                                                     std::uint32_t cell) {
  if (is_nan(value)) return in.bins + 2;
  const auto entry = guide_entry::of(tables.guide[cell]);
  const std::uint32_t last = entry.inside == guide_entry::many ? in.limit : entry.before + entry.inside;
  return search(tables.thresholds, entry.before, last, key_of(value));
}

/// The slot of a sample whose estimate is near the step.
template <class Carrier>
GPUHIST_HOST_DEVICE inline std::uint32_t checked_slot(const binning<Carrier>& in, Carrier value, int step) {
  return static_cast<std::uint32_t>(step + (key_of(value) < in.tables.thresholds[step] ? 0 : 1));
}

template <class Carrier>
GPUHIST_HOST_DEVICE inline std::uint32_t slot_of(const binning<Carrier>& in, Carrier value) {
  const nearest_step at = nearest(estimate(in, value));
  if (in.tables.guide != nullptr) return guided_slot(in, in.tables, value, at.slot());
  const float distance = at.distance < 0 ? -at.distance : at.distance;
  return distance <= in.tolerance ? checked_slot(in, value, at.step) : at.slot();
}

/// The place of a slot in a row of the public interface: bins, below, above, NaN.
GPUHIST_HOST_DEVICE inline std::uint32_t place_of(std::uint32_t slot, std::uint32_t bins) {
  return slot == 0 ? bins : slot <= bins ? slot - 1 : slot;
}

/// The place of a pair of slots in the row of a joint histogram: the bins, outside, NaN.
GPUHIST_HOST_DEVICE inline std::uint32_t joint_place(std::uint32_t x_bins, std::uint32_t x, std::uint32_t y_bins,
                                                     std::uint32_t y) {
  if (x == x_bins + 2 || y == y_bins + 2) return x_bins * y_bins + 1;
  // slot 0 becomes the largest number
  if (x - 1 >= x_bins || y - 1 >= y_bins) return x_bins * y_bins;
  return (x - 1) * y_bins + (y - 1);
}

}  // namespace gpuhist::gpu::samples
