// Reports closed windows: writes the line of each, checks it against the conditions, and adds it to the baseline of the
// following windows.
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

/// Used by one thread. Memory: with --baseline previous:N, N times 2 KiB; with --per-input, for every open input.
class window_report {
 public:
  /// Borrows `planned` and `watched`. `run`: the run's name in each line, or empty (render_target::run). `write` gets
  /// whole lines.
  window_report(const plan& planned, gates::watcher& watched, std::string run,
                std::function<void(const std::string&)> write);

  /// To be called in the order in which windows close. Returns whether the run is to end: gates::watcher::watch.
  bool publish(const closed_window& window);

  void publish(const window_verdict& verdict);

 private:
  [[nodiscard]] measures::previous_baseline* baseline_for(const window_head& head);
  bool watch(const closed_window& window, const measures::byte_counts* baseline);

  const plan& plan_;
  gates::watcher& watched_;
  const std::string run_;
  std::function<void(const std::string&)> write_;
  report frame_;                                                  // the fields that all lines share
  std::map<source_name, measures::previous_baseline> baselines_;  // by stream; null: the stream of all inputs
};

}  // namespace gpuhist::pipeline
