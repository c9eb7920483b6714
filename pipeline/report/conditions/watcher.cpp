#include "pipeline/report/conditions/watcher.hpp"

#include "pipeline/counts/partitioning.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gpuhist::pipeline::gates {

bool watch_list::needs_byte_counts() const {
  return std::ranges::any_of(gates, [](const gate& each) { return each.when.needs_byte_counts(); });
}

bool watch_list::covers(unit::kind what) const {
  if (gates.empty()) return false;
  switch (what) {
    case unit::kind::total:
      return totals;
    case unit::kind::input:
      return inputs;
    case unit::kind::window:
      return windows;
  }
  return false;
}

watcher::watcher(const watch_list& what, const gpu::partition& counted, const measures::measuring& measuring,
                 std::function<void(const firing&)> tell)
    : watched_(what), partition_(counted), measuring_(measuring), tell_(std::move(tell)) {}

bool watcher::watch(const unit& what) {
  if (!watched_.covers(what.what)) return false;
  const watched_counts counts{.counts = what.counts,
                              .partition = partition_,
                              .baseline = what.baseline != nullptr ? what.baseline : measuring_.baseline.get()};
  bool ends = false;
  for (std::size_t number = 0; number < watched_.gates.size(); ++number) {
    const gate& each = watched_.gates[number];
    if (!begins_to_hold(number, what, each.when.holds_for(counts) == true)) continue;
    tell_({.by = each.what,
           .condition = each.when.text(),
           .what = what.what,
           .source = std::string(what.source),
           .window = what.window,
           .begin = what.begin,
           .end = what.end,
           .lines = lines_of(what),
           .values = each.when.values(counts)});
    if (each.what == gate::kind::fail) failed_ = ends = true;
  }
  return ends && watched_.fail_fast;
}

// Windows are over when they are watched, and each is another one.
bool watcher::begins_to_hold(std::size_t gate, const unit& what, bool holds) {
  if (!watched_.growing || what.what == unit::kind::window) return holds;
  const std::pair<std::size_t, std::string> known(gate, what.source);
  if (holds) return holding_.insert(known).second;
  holding_.erase(known);
  return false;
}

// The counts do not show whether an input ends with a line feed: its last line is the last that has one.
std::optional<line_range> watcher::lines_of(const unit& what) const {
  if (what.what != unit::kind::input) return what.lines;
  if (what.begin == what.end) return std::nullopt;
  return line_range{.first = 1, .last = std::max<std::uint64_t>(1, lines_in(what.counts, partition_))};
}

}  // namespace gpuhist::pipeline::gates
