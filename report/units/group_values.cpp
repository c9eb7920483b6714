#include "report/units/group_values.hpp"

#include "report/units/group_key.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t numbers_of_sum = 2;

// The beginning of the key of an entry; that of its group follows.
struct entry_head {
  enum class subject : std::uint32_t { window, group, without_key };

  static constexpr std::uint32_t no_value = ~std::uint32_t{0};

  subject of = subject::window;
  std::uint32_t formula = 0;
  std::uint32_t bin = no_value;
};
static_assert(std::has_unique_object_representations_v<entry_head>);

std::string_view bytes_of(const entry_head& head) { return {reinterpret_cast<const char*>(&head), sizeof head}; }

std::optional<entry_head> head_in(std::string_view key) {
  entry_head made;
  if (key.size() < sizeof made) return std::nullopt;
  std::memcpy(&made, key.data(), sizeof made);
  return made;
}

// Without quantiles, values of the same sign and exponent share the last bin of them.
std::uint32_t bin_of(double value, const std::vector<double>& percents) {
  constexpr std::uint32_t bins_of_exponent = 256;
  if (std::isnan(value)) return entry_head::no_value;
  const std::uint32_t fine = distribution::fine_bin_of(value);
  return percents.empty() ? fine | (bins_of_exponent - 1) : fine;
}

using values_by_formula = std::vector<distribution::numbers>;

// The entries of the reported groups, of the others and of windows.
class value_sums {
 public:
  // Borrows the plan.
  value_sums(const watched_values& plan, const group_result& of) : plan_(plan) {
    for (const keyed_group& each : of.groups) {
      groups_.try_emplace(of.then_by ? joined_key(each.key, each.then) : each.key, plan.reported);
    }
  }

  void add(const group_table& part) {
    for (std::size_t place = 0; place < part.size(); ++place) {
      const group_id id = part.at(place);
      const std::string_view key = id.key.value_or(std::string_view());
      const std::optional<entry_head> head = head_in(key);
      if (!head || head->formula >= plan_.formulas.size()) continue;
      add_entry(values_of(*head, id.window, key.substr(sizeof *head))[head->formula], head->bin, part.counts(place));
    }
  }

  void set_values(group_result& to) {
    for (keyed_group& each : to.groups) {
      set(each.of, groups_.at(to.then_by ? joined_key(each.key, each.then) : each.key));
    }
    set_if_any(to.other_groups, others_);
    set_if_any(to.without_key, without_key_);
    for (event_window& each : to.windows) set(each.of, windows_[each.start]);
    set_if_any(to.without_time, windows_[group_id::without_time]);
    set_if_any(to.implausible_time, windows_[group_id::implausible]);
    set_if_any(to.late, windows_[group_id::late]);
  }

 private:
  values_by_formula& values_of(const entry_head& head, std::int64_t window, std::string_view key) {
    values_by_formula* found = &without_key_;
    if (head.of == entry_head::subject::window) {
      found = &windows_[window];
    } else if (head.of == entry_head::subject::group) {
      const auto group = groups_.find(std::string(key));
      found = group == groups_.end() ? &others_ : &group->second;
    }
    found->resize(plan_.formulas.size());
    return *found;
  }

  using bins = decltype(distribution::numbers::bins);
  static constexpr std::size_t most_bins = 2 * (distribution::numbers::last_bin + std::size_t{1});

  // Entries of several groups or windows have the same bin.
  static void join_bins(bins& of) {
    std::ranges::sort(of);
    bins joined;
    for (const auto& [bin, units] : of) {
      if (!joined.empty() && joined.back().first == bin) {
        joined.back().second += units;
      } else {
        joined.emplace_back(bin, units);
      }
    }
    of.swap(joined);
  }

  static void add_entry(distribution::numbers& to, std::uint32_t bin, const group_table::const_counts_of_group& found) {
    if (bin == entry_head::no_value) {
      to.unknown += found.lines;
      return;
    }
    if (to.bins.size() >= most_bins) join_bins(to.bins);
    to.bins.emplace_back(bin, found.lines);
    const value_sum::magnitude sum =
        distribution::sum_in_bin(bin, found.lines, {.whole = found.bytes[0], .millionths = found.bytes[1]});
    to.sum.add(sum, distribution::is_of_negative(bin));
  }

  // The lowest and the highest value are not known: a quantile is the bound of its bin.
  void set(group_counts& to, values_by_formula& found) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    found.resize(plan_.formulas.size());
    for (std::size_t formula = 0; formula < found.size(); ++formula) {
      found[formula].lowest = -infinity;
      found[formula].highest = infinity;
      to.values.push_back(distribution::joined(found[formula]).summary(plan_.percents[formula]));
    }
  }

  void set_if_any(std::optional<group_counts>& to, values_by_formula& found) const {
    if (to) set(*to, found);
  }

  const watched_values& plan_;
  std::unordered_map<std::string, values_by_formula> groups_;  // that are reported
  values_by_formula others_;
  values_by_formula without_key_;
  std::unordered_map<std::int64_t, values_by_formula> windows_;
};

}  // namespace

std::optional<double> number_of_values(const gates::line_fact& fact, const value_summary& found) {
  switch (fact.type) {
    case gates::line_fact::kind::sum:
      return found.total();
    case gates::line_fact::kind::mean:
      return found.mean();
    default:
      return found.quantile(fact.percent);
  }
}

std::vector<std::optional<double>> watched_values::numbers(std::span<const value_summary> found) const {
  std::vector<std::optional<double>> made;
  for (const gates::line_fact& each : conditions) {
    const auto at =
        static_cast<std::size_t>(std::ranges::find(formulas, each.of, &gates::formula::text) - formulas.begin());
    made.push_back(at < found.size() ? number_of_values(each, found[at]) : std::nullopt);
  }
  return made;
}

std::vector<std::optional<double>> watched_values::numbers(std::span<const distribution> found) const {
  std::vector<value_summary> summaries;
  for (std::size_t i = 0; i < found.size(); ++i) summaries.push_back(found[i].summary(percents[i]));
  return numbers(summaries);
}

std::optional<group_table> empty_values(const unit_plan& plan) {
  const bool has_values = plan.watched.reported > 0 || plan.watched.of_windows() > 0;
  if (!has_values || !plan.lines || !plan.lines->has_groups() || plan.lines->finds_changes) return std::nullopt;
  const window_lengths windows = plan.lines->events ? plan.lines->events->windows : window_lengths();
  return group_table({.classes = numbers_of_sum, .windows = windows});
}

std::optional<group_sum> no_values(const unit_plan& plan) {
  std::optional<group_table> empty = empty_values(plan);
  if (!empty) return std::nullopt;
  return group_sum(*std::move(empty),
                   {.in_memory = plan.lines->groups_in_memory, .spilled_to = plan.lines->spilled_to});
}

void value_entries::add(group_table& to, const group_id& line, std::span<const double> by_formula) {
  for (std::size_t formula = 0; formula < by_formula.size(); ++formula) {
    entry_head head{.formula = static_cast<std::uint32_t>(formula),
                    .bin = bin_of(by_formula[formula], plan_.percents[formula])};
    if (has_windows_ && formula < plan_.of_windows()) {
      key_ = bytes_of(head);
      add_one(to, line.window, by_formula[formula]);
    }
    if (!has_keys_ || formula >= plan_.reported) continue;
    head.of = line.key ? entry_head::subject::group : entry_head::subject::without_key;
    key_ = bytes_of(head);
    key_ += line.key.value_or(std::string_view());
    add_one(to, closes_windows_ ? line.window : group_id::without_time, by_formula[formula]);
  }
}

// A sum that is too large stays so, whatever is added modulo 2^64: sum_in_bin().
void value_entries::add_one(group_table& to, std::int64_t window, double value) {
  const group_table::counts_of_group counts = to.counts(to.place_of({.window = window, .key = key_}));
  ++counts.lines;
  if (std::isnan(value)) return;
  const auto [whole, millionths] = value_sum::magnitude::of(value);
  counts.bytes[0] += whole;
  counts.bytes[1] += millionths;
}

void add_values(group_result& to, const unit_plan& plan, const group_sum& found) {
  value_sums sums(plan.watched, to);
  found.for_each_part([&](const group_table& part) { sums.add(part); });
  for (const gates::formula& each : plan.watched.formulas) to.formulas.push_back(each.text());
  to.has_distribution = plan.distribution.has_value();
  sums.set_values(to);
}

}  // namespace gpuhist::report::units
