#include "report/units/group_watch.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace gpuhist::report::units {

using gates::subject;

std::vector<double> facts_of(const group_counts& of, const std::vector<gates::line_fact>& facts) {
  std::vector<double> made;
  for (const gates::line_fact& each : facts) {
    const auto found = std::ranges::find(of.matches, each.of, &match_count::name);
    made.push_back(found == of.matches.end() ? gates::unknown : static_cast<double>(found->lines));
  }
  return made;
}

event_window_watch::event_window_watch(const gates::watch_list& list, const measures::measuring& measured,
                                       gates::watcher& checker)
    : list_(list), checker_(checker) {
  if (measured.previous_windows) previous_.emplace(*measured.previous_windows);
}

bool event_window_watch::watch(const event_window& closed) {
  const std::vector<double> facts = facts_of(closed.of, list_.facts);
  const bool ends = checker_.watch({.type = subject::kind::event_window,
                                    .source = {},
                                    .end = closed.of.bytes,
                                    .event_start = closed.start,
                                    .counts = closed.of.counts,
                                    .number_of_lines = closed.of.lines,
                                    .facts = facts,
                                    .baseline = baseline()});
  if (previous_) previous_->close(measures::counts_of(closed.of.counts));
  return ends;
}

bool watch_matches(const group_result& found, const pipeline::run_counts& totals, const gates::watch_list& list,
                   gates::watcher& checker) {
  if (list.facts.empty()) return false;
  const std::vector<double> facts = facts_of(found.all, list.facts);
  return checker.watch({.type = subject::kind::total,
                        .source = {},
                        .end = totals.verified.bytes(),
                        .counts = totals.verified,
                        .malformed = pipeline::malformed_in(totals.utf8),
                        .number_of_lines = found.all.lines,
                        .facts = facts,
                        .is_of_matches = true});
}

}  // namespace gpuhist::report::units
