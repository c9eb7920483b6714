#include "report/units/group_watch.hpp"

#include "report/measures/previous_baseline.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace gpuhist::report::units {
namespace {

using gates::subject;

void watch_windows(const group_result& found, const gates::watch_list& list, const measures::measuring& measured,
                   gates::watcher& checker) {
  std::optional<measures::previous_baseline> previous;
  if (measured.previous_windows) previous.emplace(*measured.previous_windows);
  for (const event_window& each : found.windows) {
    const std::vector<double> facts = facts_of(each.of, list.facts);
    checker.watch({.type = subject::kind::event_window,
                   .source = {},
                   .end = each.of.bytes,
                   .event_start = each.start,
                   .counts = each.of.counts,
                   .number_of_lines = each.of.lines,
                   .facts = facts,
                   .baseline = previous ? previous->get() : nullptr});
    if (previous) previous->close(measures::counts_of(each.of.counts));
  }
}

}  // namespace

std::vector<double> facts_of(const group_counts& of, const std::vector<gates::line_fact>& facts) {
  std::vector<double> made;
  for (const gates::line_fact& each : facts) {
    const auto found = std::ranges::find(of.matches, each.of, &match_count::name);
    made.push_back(found == of.matches.end() ? gates::unknown : static_cast<double>(found->lines));
  }
  return made;
}

void watch_groups(const group_result& found, const pipeline::run_counts& totals, const gates::watch_list& list,
                  const measures::measuring& measured, gates::watcher& checker) {
  if (found.window > 0) watch_windows(found, list, measured, checker);
  if (list.facts.empty()) return;
  const std::vector<double> facts = facts_of(found.all, list.facts);
  checker.watch({.type = subject::kind::total,
                 .source = {},
                 .end = totals.verified.bytes(),
                 .counts = totals.verified,
                 .malformed = pipeline::malformed_in(totals.utf8),
                 .number_of_lines = found.all.lines,
                 .facts = facts,
                 .is_of_matches = true});
}

}  // namespace gpuhist::report::units
