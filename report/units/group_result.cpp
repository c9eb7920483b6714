#include "report/units/group_result.hpp"

#include "report/units/unit_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace gpuhist::report::units {
namespace {

class result_maker {
 public:
  result_maker(const line_reading& plan, const group_table& found) : plan_(plan), found_(found) {}

  [[nodiscard]] group_result make() const {
    std::vector<std::size_t> places(found_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    group_result made{.all = sum_of(places)};
    if (!plan_.by.empty()) add_groups(made);
    if (plan_.events) add_windows(made);
    return made;
  }

 private:
  using places = std::vector<std::size_t>;  // in the table

  [[nodiscard]] group_counts sum_of(const places& all) const {
    group_counts sum{.counts = gpu::tally(found_.classes())};
    std::vector<std::uint64_t> matches(found_.matches());
    for (const std::size_t each : all) {
      const group_table::const_counts_of_group more = found_.counts(each);
      sum.lines += more.lines;
      std::ranges::transform(sum.counts.counts, more.bytes, sum.counts.counts.begin(), std::plus());
      std::ranges::transform(matches, more.matches, matches.begin(), std::plus());
    }
    sum.bytes = sum.counts.bytes();
    name_matches(matches, sum);
    return sum;
  }

  void name_matches(const std::vector<std::uint64_t>& numbers, group_counts& to) const {
    const std::size_t expressions = plan_.expressions();
    if (expressions == 0) return;
    for (std::size_t i = 0; i < expressions; ++i) {
      to.matches.push_back({.name = plan_.matches->expressions()[i].name,
                            .lines = numbers[match_numbers::lines_at(i)],
                            .bytes = numbers[match_numbers::bytes_at(i)]});
    }
    to.unmatched = numbers[match_numbers::lines_at(expressions)];
    to.unmatched_bytes = numbers[match_numbers::bytes_at(expressions)];
  }

  [[nodiscard]] std::optional<group_counts> sum_if_any(const places& all) const {
    return all.empty() ? std::nullopt : std::optional(sum_of(all));
  }

  // Groups of one key, in several windows.
  struct key_places {
    std::string_view key;
    std::uint64_t lines = 0;
    places at{};
  };

  void add_groups(group_result& made) const {
    made.by = plan_.by;
    std::unordered_map<std::string_view, std::size_t> numbers;
    std::vector<key_places> keys;
    places without;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const group_id id = found_.at(i);
      if (!id.key) {
        without.push_back(i);
        continue;
      }
      const auto [entry, is_new] = numbers.emplace(*id.key, keys.size());
      if (is_new) keys.push_back({.key = *id.key});
      keys[entry->second].at.push_back(i);
      keys[entry->second].lines += found_.counts(i).lines;
    }
    std::ranges::sort(keys, [](const key_places& a, const key_places& b) {
      return a.lines != b.lines ? a.lines > b.lines : a.key < b.key;
    });
    made.number_of_groups = keys.size();
    made.without_key = sum_if_any(without);
    places others;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i < plan_.most_groups) {
        made.groups.push_back({.key = std::string(keys[i].key), .of = sum_of(keys[i].at)});
      } else {
        others.insert(others.end(), keys[i].at.begin(), keys[i].at.end());
      }
    }
    made.other_groups = sum_if_any(others);
  }

  void add_windows(group_result& made) const {
    made.window = plan_.events->nanoseconds;
    std::map<std::int64_t, places> windows;
    for (std::size_t i = 0; i < found_.size(); ++i) windows[found_.at(i).window].push_back(i);
    const auto taken = [&](std::int64_t number) {
      const auto node = windows.extract(number);
      return node.empty() ? std::nullopt : sum_if_any(node.mapped());
    };
    made.without_time = taken(group_id::without_time);
    made.implausible_time = taken(group_id::implausible);
    std::unordered_map<std::string_view, std::size_t> shown;
    for (std::size_t i = 0; i < made.groups.size(); ++i) shown.emplace(made.groups[i].key, i);
    for (const auto& [number, at] : windows) {
      event_window window{.start = number * made.window, .of = sum_of(at), .lines_by_key = {}};
      window.lines_by_key.resize(made.groups.size());
      for (const std::size_t each : at) {
        const auto entry = found_.at(each).key ? shown.find(*found_.at(each).key) : shown.end();
        if (entry != shown.end()) window.lines_by_key[entry->second] += found_.counts(each).lines;
      }
      made.windows.push_back(std::move(window));
    }
  }

  const line_reading& plan_;
  const group_table& found_;
};

}  // namespace

void add(group_counts& to, const group_counts& more) {
  to.lines += more.lines;
  to.bytes += more.bytes;
  to.counts += more.counts;
  for (std::size_t i = 0; i < to.matches.size(); ++i) {
    to.matches[i].lines += more.matches[i].lines;
    to.matches[i].bytes += more.matches[i].bytes;
  }
  to.unmatched += more.unmatched;
  to.unmatched_bytes += more.unmatched_bytes;
}

std::optional<group_table> no_groups(const unit_plan& plan, std::size_t classes) {
  if (!plan.lines) return std::nullopt;
  return group_table(plan.lines->has_groups() ? classes : 1, match_numbers::size(plan.lines->expressions()));
}

group_result group_result_of(const unit_plan& plan, const group_table& found) {
  return result_maker(*plan.lines, found).make();
}

}  // namespace gpuhist::report::units
