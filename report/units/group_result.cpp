#include "report/units/group_result.hpp"

#include "report/units/group_values.hpp"
#include "report/units/unit_plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace gpuhist::report::units {
namespace {

// The counts of one group or of several: lines, bytes by class, matches.
struct group_numbers {
  std::uint64_t lines = 0;
  std::vector<std::uint64_t> bytes{};
  std::vector<std::uint64_t> matches{};

  void add(std::uint64_t more_lines, std::span<const std::uint64_t> more_bytes,
           std::span<const std::uint64_t> more_matches) {
    lines += more_lines;
    bytes.resize(more_bytes.size());
    matches.resize(more_matches.size());
    std::ranges::transform(bytes, more_bytes, bytes.begin(), std::plus());
    std::ranges::transform(matches, more_matches, matches.begin(), std::plus());
  }
  void add(const group_table::const_counts_of_group& more) { add(more.lines, more.bytes, more.matches); }
  void add(const group_numbers& more) { add(more.lines, more.bytes, more.matches); }
};

// The groups of one key.
struct key_sum {
  std::string key;
  group_numbers sum{};
  std::uint64_t error = 0;  // group_table::error()
  std::vector<std::pair<std::int64_t, std::uint64_t>> lines_by_window{};

  static bool precedes_other(const key_sum& a, const key_sum& b) {
    return a.sum.lines != b.sum.lines ? a.sum.lines > b.sum.lines : a.key < b.key;
  }
};

// Adds up the parts of a sum. Memory: those of the keys and windows that are reported.
class result_maker {
 public:
  explicit result_maker(const line_reading& plan) : plan_(plan) {}

  void add(const group_table& part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      const group_table::const_counts_of_group counts = part.counts(i);
      all_.add(counts);
      if (plan_.events) windows_[part.at(i).window].add(counts);
    }
    if (!plan_.keys.empty()) add_keys(part);
    if (plan_.events) length_ = part.windows().length;
  }

  [[nodiscard]] group_result take() {
    group_result made{.all = named(all_), .terms = terms()};
    if (!plan_.keys.empty()) take_keys(made);
    if (plan_.events) take_windows(made);
    return made;
  }

 private:
  // The keys of a part are in no other part.
  void add_keys(const group_table& part) {
    std::vector<std::size_t> places(part.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::erase_if(places, [&](std::size_t place) {
      const group_id id = part.at(place);
      if (id.is_of_removed) {
        others_.add(part.counts(place));
        error_ += part.error(place);
      } else if (!id.key) {
        without_key_.add(part.counts(place));
      }
      return !id.key;
    });
    std::vector<key_groups> runs = groups_by_key(part, places);
    number_of_groups_ += runs.size();
    const auto key_of = [&](const key_groups& run) { return *part.at(run.places.front()).key; };
    if (plan_.is_approximate) {
      all_keys_ += part.removed_keys();
      for (const key_groups& each : runs) all_keys_.note(key_of(each));
    }
    const auto precedes = [&](const key_groups& a, const key_groups& b) {
      return a.lines != b.lines ? a.lines > b.lines : key_of(a) < key_of(b);
    };
    const auto end = runs.begin() + static_cast<std::ptrdiff_t>(std::min(runs.size(), plan_.most_groups));
    std::partial_sort(runs.begin(), end, runs.end(), precedes);
    for (auto run = runs.begin(); run != runs.end(); ++run) {
      if (run < end) {
        keep(part, *run, std::string(key_of(*run)));
      } else {
        for (const std::size_t place : run->places) others_.add(part.counts(place));
        note_other(run->lines, run->error);
      }
    }
    if (keys_.size() > plan_.most_groups) drop_last_keys();
  }

  void keep(const group_table& part, const key_groups& run, std::string key) {
    key_sum& kept = keys_.emplace_back();
    kept.key = std::move(key);
    kept.error = run.error;
    for (const std::size_t place : run.places) {
      kept.sum.add(part.counts(place));
      if (plan_.events) kept.lines_by_window.emplace_back(part.at(place).window, part.counts(place).lines);
    }
  }

  void drop_last_keys() {
    const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(plan_.most_groups);
    std::ranges::nth_element(keys_, end, &key_sum::precedes_other);
    for (auto each = end; each != keys_.end(); ++each) {
      others_.add(each->sum);
      note_other(each->sum.lines, each->error);
    }
    keys_.erase(end, keys_.end());
  }

  // Of a key that is not reported.
  void note_other(std::uint64_t lines, std::uint64_t error) {
    most_of_others_ = std::max(most_of_others_, static_cast<std::int64_t>(lines - error));
  }

  [[nodiscard]] line_terms terms() const {
    line_terms made{.ignores_case = plan_.ignores_case,
                    .first_match_only = plan_.first_match_only,
                    .field_separator = plan_.field_separator};
    for (std::size_t i = 0; i < plan_.expressions(); ++i) made.expressions.push_back(plan_.matches->expressions()[i]);
    return made;
  }

  void take_keys(group_result& made) {
    std::ranges::sort(keys_, &key_sum::precedes_other);
    made.by = plan_.keys.front().text;
    if (plan_.keys.size() > 1) made.then_by = plan_.keys.back().text;
    made.number_of_groups = number_of_groups_;
    for (const key_sum& each : keys_) made.groups.push_back(group_of(each));
    made.other_groups = named_if_any(others_);
    if (error_ > 0) take_bounds(made);
    made.without_key = named_if_any(without_key_);
  }

  void take_bounds(group_result& made) const {
    const std::uint64_t estimate = std::max(number_of_groups_, all_keys_.number());
    made.number_of_groups = estimate;
    made.number_error = std::llround(static_cast<double>(estimate) * distinct_keys::standard_error);
    made.other_group_at_most = error_ + static_cast<std::uint64_t>(most_of_others_);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const std::uint64_t own_error = error_ - keys_[i].error;
      if (own_error > 0) made.groups[i].lines_at_most = keys_[i].sum.lines + own_error;
    }
  }

  [[nodiscard]] keyed_group group_of(const key_sum& from) const {
    if (plan_.keys.size() == 1) return {.key = from.key, .of = named(from.sum)};
    std::vector<std::string> keys = split_key(from.key, plan_.keys.size());
    return {.key = std::move(keys.front()), .of = named(from.sum), .then = std::move(keys.back())};
  }

  void take_windows(group_result& made) {
    made.window = length_;
    const auto taken = [&](std::int64_t number) {
      const auto node = windows_.extract(number);
      return node.empty() ? std::nullopt : named_if_any(node.mapped());
    };
    made.without_time = taken(group_id::without_time);
    made.implausible_time = taken(group_id::implausible);
    made.late = taken(group_id::late);
    made.has_reported_windows = taken(group_id::reported).has_value();
    std::unordered_map<std::int64_t, std::size_t> places;
    for (const auto& [number, sum] : windows_) {
      places.emplace(number, made.windows.size());
      made.windows.push_back({.start = number, .of = named(sum), .lines_by_key = {}});
    }
    if (made.windows.size() * made.groups.size() > most_cells) return;
    for (event_window& each : made.windows) each.lines_by_key.resize(made.groups.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      for (const auto& [number, lines] : keys_[i].lines_by_window) {
        const auto found = places.find(number);
        if (found != places.end()) made.windows[found->second].lines_by_key[i] += lines;
      }
    }
  }

  [[nodiscard]] group_counts named(const group_numbers& from) const {
    group_counts made{.lines = from.lines};
    made.counts.counts = from.bytes;
    made.bytes = made.counts.bytes();
    const std::size_t expressions = plan_.expressions();
    if (expressions == 0) return made;
    std::vector<std::uint64_t> numbers = from.matches;
    numbers.resize(match_numbers::size(expressions));  // none without lines
    for (std::size_t i = 0; i < expressions; ++i) {
      made.matches.push_back({.name = plan_.matches->expressions()[i].name,
                              .lines = numbers[match_numbers::lines_at(i)],
                              .bytes = numbers[match_numbers::bytes_at(i)]});
    }
    made.unmatched = numbers[match_numbers::lines_at(expressions)];
    made.unmatched_bytes = numbers[match_numbers::bytes_at(expressions)];
    return made;
  }

  [[nodiscard]] std::optional<group_counts> named_if_any(const group_numbers& from) const {
    return from.lines == 0 ? std::nullopt : std::optional(named(from));
  }

  const line_reading& plan_;
  group_numbers all_;
  group_numbers others_;
  group_numbers without_key_;
  std::vector<key_sum> keys_;  // at most those that are reported, in no order
  std::uint64_t number_of_groups_ = 0;
  std::uint64_t error_ = 0;                        // lines of a key that may have been removed
  std::int64_t most_of_others_ = 0;                // the most lines of a key that is not reported, more than `error_`
  distinct_keys all_keys_;                         // if groups may have been removed
  std::map<std::int64_t, group_numbers> windows_;  // by their start
  std::int64_t length_ = 0;                        // of windows
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
  to.values.resize(std::min(to.values.size(), more.values.size()));
  for (std::size_t i = 0; i < to.values.size(); ++i) to.values[i] += more.values[i];
}

pipeline::observed_numbers numbers_of(const group_counts& found) {
  pipeline::observed_numbers made{.lines = found.lines};
  if (found.matches.empty()) return made;
  for (const match_count& each : found.matches) made.matches.push_back({.lines = each.lines, .bytes = each.bytes});
  made.matches.push_back({.lines = found.unmatched, .bytes = found.unmatched_bytes});
  return made;
}

group_table empty_table(const line_reading& plan, std::size_t classes) {
  return group_table({.classes = plan.has_groups() ? classes : 1,
                      .matches = match_numbers::size(plan.expressions()),
                      .windows = plan.events ? plan.events->windows : window_lengths(),
                      .has_first_lines = plan.finds_changes,
                      .is_approximate = plan.is_approximate});
}

group_sum::limits limits_of(const line_reading& plan) {
  return {.in_memory = plan.is_approximate ? plan.groups_in_memory / 2 : plan.groups_in_memory,
          .spilled_to = plan.spilled_to};
}

std::optional<group_sum> no_groups(const unit_plan& plan, std::size_t classes) {
  if (!plan.lines) return std::nullopt;
  return group_sum(empty_table(*plan.lines, classes), limits_of(*plan.lines));
}

group_result group_result_of(const unit_plan& plan, const group_sum& found, const group_sum* values) {
  result_maker maker(*plan.lines);
  found.for_each_part([&](const group_table& part) { maker.add(part); });
  group_result made = maker.take();
  if (values != nullptr) add_values(made, plan, *values);
  return made;
}

}  // namespace gpuhist::report::units
