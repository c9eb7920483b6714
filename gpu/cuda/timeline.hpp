// What the copies and kernels of all lanes of a device did together, in bounded memory: how long a copy, a kernel, or
// both ran.
#pragma once

#include "gpu/engine.hpp"

#include <cstddef>
#include <mutex>
#include <vector>

namespace gpuhist::gpu::cuda {

/// A stretch of the device's time, in seconds since its base event.
struct interval {
  double begin = 0;
  double end = 0;
};

/// Sweeps intervals in the order of their beginnings, with three marks that say until when time is accounted for:
///
///     copies     [=======]      [====]              each interval adds what it has past the mark of its kind
///     kernels        [======]                       and moves the mark to its end
///     either     [==========]   [====]              overlap = copies + kernels - either
///
/// Lanes report a job when it is over, so intervals arrive a little out of order: the latest few wait in a window, from
/// which they leave sorted. One that comes later still adds only what lies past the marks, so that it can make the busy
/// times too short, never too long.
class timeline {
 public:
  timeline() { window_.reserve(window_pieces + 2); }

  /// One job's. Thread-safe, as are the others.
  void add(interval copy, interval kernel) noexcept;

  [[nodiscard]] device_timeline read() const;

  /// The sum of all kernels' times, overlapping or not.
  [[nodiscard]] double kernel_seconds() const;

 private:
  struct piece {
    interval when;
    bool is_copy = false;
  };

  // Busy time of a union of intervals, and the mark until which it is accounted for.
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

  static constexpr std::size_t window_pieces = 256;  // far more than the jobs that all lanes have in flight

  void insert(const piece& next);

  mutable std::mutex mutex_;
  std::vector<piece> window_;  // by the beginnings; there is room for all from the start
  sweep swept_;
  double first_ = 0;
  double last_ = 0;
  double kernel_seconds_ = 0;
  bool any_ = false;
};

}  // namespace gpuhist::gpu::cuda
