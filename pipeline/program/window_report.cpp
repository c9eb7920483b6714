#include "pipeline/program/window_report.hpp"

#include "pipeline/report/formats/window_json.hpp"

#include <utility>

namespace gpuhist::pipeline {

window_report::window_report(const plan& planned, gates::watcher& watched, std::string run,
                             std::function<void(const std::string&)> write)
    : plan_(planned), watched_(watched), run_(std::move(run)), write_(std::move(write)) {
  frame_.type = report::kind::snapshot;
  frame_.partition = planned.partition;
  frame_.schemes = planned.schemes;
  frame_.ignore_case = planned.ignore_case;
  frame_.measuring = planned.measuring;
}

// The line of a window precedes its alerts.
bool window_report::publish(const closed_window& window) {
  measures::previous_baseline* const previous = baseline_for(window.head);
  const measures::byte_counts* const baseline = previous == nullptr ? nullptr : previous->get();
  write_(window_line(frame_, run_, window, baseline));
  const bool ends = watch(window, baseline);
  if (previous != nullptr) previous->close(measures::counts_of(window.counts));
  // the last window of its input
  if (plan_.windows->per_input && window.head.end_reason == window_end::input) baselines_.erase(window.head.source);
  return ends;
}

void window_report::publish(const window_verdict& verdict) { write_(verdict_line(run_, verdict)); }

bool window_report::watch(const closed_window& window, const measures::byte_counts* baseline) {
  const window_head& head = window.head;
  return watched_.watch({.type = gates::unit::kind::window,
                         .source = head.source ? std::string_view(*head.source) : std::string_view(),
                         .window = head.index,
                         .begin = head.first_offset,
                         .end = head.end_offset,
                         .lines = window.lines,
                         .counts = window.counts,
                         .baseline = baseline});
}

// Null if windows are not compared with previous windows.
measures::previous_baseline* window_report::baseline_for(const window_head& head) {
  if (!plan_.measuring.previous_windows) return nullptr;
  const source_name stream = plan_.windows->per_input ? head.source : nullptr;
  return &baselines_.try_emplace(stream, *plan_.measuring.previous_windows).first->second;
}

}  // namespace gpuhist::pipeline
