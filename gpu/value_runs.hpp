// Folds the counters of the 256 byte values to the classes of a partition.
#pragma once

#include "gpu/tally.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace gpuhist::gpu {

inline constexpr std::size_t byte_values = 256;

/// Consecutive byte values of one class.
struct value_run {
  std::uint16_t begin = 0;
  std::uint16_t end = 0;
  std::uint8_t to = 0;
};

/// Has no heap memory, because rows are written where an allocation must not fail.
class value_runs {
 public:
  explicit value_runs(const partition& counted) {
    for (std::uint16_t value = 0; value < byte_values; ++value) {
      const std::uint8_t to = counted.class_of[value];
      if (count_ == 0 || runs_[count_ - 1].to != to) runs_[count_++] = {.begin = value, .end = value, .to = to};
      ++runs_[count_ - 1].end;
    }
  }

  // Sums the 256 counters of a row by class. For short segments this is most of the work of a lane. Each class is
  // summed run by run, which the compiler vectorizes. Summing value by value would make each addition wait for the
  // previous one.
  template <typename Counter>
  void fold(const Counter* row, std::size_t classes, Counter* to) const {
    if (classes == byte_values) {
      for (std::size_t i = 0; i < count_; ++i) to[runs_[i].to] = row[runs_[i].begin];
      return;
    }
    std::fill_n(to, classes, Counter{0});
    for (std::size_t i = 0; i < count_; ++i) {
      to[runs_[i].to] += std::reduce(row + runs_[i].begin, row + runs_[i].end);
    }
  }

 private:
  std::array<value_run, byte_values> runs_{};
  std::size_t count_ = 0;
};

}  // namespace gpuhist::gpu
