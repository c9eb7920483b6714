#include "report/units/group_watch.hpp"

#include <vector>

namespace gpuhist::report::units {

event_window_watch::event_window_watch(const gates::watch_list& list, const measures::measuring& measured,
                                       gates::watcher& checker, const watched_values* values)
    : list_(list), checker_(checker), values_(values) {
  if (measured.previous_windows) previous_.emplace(*measured.previous_windows);
}

bool event_window_watch::watch(const event_window& closed) {
  pipeline::observed_numbers found = numbers_of(closed.of);
  if (values_ != nullptr) found.values = values_->numbers(closed.of.values);
  const std::vector<double> facts = list_.facts_in(found);
  const bool ends = checker_.watch({.type = gates::subject::kind::event_window,
                                    .source = {},
                                    .end = closed.of.bytes,
                                    .event_start = closed.start,
                                    .counts = closed.of.counts,
                                    .number_of_lines = closed.of.lines,
                                    .facts = facts,
                                    .first_lines = closed.first_lines,
                                    .baseline = baseline()});
  if (previous_) previous_->close(measures::counts_of(closed.of.counts));
  return ends;
}

}  // namespace gpuhist::report::units
