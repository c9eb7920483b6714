#include "report/units/group_addition.hpp"

#include "report/units/group_table.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace gpuhist::report::units {
namespace {

void add_if_any(std::optional<group_counts>& to, const std::optional<group_counts>& more) {
  if (!more) return;
  if (to) {
    add(*to, *more);
  } else {
    to = more;
  }
}

// The most lines of a key that the result does not report: those that it reports have the most lines.
std::uint64_t most_unreported_in(const group_result& of) {
  if (!of.other_groups) return 0;
  const std::uint64_t others = of.other_groups->lines;
  if (of.other_group_at_most) return std::min(others, *of.other_group_at_most);
  return of.groups.empty() ? others : std::min(others, of.groups.back().of.lines);
}

// In the order of other matches of the same names.
void align_matches(group_counts& of, const std::vector<match_count>& order) {
  std::ranges::sort(of.matches, {}, [&](const match_count& each) {
    return std::ranges::find(order, each.name, &match_count::name) - order.begin();
  });
}

}  // namespace

void group_addition::add(group_result more) {
  ++results_;
  align(more);
  add_totals(more);
  const std::vector<std::size_t> indices = add_keys(more);
  if (more.window > 0) add_windows(more, indices);
}

group_result group_addition::take() {
  const std::vector<std::size_t> order = keys_in_order();
  take_windows(order);
  take_keys(order);
  return std::move(sum_);
}

void group_addition::align(group_result& more) const {
  const std::vector<match_count>& order = sum_.all.matches;
  if (results_ == 1 || std::ranges::equal(more.all.matches, order, {}, &match_count::name, &match_count::name)) return;
  align_matches(more.all, order);
  for (keyed_group& each : more.groups) align_matches(each.of, order);
  for (event_window& each : more.windows) align_matches(each.of, order);
  for (auto* const each :
       {&more.other_groups, &more.without_key, &more.without_time, &more.implausible_time, &more.late}) {
    if (*each) align_matches(**each, order);
  }
}

void group_addition::add_totals(group_result& more) {
  const bool is_first = results_ == 1;
  const bool has_others = sum_.other_groups || more.other_groups;
  most_unreported_ += most_unreported_in(more);
  if (is_first) {
    sum_.all = more.all;
    sum_.by = more.by;
    sum_.then_by = more.then_by;
    sum_.other_group_at_most = more.other_group_at_most;
    sum_.formulas = more.formulas;
    sum_.has_distribution = more.has_distribution;
  } else {
    sum_.has_distribution = sum_.has_distribution && more.has_distribution && more.formulas == sum_.formulas;
    units::add(sum_.all, more.all);
    if (has_others) sum_.other_group_at_most = most_unreported_;
  }
  if (sum_.terms.expressions.empty()) sum_.terms = more.terms;  // those of older results are not known
  sum_.number_of_groups = std::max(sum_.number_of_groups, more.number_of_groups);
  sum_.number_is_least = sum_.number_is_least || more.number_is_least || (!is_first && has_others);
  if (more.number_error) sum_.number_error = std::max(*more.number_error, sum_.number_error.value_or(0));
  add_if_any(sum_.other_groups, more.other_groups);
  add_if_any(sum_.without_key, more.without_key);
  add_if_any(sum_.without_time, more.without_time);
  add_if_any(sum_.implausible_time, more.implausible_time);
  add_if_any(sum_.late, more.late);
}

// Returns the index of each group in keys_.
std::vector<std::size_t> group_addition::add_keys(group_result& more) {
  const std::uint64_t unreported = most_unreported_in(more);
  std::vector<std::size_t> indices;
  for (keyed_group& each : more.groups) {
    const auto [found, is_new] = index_of_key_.try_emplace({each.key, each.then}, keys_.size());
    const std::uint64_t at_most = each.lines_at_most.value_or(each.of.lines);
    if (is_new) {
      keys_.push_back({.key = std::move(each.key), .then = std::move(each.then), .of = std::move(each.of)});
    } else {
      units::add(keys_[found->second].of, each.of);
    }
    keys_[found->second].at_most += at_most;
    keys_[found->second].excluded += unreported;
    indices.push_back(found->second);
  }
  return indices;
}

void group_addition::add_windows(group_result& more, const std::vector<std::size_t>& indices) {
  widen_windows(std::max(sum_.window, more.window));
  for (event_window& each : more.windows) {
    const auto [found, is_new] = windows_.try_emplace(rounded_down(each.start, sum_.window));
    window_sum& to = found->second;
    if (is_new) {
      to.of = std::move(each.of);
    } else {
      units::add(to.of, each.of);
    }
    have_lines_by_key_ = have_lines_by_key_ && each.lines_by_key.size() == indices.size();
    for (std::size_t i = 0; have_lines_by_key_ && i < indices.size(); ++i) {
      if (each.lines_by_key[i] > 0) to.lines_by_key[indices[i]] += each.lines_by_key[i];
    }
  }
}

void group_addition::widen_windows(std::int64_t length) {
  if (sum_.window == length) return;
  sum_.window = length;
  std::map<std::int64_t, window_sum> wider;
  for (auto& [start, each] : windows_) {
    const auto [found, is_new] = wider.try_emplace(rounded_down(start, length), std::move(each));
    if (is_new) continue;
    units::add(found->second.of, each.of);
    for (const auto& [key, lines] : each.lines_by_key) found->second.lines_by_key[key] += lines;
  }
  windows_ = std::move(wider);
}

std::vector<std::size_t> group_addition::keys_in_order() const {
  std::vector<std::size_t> order(keys_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const key_sum& one = keys_[a];
    const key_sum& other = keys_[b];
    if (one.of.lines != other.of.lines) return one.of.lines > other.of.lines;
    return std::tie(one.key, one.then) < std::tie(other.key, other.then);
  });
  return order;
}

void group_addition::take_keys(const std::vector<std::size_t>& order) {
  sum_.number_of_groups = std::max<std::uint64_t>(sum_.number_of_groups, keys_.size());
  for (const std::size_t index : order) {
    key_sum& each = keys_[index];
    const std::uint64_t at_most = each.at_most + (most_unreported_ - each.excluded);
    sum_.groups.push_back({.key = std::move(each.key), .of = std::move(each.of), .then = std::move(each.then)});
    if (at_most > sum_.groups.back().of.lines) sum_.groups.back().lines_at_most = at_most;
  }
}

void group_addition::take_windows(const std::vector<std::size_t>& order) {
  const bool has_lines_by_key = have_lines_by_key_ && windows_.size() * keys_.size() <= most_cells;
  for (auto& [start, each] : windows_) {
    event_window& made = sum_.windows.emplace_back();
    made.start = start;
    made.of = std::move(each.of);
    if (!has_lines_by_key) continue;
    for (const std::size_t index : order) {
      const auto found = each.lines_by_key.find(index);
      made.lines_by_key.push_back(found == each.lines_by_key.end() ? 0 : found->second);
    }
  }
}

}  // namespace gpuhist::report::units
