// Busy times of a device over all its lanes, in bounded memory: how long a copy, a kernel, or both ran.
#pragma once

#include "gpu/engine.hpp"

#include <cstddef>
#include <mutex>
#include <vector>

namespace gpuhist::gpu::cuda {

/// An interval of time in seconds since the base event of the device.
struct interval {
  double begin = 0;
  double end = 0;
};

/// Sweeps intervals in the order of their beginnings, with three marks. Time before a mark is already summed:
///
///     copies     [=======]      [====]              each interval adds what it has past the mark of its kind
///     kernels        [======]                       and moves the mark to its end
///     either     [==========]   [====]              overlap = copies + kernels - either
///
/// Lanes report a job when it has finished, so intervals arrive slightly out of order. A window sorts the latest of
/// them. An interval that arrives even later adds only its part after the marks, so busy times can be too short, but
/// never too long.
class timeline {
 public:
  timeline() { window_.reserve(window_pieces + 2); }

  /// Adds the intervals of one job. All members are thread-safe.
  void add(interval copy, interval kernel) noexcept;

  [[nodiscard]] device_timeline read() const;

  /// The sum of the times of all kernels, overlapping or not.
  [[nodiscard]] double kernel_seconds() const;

 private:
  struct piece {
    interval when;
    bool is_copy = false;
  };

  // Total length of a union of intervals, and the mark up to which it is summed.
  struct covered {
    double seconds = 0;
    double until = 0;

    void add(interval when);
  };

  struct sweep {
    covered copies;
    covered kernels;
    covered either;

    void add(const piece& next);
  };

  static constexpr std::size_t window_pieces = 256;  // many more than the jobs in flight on all lanes

  void insert(const piece& next);

  mutable std::mutex mutex_;
  std::vector<piece> window_;  // sorted by beginning; capacity is reserved in the constructor
  sweep swept_;
  double first_ = 0;
  double last_ = 0;
  double kernel_seconds_ = 0;
  bool any_ = false;
};

}  // namespace gpuhist::gpu::cuda
