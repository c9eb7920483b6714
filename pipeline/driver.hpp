// Runs a plan: builds the engine, the ring and the stages around it, lets them work, and hands back the report.
#pragma once

#include "gpu/engines.hpp"
#include "io/stream_sink.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/reports/report.hpp"
#include "pipeline/windows/window_events.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gpuhist::pipeline {

/// How far a run has come.
struct run_progress {
  std::uint64_t source_bytes = 0;  ///< read from inputs so far, compressed where they are
  std::uint64_t text_bytes = 0;    ///< counted and merged so far
  double seconds = 0;              ///< since the first read
};

/// What the caller has to say in a run. Everything is called on the thread that called run().
struct run_hooks {
  std::function<void(const report&)> snapshot{};  ///< for --snapshot-every; what it throws stops the run
  /// For --window: each one that has closed, in their order; what it throws stops the run. True ends the reading; the
  /// windows of what was read are told.
  std::function<bool(const closed_window&)> window{};
  std::function<void(const window_verdict&)> verdict{};  ///< over windows that were told; likewise
  /// Every input, in the order of reports, as soon as it is over with all before it, and those that are not over at the
  /// end of the run. True ends the reading: of what was not read then, nothing is told here any more.
  std::function<bool(const input_report&)> input_over{};
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

struct outcome {
  report result;
  int signal = 0;              ///< the signal that ended the run, if one did: to be raised again
  bool ended_by_hook = false;  ///< input_over ended the reading
  std::string engine_failure;  ///< what the engine failed with, naming the input and the offset; empty if it did not
  std::optional<io::sink_fault> hand_on_fault{};  ///< what ended the handing on to standard output
  std::uint64_t not_handed_on = 0;                ///< bytes that were counted and not handed on, because the run ended
  std::string engine_warning;  ///< what went wrong and was mended: a device that failed, whose chunks the host counted
  /// A detached thread wakes a device that nobody needs any more, or a device is lost: what CUDA does when a process
  /// ends in the usual way could race or hang.
  bool end_at_once = false;
};

/// Counts everything the plan names. Blocks. Throws gpu::engine_error where the engine cannot be had, what a hook
/// threw, and std::system_error or std::bad_alloc where the machine lacks something. Bad inputs do not throw: they are
/// in the report.
outcome run(const plan& what, const run_hooks& hooks);

}  // namespace gpuhist::pipeline
