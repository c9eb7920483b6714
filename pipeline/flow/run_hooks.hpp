// What the caller of a run has to say in it.
#pragma once

#include "gpu/engines.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/flow/statistics/run_progress.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// What the caller has to say in a run. Everything is called on the thread that called run().
struct run_hooks {
  std::function<void(const run_counts&)> snapshot{};  ///< for --snapshot-every; what it throws stops the run
  /// For conditions on inputs that grow (--follow): what was counted so far, at every snapshot, or once a second where
  /// none are wanted; what it throws stops the run. True ends the reading.
  std::function<bool(const run_counts&)> counted_so_far{};
  /// For --window: each one that has closed, in their order; what it throws stops the run. True ends the reading; the
  /// windows of what was read are told.
  std::function<bool(const closed_window&)> window{};
  std::function<void(const window_verdict&)> verdict{};  ///< over windows that were told; likewise
  /// Every input, in the order of reports, as soon as it is over with all before it, and those that are not over at the
  /// end of the run. True ends the reading: of what was not read then, nothing is told here any more.
  std::function<bool(const input_report&)> input_finished{};
  /// Every 50 ms, if given: for reports that could not be written before.
  std::function<void()> write_kept{};
  /// After the run, by outcome::end_at_once: a device is left as it is; putting it to sleep takes 0.1 s.
  bool process_ends = false;
  std::function<void(const std::string&)> remark{};     ///< what people should know at once, of followed files
  bool watch_signals = false;                           ///< SIGINT, SIGTERM, SIGHUP end the reading, not the process
  std::function<void(const run_progress&)> progress{};  ///< every progress_interval; what it throws stops the run
  std::chrono::milliseconds progress_interval{0};       ///< above zero where progress is given
  /// On SIGUSR1, which is watched where this is given and the parent did not have it ignored: exact, for what came
  /// until then was counted before. The caller has called hold_status_signal(). What it throws stops the run.
  std::function<void(const run_progress&)> status{};
  /// Where the engine comes from: tests bring one of their own.
  std::function<gpu::engine_choice(std::string_view, const gpu::engine_request&)> make_engine = gpu::make_engine;
};

}  // namespace gpuhist::pipeline
