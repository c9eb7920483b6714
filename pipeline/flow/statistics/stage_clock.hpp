// Counters of a running stage: bytes, busy and waiting time.
#pragma once

#include "gpu/stage_range.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace gpuhist::pipeline {

/// Thread-safe.
struct stage_clock {
  const char* name = "stage";  ///< of its ranges in a profiler
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> busy_nanoseconds{0};
  std::atomic<std::int64_t> waiting_nanoseconds{0};
  std::atomic<std::uint64_t> now_in_flight{0};  ///< tasks that are running
  std::atomic<std::uint64_t> max_in_flight{0};  ///< the most tasks that ran at once

  /// Raises max_in_flight to `tasks`.
  void note_in_flight(std::uint64_t tasks) {
    std::uint64_t max = max_in_flight;
    while (max < tasks && !max_in_flight.compare_exchange_weak(max, tasks)) {
    }
  }

  [[nodiscard]] double busy_seconds() const { return static_cast<double>(busy_nanoseconds) * 1e-9; }
  [[nodiscard]] double waiting_seconds() const { return static_cast<double>(waiting_nanoseconds) * 1e-9; }
};

/// Adds the time from its construction to its destruction to a counter.
class stopwatch {
 public:
  explicit stopwatch(std::atomic<std::int64_t>& nanoseconds) : nanoseconds_(nanoseconds) {}
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() {
    const auto spent = std::chrono::steady_clock::now() - began_;
    nanoseconds_ += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  }

 private:
  std::atomic<std::int64_t>& nanoseconds_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// The time from its construction to its destruction is busy time of a stage, and a range of the thread in a profiler.
class busy_time {
 public:
  explicit busy_time(stage_clock& stage) : range_(stage.name), watch_(stage.busy_nanoseconds) {}

 private:
  gpu::stage_range range_;
  stopwatch watch_;
};

/// Counts a task of a stage in flight, from its construction to its destruction.
class piece_in_flight {
 public:
  explicit piece_in_flight(stage_clock& stage) : stage_(stage) { stage_.note_in_flight(++stage_.now_in_flight); }
  piece_in_flight(const piece_in_flight&) = delete;
  piece_in_flight& operator=(const piece_in_flight&) = delete;
  ~piece_in_flight() { --stage_.now_in_flight; }

 private:
  stage_clock& stage_;
};

}  // namespace gpuhist::pipeline
