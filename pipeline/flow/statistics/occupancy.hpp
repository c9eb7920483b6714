// The number of slots that were free, filling and counting over the time of a run, in bounded memory.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuhist::pipeline {

/// The phase of a slot of the ring (ring.hpp).
enum class phase { free, filling, counting };

/// The use of the slots from the beginning of a run to its end. Shares are from 0 to 1.
struct slot_history {
  double free_share = 1;  ///< of all slots over the whole time; the first three shares add up to 1
  double filling_share = 0;
  double counting_share = 0;
  double none_free_share = 0;  ///< share of the time in which no slot was free
  double step_seconds = 0;     ///< the length of a step; the last step may be shorter
  std::vector<double> in_use;  ///< by step: the mean share of slots that were filling or counting
};

/// Time-weighted: every nanosecond of every slot is in exactly one bin.
///
///     bins   | 0 | 1 | 2 | ... | 62 | 63 |           when all bins are used, neighbours are merged:
///            |  0+1  |  2+3  | ... |                  half as many bins of twice the width
///
/// So a run of more than a millisecond always has at least 32 bins, and a transition takes a few additions. Not
/// thread-safe: the ring uses it under its lock.
class occupancy {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::size_t bins = 64;

  /// All slots are free at `begin`.
  occupancy(std::size_t slots, time_point begin) : slots_(slots), begin_(begin), last_(begin) {}

  /// A slot changes its phase. If `now` is before the time of an earlier call, that time is used.
  void move(phase from, phase to, time_point now);

  /// The history until `end`, or until the last transition if it was later.
  [[nodiscard]] slot_history read(time_point end) const;

 private:
  struct bin {  // slots x nanoseconds
    std::uint64_t filling = 0;
    std::uint64_t counting = 0;
  };

  void advance(time_point now);
  void double_width();
  void change(phase changed, int by);

  std::size_t slots_;
  time_point begin_;
  time_point last_;  // the end of the time in the bins
  std::chrono::nanoseconds width_{std::uint64_t{1} << 14U};
  std::array<bin, bins> bins_{};
  std::uint64_t filling_ = 0;
  std::uint64_t counting_ = 0;
  std::chrono::nanoseconds none_free_{0};
};

}  // namespace gpuhist::pipeline
