// The first key of each bin, from a rule that says whether a value has reached a bin. The rule may be any monotone
// function, so the thresholds are those of NumPy's arithmetic also where it differs from a comparison with the edges.
#pragma once

#include "gpuhist/samples.hpp"
#include "samples/keys.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace gpuhist::gpu::samples {

template <class Key>
struct key_range {
  Key first;  ///< the smallest key of a sample
  Key last;   ///< the largest
};

/// The keys of all samples of a type that are not NaN.
template <class Carrier>
key_range<key_of_carrier<Carrier>> keys_of(sample_type type) {
  if constexpr (std::is_floating_point_v<Carrier>) {
    constexpr auto infinity = std::numeric_limits<Carrier>::infinity();
    return {key_of(-infinity), key_of(infinity)};
  } else if constexpr (sizeof(Carrier) == 8) {
    return {0, ~std::uint64_t{0}};
  } else {
    switch (type) {
      case sample_type::uint8:
        return {sign32, sign32 + 0xffU};
      case sample_type::int8:
        return {sign32 - 0x80U, sign32 + 0x7fU};
      case sample_type::uint16:
        return {sign32, sign32 + 0xffffU};
      default:
        return {0, ~std::uint32_t{0}};
    }
  }
}

/// The value that NumPy compares with edges. Rounded for int64.
template <class Carrier>
double value_at(sample_type type, key_of_carrier<Carrier> key) {
  if constexpr (std::is_floating_point_v<Carrier>) {
    return static_cast<double>(carrier_of<Carrier>(key));
  } else if constexpr (sizeof(Carrier) == 8) {
    return static_cast<double>(static_cast<std::int64_t>(key ^ sign64));
  } else {
    if (type == sample_type::uint32) return static_cast<double>(key);
    return static_cast<double>(static_cast<std::int32_t>(key ^ sign32));
  }
}

/// The first key in [range.first, range.last] that `reached` accepts, or nothing. `reached` does not change back.
template <class Key, class Reached>
std::optional<Key> first_reached(key_range<Key> range, const Reached& reached) {
  if (!reached(range.last)) return std::nullopt;
  while (range.first != range.last) {
    const Key middle = range.first + (range.last - range.first) / 2;
    if (reached(middle)) {
      range.last = middle;
    } else {
      range.first = middle + 1;
    }
  }
  return range.first;
}

/// The key of the first value that is not below `edge`, or the last key. A guess: rounding of int64 is ignored.
template <class Carrier>
key_of_carrier<Carrier> key_near(sample_type type, double edge, key_range<key_of_carrier<Carrier>> range) {
  if constexpr (std::is_floating_point_v<Carrier>) {
    auto value = static_cast<Carrier>(edge);
    if (static_cast<double>(value) < edge) value = std::nextafter(value, std::numeric_limits<Carrier>::infinity());
    return std::clamp(key_of(value), range.first, range.last);
  } else {
    const double whole = std::ceil(edge);
    if (!(whole > value_at<Carrier>(type, range.first))) return range.first;
    if (whole >= value_at<Carrier>(type, range.last)) return range.last;
    if constexpr (sizeof(Carrier) == 8) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)) ^ sign64;
    } else {
      const auto integer = static_cast<std::uint32_t>(static_cast<std::int64_t>(whole));
      return type == sample_type::uint32 ? integer : integer ^ sign32;
    }
  }
}

/// thresholds[i] is the first key whose value has reached bin i, for i = 0, 1, ..., bins, as far as the type has such
/// values. `reached(i, value)` is monotone in both. `edges` are the values where bins probably begin.
template <class Carrier, class Reached>
std::vector<key_of_carrier<Carrier>> find_thresholds(sample_type type, const std::vector<double>& edges,
                                                     const Reached& reached) {
  using key = key_of_carrier<Carrier>;
  key_range<key> rest = keys_of<Carrier>(type);
  std::vector<key> found;
  found.reserve(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto reaches = [&](key at) { return reached(i, value_at<Carrier>(type, at)); };
    const key guess = key_near<Carrier>(type, edges[i], rest);
    if (reaches(guess) && (guess == rest.first || !reaches(guess - 1))) {
      found.push_back(guess);
    } else if (const auto first = first_reached(rest, reaches)) {
      found.push_back(*first);
    } else {
      break;
    }
    rest.first = found.back();
  }
  return found;
}

}  // namespace gpuhist::gpu::samples
