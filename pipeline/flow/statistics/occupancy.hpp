// How many slots were free, filling and counting over the time of a run, in bounded memory.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuhist::pipeline {

/// Of a slot of the ring: see there.
enum class phase { free, filling, counting };

/// What became of the slots from the beginning of a run to its end. Shares are from 0 to 1.
struct slot_history {
  double free_share = 1;  ///< of all slots over all the time, as are the next two; together 1
  double filling_share = 0;
  double counting_share = 0;
  double none_free_share = 0;  ///< of the time: no slot was free
  double step_seconds = 0;     ///< the time that each of the next stands for; the last one's may be shorter
  std::vector<double> in_use;  ///< the mean share of slots filling or counting, step by step
};

/// Time-weighted: every nanosecond of every slot is in exactly one bin.
///
///     bins   | 0 | 1 | 2 | ... | 62 | 63 |           a run that outgrows them merges neighbours:
///            |  0+1  |  2+3  | ... |                  half as many bins of twice the width
///
/// So there are always 32 bins or more for a run over a millisecond, and a transition costs a few additions. Not
/// thread-safe: the ring calls it under its lock.
class occupancy {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::size_t bins = 64;

  /// All slots are free at `begin`.
  occupancy(std::size_t slots, time_point begin) : slots_(slots), begin_(begin), last_(begin) {}

  /// A slot goes from one phase to another. Times that lie before an earlier call's count as that one's.
  void move(phase from, phase to, time_point now);

  /// The history until `end`, or until the last transition if that was later.
  [[nodiscard]] slot_history read(time_point end) const;

 private:
  struct bin {  // slots x nanoseconds
    std::uint64_t filling = 0;
    std::uint64_t counting = 0;
  };

  void advance(time_point now);
  void double_width();
  void change(phase which, int by);

  std::size_t slots_;
  time_point begin_;
  time_point last_;  // until when time is accounted for
  std::chrono::nanoseconds width_{std::uint64_t{1} << 14U};
  std::array<bin, bins> bins_{};
  std::uint64_t filling_ = 0;
  std::uint64_t counting_ = 0;
  std::chrono::nanoseconds none_free_{0};
};

}  // namespace gpuhist::pipeline
