#include "report/conditions/watcher.hpp"

#include "pipeline/counts/partitioning.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gpuhist::report::gates {

bool watch_list::needs_byte_counts() const {
  return std::ranges::any_of(gates, [](const gate& each) { return each.when.needs_byte_counts(); });
}

bool watch_list::covers(subject::kind type) const {
  if (gates.empty()) return false;
  switch (type) {
    case subject::kind::total:
      return totals;
    case subject::kind::input:
      return inputs;
    case subject::kind::window:
    case subject::kind::event_window:
      return windows;
  }
  return false;
}

std::vector<double> watch_list::facts_in(const pipeline::observed_numbers& found) const {
  std::vector<double> made;
  std::size_t of_values = 0;
  for (const line_fact& each : facts) {
    if (each.is_of_values()) {
      const std::size_t at = of_values++;
      made.push_back(at < found.values.size() ? found.values[at].value_or(unknown) : unknown);
    } else {
      const auto at = static_cast<std::size_t>(std::ranges::find(matches, each.of) - matches.begin());
      made.push_back(at < found.matches.size() ? static_cast<double>(found.matches[at].lines) : 0);
    }
  }
  return made;
}

watcher::watcher(const watch_list& list, const gpu::partition& counted, const measures::measuring& measuring,
                 std::function<void(const firing&)> report_firing, std::span<const pipeline::scheme_view> schemes)
    : list_(list),
      partition_(counted),
      measuring_(measuring),
      schemes_(schemes),
      report_firing_(std::move(report_firing)) {}

bool watcher::watch(const subject& checked) {
  if (!list_.covers(checked.type)) return false;
  const watched_counts counts{.counts = checked.counts,
                              .partition = partition_,
                              .baseline = checked.baseline != nullptr ? checked.baseline : measuring_.baseline.get(),
                              .schemes = schemes_,
                              .malformed = checked.malformed,
                              .lines = checked.number_of_lines,
                              .facts = checked.facts};
  bool failed_now = false;
  for (std::size_t number = 0; number < list_.gates.size(); ++number) {
    const gate& each = list_.gates[number];
    if (each.when.has_facts() ? checked.facts.empty() : checked.is_of_facts) continue;
    if (!begins_to_hold(number, checked, each.when.holds_for(counts) == true)) continue;
    report_firing_({.effect = each.effect,
                    .condition = each.when.text(),
                    .type = checked.type,
                    .source = std::string(checked.source),
                    .window = checked.window,
                    .begin = checked.begin,
                    .end = checked.end,
                    .lines = lines_of(checked),
                    .event_start = checked.event_start,
                    .values = each.when.values(counts),
                    .line = first_line_of(each, checked)});
    if (each.effect == gate::kind::fail) failed_ = failed_now = true;
  }
  return failed_now && list_.fail_fast;
}

// A window is checked once, when it has closed.
bool watcher::begins_to_hold(std::size_t gate, const subject& checked, bool holds) {
  if (!list_.growing || (checked.type != subject::kind::total && checked.type != subject::kind::input)) return holds;
  const std::pair<std::size_t, std::string> known(gate, checked.source);
  if (holds) return holding_.insert(known).second;
  holding_.erase(known);
  return false;
}

std::optional<pipeline::observed_line> watcher::first_line_of(const gate& of, const subject& checked) {
  if (!of.shown_line || *of.shown_line >= checked.first_lines.size()) return std::nullopt;
  std::optional<pipeline::observed_line> made = checked.first_lines[*of.shown_line];
  if (made && !made->input) made->input = std::make_shared<const std::string>(checked.source);
  return made;
}

// The counts do not show whether an input ends with a line feed: its last line is the last that has one.
std::optional<pipeline::line_range> watcher::lines_of(const subject& checked) const {
  if (checked.type != subject::kind::input) return checked.lines;
  if (checked.begin == checked.end) return std::nullopt;
  return pipeline::line_range{.first = 1,
                              .last = std::max<std::uint64_t>(1, pipeline::lines_in(checked.counts, partition_))};
}

namespace {

// Conditions about facts: their `lines` are those that were observed.
bool watch_facts(subject checked, const watch_list& list, watcher& checker, const pipeline::observed_numbers& found) {
  if (list.facts.empty()) return false;
  const std::vector<double> facts = list.facts_in(found);
  checked.facts = facts;
  checked.first_lines = found.first_lines;
  checked.is_of_facts = true;
  if (!list.matches.empty()) checked.number_of_lines = found.lines;
  return checker.watch(checked);
}

// Conditions without facts, then those with facts.
bool watch_with_facts(const subject& checked, const watch_list& list, watcher& checker,
                      const pipeline::observed_numbers& found) {
  const bool ends = checker.watch(checked);
  return watch_facts(checked, list, checker, found) || ends;
}

subject subject_of(const pipeline::input_report& input) {
  return {.type = subject::kind::input,
          .source = input.name,
          .end = input.verified.bytes(),
          .counts = input.verified,
          .malformed = pipeline::malformed_in(input.utf8)};
}

subject totals_of(const pipeline::run_counts& result) {
  return {.type = subject::kind::total,
          .source = {},
          .end = result.verified.bytes(),
          .counts = result.verified,
          .malformed = pipeline::malformed_in(result.utf8)};
}

bool has_only_input(const pipeline::run_counts& result, const watch_list& list) {
  return result.inputs.size() == 1 && list.covers(subject::kind::input);
}

}  // namespace

// An input without text was not observed: nothing is in it.
bool watch_input(const pipeline::input_report& input, const watch_list& list, watcher& checker) {
  return watch_with_facts(subject_of(input), list, checker, input.observed.value_or(pipeline::observed_numbers{}));
}

bool watch_window(const pipeline::closed_window& closed, const watch_list& list, watcher& checker,
                  const measures::byte_counts* baseline) {
  const pipeline::window_head& head = closed.head;
  return watch_with_facts({.type = subject::kind::window,
                           .source = head.source ? std::string_view(*head.source) : std::string_view(),
                           .window = head.index,
                           .begin = head.first_offset,
                           .end = head.end_offset,
                           .lines = closed.lines,
                           .counts = closed.counts,
                           .baseline = baseline},
                          list, checker, closed.observed);
}

bool watch_totals(const pipeline::run_counts& result, const watch_list& list, watcher& checker,
                  const pipeline::observed_numbers* found) {
  if (has_only_input(result, list)) return false;
  const pipeline::observed_numbers none;
  return watch_with_facts(totals_of(result), list, checker, found != nullptr ? *found : none);
}

bool watch_so_far(const pipeline::run_counts& snapshot, const watch_list& list, watcher& checker) {
  bool ends = false;
  for (const pipeline::input_report& each : snapshot.inputs) {
    ends = checker.watch(subject_of(each)) || ends;
    if (each.observed) ends = watch_facts(subject_of(each), list, checker, *each.observed) || ends;
  }
  return (!has_only_input(snapshot, list) && checker.watch(totals_of(snapshot))) || ends;
}

bool watch_facts_so_far(const pipeline::run_counts& snapshot, const watch_list& list, watcher& checker,
                        const pipeline::observed_numbers& found) {
  if (!has_only_input(snapshot, list)) return watch_facts(totals_of(snapshot), list, checker, found);
  bool ends = false;
  for (const pipeline::input_report& only : snapshot.inputs) {
    ends = watch_facts(subject_of(only), list, checker, found);
  }
  return ends;
}

}  // namespace gpuhist::report::gates
