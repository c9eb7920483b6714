// The callbacks of a run's caller.
#pragma once

#include "async/semaphore.hpp"
#include "gpu/engines.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/counts/text_observer.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/flow/statistics/run_stats.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace gpuhist::async {
class event_loop;
}

namespace gpuhist::pipeline {

class text_feed;
struct fed_run;

/// All hooks are called on the thread that called run(). An exception of a hook stops the run, and run() throws it.
struct run_hooks {
  std::function<void(const run_counts&)> snapshot{};  ///< for --snapshot-every
  /// For conditions on inputs that grow (--follow): the counts so far, at every snapshot; without snapshots once a
  /// second. Returns true to end the reading.
  std::function<bool(const run_counts&)> check_counts{};
  /// For --window: every window that has closed, in their order. Returns true to end the reading. The windows of text
  /// that was read until then are still reported.
  std::function<bool(const closed_window&)> window{};
  std::function<void(const window_verdict&)> verdict{};  ///< on windows that were reported
  /// Every input in the order of reports, as soon as it and all inputs before it are finished; unfinished ones at the
  /// end of the run. Returns true to end the reading. No further input is reported here then.
  std::function<bool(const input_report&)> input_finished{};
  /// Every input as soon as it is finished, in the order in which inputs are finished; an archive follows its members.
  /// Inputs that are not finished at the end of the run follow all others. Several at once. With windows: at the end of
  /// the run, unless these are numbered by input; then an input follows its windows and the verdicts on them.
  std::function<void(std::span<const completed_input>)> inputs_completed{};
  /// Every prefix_interval, and before the unfinished inputs at the end: the counts of unfinished inputs from which a
  /// later run can continue (listed_input::counted).
  std::function<void(std::span<const input_prefix>)> prefixes{};
  std::chrono::milliseconds prefix_interval{0};  ///< above zero if `prefixes` is set
  /// Every 50 ms, if set: writes reports that could not be written before.
  std::function<void()> write_kept{};
  /// Every 100 ms, if set: for what happens if no text arrives. Returns true to end the reading.
  std::function<bool()> check_clock{};
  /// The process exits after the run as for outcome::end_at_once. The run then leaves devices open, which saves 0.1 s.
  bool process_exits = false;
  std::function<void(const std::string&)> notice{};     ///< messages to be printed at once
  std::stop_token stop{};                               ///< a request, on any thread, ends the reading
  std::function<void(const run_progress&)> progress{};  ///< every progress_interval
  std::chrono::milliseconds progress_interval{0};       ///< above zero if `progress` is set
  /// After a notification of `status_requests`. All bytes that arrived before are counted. The run closes the requests.
  std::function<void(const run_progress&)> status{};
  std::shared_ptr<async::wakeup> status_requests{};  ///< null: none
  /// Called with the event loop before it runs; the returned object is destroyed when the reading has ended. For what
  /// requests the stop or the status from descriptors.
  std::function<std::shared_ptr<void>(async::event_loop&)> attach{};
  /// Observes the text of every input in its order; outlives the run. Null: none.
  text_observer* observer = nullptr;
  /// Makes the feed of the run. Empty: the inputs of the plan are fed.
  std::function<std::shared_ptr<text_feed>(const fed_run&)> make_feed{};
  /// Makes the engine; tests replace it.
  std::function<gpu::engine_choice(std::string_view, const gpu::engine_request&)> make_engine = gpu::make_engine;
};

}  // namespace gpuhist::pipeline
