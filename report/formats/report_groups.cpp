#include "report/formats/report_groups.hpp"

#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"
#include "report/measures/previous_baseline.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>

namespace gpuhist::report {
namespace {

using units::group_counts;

void add_matches(member_writer& to, const group_counts& of) {
  if (of.matches.empty()) return;
  const auto add = [&](std::string_view name, std::uint64_t lines, std::uint64_t bytes) {
    to.open(name);
    to.add_number("lines", lines);
    to.add_number("bytes", bytes);
    to.close();
  };
  to.open("matches");
  for (const units::match_count& each : of.matches) add(each.name, each.lines, each.bytes);
  to.close();
  add("unmatched", of.unmatched, of.unmatched_bytes);
}

group_counts matches_of(const run_report& content, pipeline::observed_numbers found) {
  found.matches.resize(content.matches.size() + 1);
  group_counts made{.lines = found.lines};
  for (std::size_t i = 0; i < content.matches.size(); ++i) {
    const pipeline::observed_numbers::matched& of = found.matches[i];
    made.matches.push_back({.name = content.matches[i], .lines = of.lines, .bytes = of.bytes});
  }
  made.unmatched = found.matches.back().lines;
  made.unmatched_bytes = found.matches.back().bytes;
  return made;
}

}  // namespace

std::optional<group_counts> matches_of(const run_report& content, const pipeline::input_report& input) {
  const bool has_text = input.verified.bytes() + input.unverified.bytes() > 0;
  if (content.matches.empty() || (!input.observed && has_text)) return std::nullopt;
  return matches_of(content, input.observed.value_or(pipeline::observed_numbers{}));
}

void add_values(member_writer& to, const units::value_summary& of) {
  to.add_number("units", of.units);
  to.add_number("without_value", of.without_value);
  if (of.units == 0) return;
  to.add_json_text("sum", of.sum.text().value_or("null"));
  if (const std::optional<double> mean = of.mean()) {
    to.add_number("mean", *mean);
  } else {
    to.add_json_text("mean", "null");
  }
  if (of.quantiles.empty()) return;
  to.open("quantiles");
  for (const units::distribution_quantile& each : of.quantiles) {
    to.add_number("p" + shortest(each.percent), each.value);
  }
  to.close();
}

void add_matches(member_writer& to, const run_report& content, const pipeline::input_report& input) {
  if (const std::optional<group_counts> found = matches_of(content, input)) add_matches(to, *found);
}

void add_matches(member_writer& to, const run_report& content, const pipeline::observed_numbers& of_window) {
  if (!content.matches.empty()) add_matches(to, matches_of(content, of_window));
}

namespace {

void add_counts_of_group(member_writer& to, const run_report& content, const units::group_result& within,
                         const group_counts& of, const measures::byte_counts* baseline = nullptr) {
  to.add_number("lines", of.lines);
  to.add_number("bytes", of.bytes);
  add_buckets(to, content, of.counts);
  if (content.byte_counts) add_byte_counts(to, content, of.counts);
  add_measures(to, content, of.counts, baseline);
  add_matches(to, of);
  if (const units::value_summary* const values = within.distribution_in(of)) {
    to.open("distribution");
    add_values(to, *values);
    to.close();
  }
}

void add_key(member_writer& to, const std::string& name, const std::string& key) {
  to.add_text(name, key);
  if (!is_utf8(key)) to.add_text(name + "_base64", base64(key));
}

void add_optional(member_writer& to, std::string_view name, const run_report& content,
                  const units::group_result& within, const std::optional<group_counts>& of) {
  if (!of) return;
  to.open(name);
  add_counts_of_group(to, content, within, *of);
  to.close();
}

// A list of objects: add_one(members, element).
template <class List, class AddOne>
void add_list(member_writer& to, std::string_view name, const List& list, AddOne add_one) {
  std::string text = "[";
  std::string_view separator;
  for (const auto& each : list) {
    object_text one;
    add_one(one.members, each);
    text.append(separator) += one.take();
    separator = ",";
  }
  to.add_json_text(name, text + "]");
}

void add_keys(member_writer& to, const run_report& content, const units::group_result& found) {
  if (!found.by) return;
  to.add_text("group_by", *found.by);
  if (found.then_by) to.add_text("then_by", *found.then_by);
  to.add_number("number_of_groups", found.number_of_groups);
  if (found.number_is_least) to.add_flag("number_of_groups_is_at_least", true);
  if (found.number_error) to.add_number("number_of_groups_error", *found.number_error);
  add_list(to, "groups", found.groups, [&](member_writer& one, const units::keyed_group& each) {
    add_key(one, "key", each.key);
    if (found.then_by) add_key(one, "then_key", each.then);
    if (each.lines_at_most) one.add_number("lines_at_most", *each.lines_at_most);
    add_counts_of_group(one, content, found, each.of);
  });
  add_optional(to, "other_groups", content, found, found.other_groups);
  if (found.other_group_at_most) to.add_number("other_group_lines_at_most", *found.other_group_at_most);
  add_optional(to, "without_key", content, found, found.without_key);
}

void add_terms(member_writer& to, const units::line_terms& terms) {
  if (!terms.expressions.empty()) {
    add_list(to, "match_expressions", terms.expressions, [](member_writer& one, const lines::match_expression& each) {
      one.add_text("name", each.name);
      one.add_text("regex", each.pattern);
    });
    if (terms.ignores_case) to.add_flag("match_ignore_case", true);
    if (terms.first_match_only) to.add_flag("match_first", true);
  }
  if (!terms.field_separator.empty()) to.add_text("field_separator", terms.field_separator);
}

void add_times(member_writer& to, std::int64_t start, std::int64_t length) {
  to.add_text("event_start", utc_text(start));
  to.add_text("event_end", utc_text(start + length));
}

}  // namespace

void add_groups(member_writer& to, const run_report& content, const units::group_result& found) {
  add_matches(to, found.all);
  add_terms(to, found.terms);
  add_keys(to, content, found);
  if (found.window == 0) return;
  std::optional<measures::previous_baseline> previous;
  if (content.measuring.previous_windows) previous.emplace(*content.measuring.previous_windows);
  const bool has_list = !found.windows.empty() || !found.has_reported_windows;
  const auto add_window = [&](member_writer& one, const units::event_window& each) {
    add_times(one, each.start, found.window);
    add_counts_of_group(one, content, found, each.of, previous ? previous->get() : nullptr);
    if (previous) previous->close(measures::counts_of(each.of.counts));
    if (!each.lines_by_key.empty()) one.add_numbers("lines_by_group", each.lines_by_key);
  };
  if (has_list) add_list(to, "event_windows", found.windows, add_window);
  add_optional(to, "without_time", content, found, found.without_time);
  add_optional(to, "implausible_time", content, found, found.implausible_time);
  add_optional(to, "late", content, found, found.late);
}

std::string event_window_line(const run_report& frame, std::string_view run, const units::closed_event_window& closed,
                              const measures::byte_counts* baseline) {
  object_text line;
  add_beginning(line.members, "event_window", run);
  for (const units::event_window& each : closed.of.windows) {
    add_times(line.members, each.start, closed.of.window);
    line.members.add_text("closed_by", closed.is_at_end ? "end" : "time");
    if (frame.ignore_case) line.members.add_flag("ignore_case", true);
    add_counts_of_group(line.members, frame, closed.of, each.of, baseline);
  }
  add_keys(line.members, frame, closed.of);
  return line.take() + "\n";
}

std::string utc_text(std::int64_t nanoseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(nanoseconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> of_day(floor<milliseconds>(time - day));
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", int(date.year()),
                                 unsigned(date.month()), unsigned(date.day()), int(of_day.hours().count()),
                                 int(of_day.minutes().count()), int(of_day.seconds().count()));
  std::string made(text.data(), static_cast<std::size_t>(size));
  if (of_day.subseconds().count() > 0) {
    std::array<char, 16> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03d", int(of_day.subseconds().count()));
    made += fraction.data();
  }
  return made + "Z";
}

std::optional<std::int64_t> time_of_utc_text(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view form = "0000-00-00T00:00:00";
  constexpr std::string_view form_of_fraction = ".000";
  const auto is_like = [](std::string_view part, std::string_view shape) {
    return std::ranges::equal(part, shape, [](char found, char wanted) {
      return wanted == '0' ? found >= '0' && found <= '9' : found == wanted;
    });
  };
  const std::string_view date = text.substr(0, form.size());
  std::string_view rest = text.substr(date.size());
  if (!is_like(date, form) || !rest.ends_with('Z')) return std::nullopt;
  rest.remove_suffix(1);
  if (!rest.empty() && !is_like(rest, form_of_fraction)) return std::nullopt;
  const auto number_at = [&](std::size_t begin, std::size_t digits) {
    int made = 0;
    for (const char each : text.substr(begin, digits)) made = made * 10 + (each - '0');
    return made;
  };
  const year_month_day day(year(number_at(0, 4)), month(static_cast<unsigned>(number_at(5, 2))),
                           std::chrono::day(static_cast<unsigned>(number_at(8, 2))));
  if (!day.ok()) return std::nullopt;
  const sys_time<nanoseconds> time = sys_days(day) + hours(number_at(11, 2)) + minutes(number_at(14, 2)) +
                                     seconds(number_at(17, 2)) + milliseconds(rest.empty() ? 0 : number_at(20, 3));
  return time.time_since_epoch().count();
}

}  // namespace gpuhist::report
