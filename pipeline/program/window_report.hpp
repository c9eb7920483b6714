// What becomes of a window that has closed: its line is written, it is held against the conditions, and it joins the
// windows that the next ones are compared with.
#pragma once

#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/program/plan.hpp"
#include "pipeline/report/conditions/watcher.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/measures/previous_baseline.hpp"

#include <functional>
#include <map>
#include <string>

namespace gpuhist::pipeline {

/// One thread. Memory: with --baseline previous:N, N times 2 KiB; with --per-input as much for every input that is
/// open.
class window_report {
 public:
  /// Borrows the first two. `run`: what lines name, or empty (render_target::run). `write` gets whole lines.
  window_report(const plan& planned, gates::watcher& watched, std::string run,
                std::function<void(const std::string&)> write);

  /// In the order in which they closed. Whether the run is to end now: gates::watcher::watch.
  bool tell(const closed_window& window);

  void tell(const window_verdict& verdict);

 private:
  [[nodiscard]] measures::previous_baseline* baseline_for(const window_head& head);
  bool watch(const closed_window& window, const measures::byte_counts* baseline);

  const plan& plan_;
  gates::watcher& watched_;
  const std::string run_;
  std::function<void(const std::string&)> write_;
  report frame_;                                                  // of every line
  std::map<source_name, measures::previous_baseline> baselines_;  // by stream; null: the one of all inputs
};

}  // namespace gpuhist::pipeline
