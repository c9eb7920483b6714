#include "report/units/group_watch.hpp"

#include "report/measures/previous_baseline.hpp"

#include <optional>
#include <vector>

namespace gpuhist::report::units {

void watch_event_windows(const group_result& found, const gates::watch_list& list, const measures::measuring& measured,
                         gates::watcher& checker) {
  std::optional<measures::previous_baseline> previous;
  if (measured.previous_windows) previous.emplace(*measured.previous_windows);
  for (const event_window& each : found.windows) {
    const std::vector<double> facts = list.facts_in(numbers_of(each.of));
    checker.watch({.type = gates::subject::kind::event_window,
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

}  // namespace gpuhist::report::units
