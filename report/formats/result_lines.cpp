#include "report/formats/result_lines.hpp"

#include "config/text.hpp"
#include "report/formats/document_members.hpp"
#include "report/formats/report_groups.hpp"
#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::report {
namespace {

using documents::damaged;
using documents::flag_if_any;
using documents::member;
using documents::number;
using documents::text;
using nlohmann::json;
using units::group_counts;

constexpr std::array lists_of_lines = {"groups", "event_windows"};
constexpr std::array other_lines = {"other_groups", "without_key", "without_time", "implausible_time", "late"};

// Without windows that have lines, their length is not known, and any length is a multiple of it.
constexpr std::int64_t unknown_length = 1;

const json& list(const json& from, const char* key) {
  const json& found = member(from, key);
  if (!found.is_array() || !std::ranges::all_of(found, [](const json& each) { return each.is_object(); })) {
    damaged("\"" + std::string(key) + "\" is not a list of objects");
  }
  return found;
}

const json& object(const json& from, const char* key) {
  const json& found = member(from, key);
  if (!found.is_object()) damaged("\"" + std::string(key) + "\" is not an object");
  return found;
}

std::uint64_t number_in(const json& from, const char* key) { return number(member(from, key), key); }

std::optional<std::uint64_t> number_if_any(const json& from, const char* key) {
  return from.contains(key) ? std::optional(number_in(from, key)) : std::nullopt;
}

std::optional<std::string> text_if_any(const json& from, const char* key) {
  return from.contains(key) ? std::optional(text(from[key], key)) : std::nullopt;
}

std::int64_t time_in(const json& window, const char* key) {
  const std::optional<std::int64_t> time = time_of_utc_text(text(member(window, key), key));
  if (!time) damaged("\"" + std::string(key) + "\" is not a time such as 2025-10-10T13:58:00Z");
  return *time;
}

std::int64_t length_of(const json& window) {
  const std::int64_t start = time_in(window, "event_start");
  const std::int64_t length = time_in(window, "event_end") - start;
  if (length <= 0 || start % length != 0) {
    damaged("a window of \"event_windows\" does not begin at a multiple of its length");
  }
  return length;
}

std::int64_t length_of_windows(const json& document) {
  if (!document.contains("event_windows")) return 0;
  const json& windows = list(document, "event_windows");
  return windows.empty() ? unknown_length : length_of(windows.front());
}

std::vector<lines::match_expression> expressions_in(const json& document) {
  std::vector<lines::match_expression> made;
  for (const json& each : list(document, "match_expressions")) {
    made.push_back({.name = text(member(each, "name"), "name"), .pattern = text(member(each, "regex"), "regex")});
  }
  return made;
}

// In the order of the expressions. (Members of objects have none, and older results have no expressions.)
std::vector<std::string> names_of_matches(const json& document) {
  std::vector<std::string> names;
  if (!document.contains("match_expressions")) {
    for (const auto& [name, counts] : object(document, "matches").items()) names.push_back(name);
    return names;
  }
  for (lines::match_expression& each : expressions_in(document)) names.push_back(std::move(each.name));
  return names;
}

// "12.25", without its sign. Nothing: it has another form, or more digits.
std::optional<units::value_sum::magnitude> magnitude_in(std::string_view text) {
  constexpr std::size_t digits_of_millionths = 6;
  units::value_sum::magnitude made;
  const char* const end = text.data() + text.size();
  const auto whole = std::from_chars(text.data(), end, made.whole);
  const std::string_view fraction(whole.ptr, end);
  if (whole.ec != std::errc{} || !fraction.starts_with('.') || fraction.size() > digits_of_millionths + 1) return {};
  const std::string padded =
      std::string(fraction.substr(1)) + std::string(digits_of_millionths + 1 - fraction.size(), '0');
  const auto [last, error] = std::from_chars(padded.data(), padded.data() + padded.size(), made.millionths);
  if (error != std::errc{} || last != padded.data() + padded.size()) return std::nullopt;
  return made;
}

// A number that is not whole is a text (document_reader).
void add_text(units::value_sum& to, const std::string& text) {
  const bool is_negative = text.starts_with('-');
  if (const auto exact = magnitude_in(std::string_view(text).substr(is_negative ? 1 : 0))) {
    to.add(*exact, is_negative);
    return;
  }
  double closest = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), closest);
  if (error != std::errc{} || end != text.data() + text.size()) damaged("\"sum\" is not a number");
  to.add(closest);
}

units::value_sum sum_in(const json& from) {
  using magnitude = units::value_sum::magnitude;
  units::value_sum made;
  if (from.is_null()) {
    made.add({.whole = magnitude::limit}, false);
  } else if (from.is_string()) {
    add_text(made, from.get<std::string>());
  } else if (from.is_number_unsigned()) {
    made.add({.whole = std::min(from.get<std::uint64_t>(), magnitude::limit)}, false);
  } else if (from.is_number_integer()) {
    made.add({.whole = std::min(0 - static_cast<std::uint64_t>(from.get<std::int64_t>()), magnitude::limit)}, true);
  } else {
    damaged("\"sum\" is not a number");
  }
  return made;
}

std::vector<units::distribution_quantile> quantiles_in(const json& from) {
  std::vector<units::distribution_quantile> made;
  if (!from.contains("quantiles")) return made;
  for (const auto& [name, value] : object(from, "quantiles").items()) {
    double percent = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), percent);
    if (!name.starts_with('p') || error != std::errc{} || end != name.data() + name.size()) {
      damaged("\"quantiles\" has a name that is not as p99");
    }
    made.push_back({.percent = percent, .value = documents::real(value, name)});
  }
  std::ranges::sort(made, {}, &units::distribution_quantile::percent);
  return made;
}

// A "distribution", without its bins.
units::value_summary values_in(const json& from) {
  units::value_summary made{.units = number_in(from, "units"), .without_value = number_in(from, "without_value")};
  if (made.units == 0) return made;
  // those of older versions have none
  made.sum = sum_in(from.contains("sum") ? from["sum"] : json());
  made.quantiles = quantiles_in(from);
  return made;
}

// Each bin has its units in a part of it.
units::distribution distribution_in(const json& from, const units::value_summary& values) {
  units::distribution::numbers made{.unknown = values.without_value, .sum = values.sum};
  if (values.units > 0) {
    made.lowest = documents::real(member(from, "lowest"), "lowest");
    made.highest = documents::real(member(from, "highest"), "highest");
  }
  std::uint64_t sum = 0;
  for (const json& each : list(from, "bins")) {
    made.bins.emplace_back(units::distribution::fine_bin_of(documents::real(member(each, "from"), "from")),
                           number_in(each, "units"));
    sum += made.bins.back().second;
  }
  if (sum != values.units) {
    damaged(R"(the counts do not add up: "bins" do not have the units of "distribution")");
  }
  return units::distribution::joined(made);
}

std::string joined(const std::vector<std::string>& names) {
  std::string made;
  for (const std::string& each : names) made += (made.empty() ? "" : ", ") + each;
  return made;
}

std::string text_of_length(std::int64_t nanoseconds) {
  constexpr double second = 1e9;
  return shortest(static_cast<double>(nanoseconds) / second) + "s";
}

std::string difference(const std::string& option, const std::string* ours, const std::string* theirs) {
  const auto shown = [](const std::string* value) { return value != nullptr ? printable(*value) : "not given"; };
  return option + " " + shown(ours) + " instead of " + shown(theirs);
}

// The first entry that only one of the two has, or that differs.
std::string first_difference(const std::map<std::string, std::string>& ours,
                             const std::map<std::string, std::string>& theirs, const std::string& before_key) {
  std::map<std::string, std::string> all = ours;
  all.insert(theirs.begin(), theirs.end());
  for (const auto& [key, ignored_value] : all) {
    const auto a = ours.find(key);
    const auto b = theirs.find(key);
    const std::string* const own = a == ours.end() ? nullptr : &a->second;
    const std::string* const other = b == theirs.end() ? nullptr : &b->second;
    if (own == nullptr || other == nullptr || *own != *other) return difference(before_key + key, own, other);
  }
  return {};
}

// Reads the groups of one document.
class line_reader {
 public:
  line_reader(const json& document, const wanted_counts& wanted)
      : document_(document), wanted_(wanted), is_folded_(is_folded(document)) {
    if (document.contains("matches")) matches_ = names_of_matches(document);
  }

  [[nodiscard]] units::unit_result read() const {
    units::unit_result made = read_units();
    made.groups = read_groups(made);
    return made;
  }

  // The numbers of the units.
  [[nodiscard]] units::unit_result read_units() const {
    const json& from = object(document_, "units");
    units::unit_result made;
    made.each = text(member(from, "each"), "each");
    made.drops_unverified = from.contains("unverified");
    made.finds_duplicates = from.contains("duplicates");
    for (const units::unit_number& each : units::unit_numbers) {
      if (each.option != nullptr) made.*each.option = text_if_any(from, std::string(each.option_name).c_str());
      if (!each.is_in(made)) continue;
      made.totals.*each.units = number_in(from, std::string(each.name).c_str());
      if (each.bytes != nullptr) made.totals.*each.bytes = number_in(from, std::string(each.bytes_name).c_str());
    }
    made.rules = read_rules(from, "rules", "condition", units::rule_numbers);
    made.steps = read_rules(from, "rewrite", "step", units::step_numbers);
    made.distribution_of = text_if_any(from, "distribution_of");
    if (!made.distribution_of) return made;
    const json& values = object(from, "distribution");
    const units::value_summary summary = values_in(values);
    made.values = distribution_in(values, summary);
    made.quantiles = summary.quantiles;
    return made;
  }

 private:
  static std::vector<units::rule_result> read_rules(const json& from, const char* key, const char* typed,
                                                    std::span<const units::rule_number> numbers) {
    std::vector<units::rule_result> made;
    if (!from.contains(key)) return made;
    if (!from.at(key).is_array()) throw result_damage("\"" + std::string(key) + "\" is not a list");
    for (const json& each : from.at(key)) {
      units::rule_result& rule = made.emplace_back();
      rule.name = text(member(each, "name"), "name");
      rule.condition = text(member(each, typed), typed);
      for (const units::rule_number& number : numbers) {
        rule.found.*number.value = number_in(each, std::string(number.name).c_str());
      }
    }
    return made;
  }

  [[nodiscard]] units::group_result read_groups(const units::unit_result& of) const {
    units::group_result made{.all = all_lines(of), .terms = read_terms()};
    made.has_distribution = of.distribution_of && have_values();
    if (made.has_distribution) made.formulas.push_back(*of.distribution_of);
    if (document_.contains("groups")) read_keys(made);
    if (document_.contains("event_windows")) read_windows(made);
    return made;
  }

  // Whether all groups and windows have values. (Those of older versions have none.)
  [[nodiscard]] bool have_values() const {
    const auto has = [](const json& group) { return group.is_object() && group.contains("distribution"); };
    const auto have_all = [&](const char* key) {
      const auto found = document_.find(key);
      return found == document_.end() || !found->is_array() || std::ranges::all_of(*found, has);
    };
    return std::ranges::all_of(lists_of_lines, have_all);
  }

  // Of all lines or, with a condition, those for which it holds.
  [[nodiscard]] group_counts all_lines(const units::unit_result& of) const {
    units::unit_totals counted = of.totals;
    if (is_of_filter(of)) {
      counted = units::kept_of(of.totals, units::filtering::kept::others);
    } else if (of.where) {
      counted = units::kept_of(of.totals, units::filtering::kept::selected);
    }
    group_counts made{.lines = counted.seen, .bytes = counted.bytes};
    read_matches(document_, made);
    return made;
  }

  // Whether the condition is one by which lines are dropped. (A file with lines of dropped units is not read.)
  [[nodiscard]] bool is_of_filter(const units::unit_result& of) const {
    if (!of.where || of.totals.selected > 0) return false;
    const auto has_lines = [](const json& from) {
      const auto found = from.find("lines");
      return found != from.end() && found->is_number_unsigned() && found->get<std::uint64_t>() > 0;
    };
    const auto has_any = [&](const char* key) {
      return document_.contains(key) && std::ranges::any_of(document_[key], has_lines);
    };
    const auto has_one = [&](const char* key) { return document_.contains(key) && has_lines(document_[key]); };
    return has_any("groups") || has_any("event_windows") || has_any("matches") || has_one("unmatched") ||
           std::ranges::any_of(other_lines, has_one);
  }

  [[nodiscard]] units::line_terms read_terms() const {
    units::line_terms made{.ignores_case = flag_if_any(document_, "match_ignore_case"),
                           .first_match_only = flag_if_any(document_, "match_first"),
                           .field_separator = text_if_any(document_, "field_separator").value_or("")};
    if (document_.contains("match_expressions")) made.expressions = expressions_in(document_);
    return made;
  }

  void read_matches(const json& from, group_counts& into) const {
    if (!document_.contains("matches")) return;
    const json& found = object(from, "matches");
    if (found.size() != matches_.size()) damaged("\"matches\" does not have the names of the expressions");
    for (const std::string& name : matches_) {
      const json& counts = object(found, name.c_str());
      into.matches.push_back({.name = name, .lines = number_in(counts, "lines"), .bytes = number_in(counts, "bytes")});
    }
    const json& unmatched = object(from, "unmatched");
    into.unmatched = number_in(unmatched, "lines");
    into.unmatched_bytes = number_in(unmatched, "bytes");
    const bool are_possible = std::ranges::all_of(into.matches, [&](const units::match_count& each) {
      return each.lines <= into.lines && each.bytes <= into.bytes;
    });
    if (!are_possible || into.unmatched > into.lines || into.unmatched_bytes > into.bytes) {
      damaged("the counts do not add up: \"matches\" has more lines than there are");
    }
  }

  [[nodiscard]] group_counts read_counts(const json& from) const {
    group_counts made{.lines = number_in(from, "lines"), .bytes = number_in(from, "bytes")};
    made.counts = read_group_counts(from, wanted_, is_folded_);
    read_matches(from, made);
    if (from.contains("distribution")) made.values.push_back(values_in(object(from, "distribution")));
    return made;
  }

  [[nodiscard]] std::optional<group_counts> read_if_any(const char* key) const {
    return document_.contains(key) ? std::optional(read_counts(object(document_, key))) : std::nullopt;
  }

  void read_keys(units::group_result& into) const {
    into.by = text(member(document_, "group_by"), "group_by");
    into.then_by = text_if_any(document_, "then_by");
    into.number_of_groups = number_in(document_, "number_of_groups");
    into.number_is_least = flag_if_any(document_, "number_of_groups_is_at_least");
    into.number_error = number_if_any(document_, "number_of_groups_error");
    into.other_group_at_most = number_if_any(document_, "other_group_lines_at_most");
    for (const json& each : list(document_, "groups")) {
      units::keyed_group& made = into.groups.emplace_back();
      made.key = documents::raw_text(each, "key");
      if (into.then_by) made.then = documents::raw_text(each, "then_key");
      made.of = read_counts(each);
      made.lines_at_most = number_if_any(each, "lines_at_most");
    }
    into.other_groups = read_if_any("other_groups");
    into.without_key = read_if_any("without_key");
    group_counts sum;
    for (const units::keyed_group& each : into.groups) add_sizes(sum, each.of);
    add_sizes(sum, into.other_groups);
    add_sizes(sum, into.without_key);
    if (into.counts_characters()) {
      into.all.lines = sum.lines;  // they count characters, of a field not all of the bytes
      into.all.bytes = sum.bytes;
    }
    check_sum(sum, into.all, "groups");
    check_number(into);
  }

  static void check_number(const units::group_result& of) {
    const bool is_inexact = of.number_is_least || of.number_error;
    const bool is_possible = of.other_groups ? of.number_of_groups > of.groups.size() || is_inexact
                                             : of.number_of_groups == of.groups.size();
    if (!is_possible) damaged("\"number_of_groups\" is not that of the groups");
  }

  void read_windows(units::group_result& into) const {
    into.window = length_of_windows(document_);
    for (const json& each : list(document_, "event_windows")) {
      units::event_window& made = into.windows.emplace_back();
      made.start = time_in(each, "event_start");
      if (length_of(each) != into.window) damaged("the windows of \"event_windows\" have several lengths");
      made.of = read_counts(each);
      if (each.contains("lines_by_group")) made.lines_by_key = read_lines_by_key(each, into.groups.size());
    }
    into.without_time = read_if_any("without_time");
    into.implausible_time = read_if_any("implausible_time");
    into.late = read_if_any("late");
    group_counts sum;
    for (const units::event_window& each : into.windows) add_sizes(sum, each.of);
    add_sizes(sum, into.without_time);
    add_sizes(sum, into.implausible_time);
    add_sizes(sum, into.late);
    check_sum(sum, into.all, "event_windows");
  }

  static std::vector<std::uint64_t> read_lines_by_key(const json& window, std::size_t groups) {
    const json& from = window["lines_by_group"];
    if (!from.is_array() || from.size() != groups)
      damaged("\"lines_by_group\" is not a list of a number for each group");
    std::vector<std::uint64_t> made;
    for (const json& each : from) made.push_back(number(each, "lines_by_group"));
    return made;
  }

  static void add_sizes(group_counts& to, const group_counts& more) {
    to.lines += more.lines;
    to.bytes += more.bytes;
  }
  static void add_sizes(group_counts& to, const std::optional<group_counts>& more) {
    if (more) add_sizes(to, *more);
  }

  static void check_sum(const group_counts& sum, const group_counts& all, std::string_view parts) {
    if (sum.lines == all.lines && sum.bytes == all.bytes) return;
    damaged("the counts do not add up: \"" + std::string(parts) + "\" and the other lines have " +
            config::number_of(sum.lines, "line") + ", " + config::number_of(sum.bytes, "byte") + ", but " +
            config::number_of(all.lines, "line") + ", " + config::number_of(all.bytes, "byte") + " were counted");
  }

  const json& document_;
  const wanted_counts& wanted_;
  bool is_folded_;
  std::vector<std::string> matches_;
};

}  // namespace

reading_options reading_options::in(const json& document) {
  reading_options made;
  if (!has_lines(document)) return made;
  const auto add_text = [&](const std::string& option, const json& from, const char* key) {
    if (const std::optional<std::string> found = text_if_any(from, key)) made.values[option] = *found;
  };
  const json& units = object(document, "units");
  add_text("--each", units, "each");
  add_text("--where", units, "where");
  add_text("--jsonl-field", units, "jsonl_field");
  add_text("--group-by", document, "group_by");
  add_text("--then-by", document, "then_by");
  add_text("--field-separator", document, "field_separator");
  const bool is_first_only = flag_if_any(document, "match_first");
  if (is_first_only) made.values["--match-first"] = "given";
  if (flag_if_any(document, "match_ignore_case")) made.values["--match-ignore-case"] = "given";
  if (document.contains("matches")) {
    std::vector<std::string> names = names_of_matches(document);
    if (!is_first_only) std::ranges::sort(names);
    made.values["--match"] = joined(names);
  }
  if (document.contains("match_expressions")) {
    made.expressions.emplace();
    for (const lines::match_expression& each : expressions_in(document)) (*made.expressions)[each.name] = each.pattern;
  }
  if (document.contains("event_windows")) made.values["--event-time"] = "given";
  made.window = length_of_windows(document);
  return made;
}

std::string reading_options::difference_from(const reading_options& other) const {
  if (std::string found = first_difference(values, other.values, ""); !found.empty()) return found;
  if (expressions && other.expressions) {
    if (std::string found = first_difference(*expressions, *other.expressions, "--match "); !found.empty())
      return found;
  }
  if (window == other.window || window % other.window == 0 || other.window % window == 0) return {};
  return "--window " + text_of_length(window) + " instead of " + text_of_length(other.window);
}

std::vector<std::string> reading_options::names_of_expressions() const {
  std::vector<std::string> names;
  if (!expressions) return names;
  for (const auto& [name, pattern] : *expressions) names.push_back(name);
  return names;
}

void reading_options::add(const reading_options& more) {
  window = std::max(window, more.window);
  if (!expressions) expressions = more.expressions;
}

bool has_lines(const json& document) {
  const auto is_member = [&](const char* key) { return document.contains(key); };
  return is_member("matches") || std::ranges::any_of(lists_of_lines, is_member);
}

bool lacks_counts_of_groups(const json& document, const wanted_counts& wanted) {
  if (wanted.by_bucket != nullptr) return false;
  const auto lacks = [](const json& group) {
    if (!group.is_object() || group.contains("byte_counts")) return false;
    const auto buckets = group.find("buckets");
    return buckets == group.end() || !buckets->is_object() || !buckets->contains("bytes");
  };
  const auto has_any = [&](const char* key) {
    const auto found = document.find(key);
    return found != document.end() && found->is_array() && std::ranges::any_of(*found, lacks);
  };
  const auto has_one = [&](const char* key) { return document.contains(key) && lacks(document[key]); };
  return std::ranges::any_of(lists_of_lines, has_any) || std::ranges::any_of(other_lines, has_one);
}

std::optional<units::unit_result> read_lines(const json& document, const wanted_counts& wanted) {
  if (has_lines(document)) return line_reader(document, wanted).read();
  return document.contains("units") ? std::optional(line_reader(document, wanted).read_units()) : std::nullopt;
}

}  // namespace gpuhist::report
