#include "report/formats/report_changes.hpp"

#include "report/formats/input_table.hpp"
#include "report/formats/report_groups.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace gpuhist::report {
namespace {

using series = changes::difference::series;
using units::change_result;
using units::found_change;
using units::found_difference;

// Of the first scheme.
std::string class_name(const run_report& content, std::size_t number) {
  if (content.schemes.empty()) return std::to_string(number);
  const pipeline::scheme_view& view = content.schemes.front();
  const std::size_t bucket =
      number < view.bucket_of_class.size() ? view.bucket_of_class[number] : view.scheme.buckets.size();
  return bucket < view.scheme.buckets.size() ? view.scheme.buckets[bucket] : "other";
}

// Three digits, for people.
std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 100) return grouped(static_cast<std::uint64_t>(std::llround(value)));
  return fixed(value, size == 0 ? 0 : size >= 10 ? 0 : size >= 1 ? 1 : size >= 0.01 ? 2 : 4);
}

std::string levels(double before, double inside) {
  return "from " + short_number(before) + " to " + short_number(inside);
}
std::string percents(double before, double inside) { return levels(100 * before, 100 * inside) + " %"; }

// "5m", "36h", "1.5s".
std::string length_text(const units::window_lengths& windows) {
  if (windows.are_of_lines) return number_of(static_cast<std::uint64_t>(windows.length), "line");
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::array<std::pair<std::int64_t, std::string_view>, 4> names = {
      {{86'400 * second, "d"}, {3'600 * second, "h"}, {60 * second, "m"}, {second, "s"}}};
  for (const auto& [length, name] : names) {
    if (windows.length % length == 0)
      return grouped(static_cast<std::uint64_t>(windows.length / length)) + std::string(name);
  }
  return short_number(static_cast<double>(windows.length) / 1e6) + "ms";
}

std::string place_text(const found_change& of) {
  if (of.windows.are_of_lines) {
    if (!of.line) return {};
    return "from line " + grouped(of.line->place.line) + " of " + printable(of.line->input);
  }
  return utc_text(of.start) + (of.lasts ? " until the end" : " to " + utc_text(of.end));
}

std::string words_of(const run_report& content, const found_change& change, const found_difference& of,
                     std::size_t width) {
  const changes::difference& levels_of = of.of;
  const auto lines_of = [&](std::string_view begin, std::string_view end) {
    constexpr std::size_t shortest_name = 16;
    const std::string shares = std::string(end) + percents(levels_of.before, levels_of.inside);
    const std::size_t used = begin.size() + shares.size();
    return std::string(begin) + cut_end(printable(of.name), std::max(shortest_name, width - std::min(width, used))) +
           shares;
  };
  switch (levels_of.of) {
    case series::kind:
      return lines_of("lines of the kind `", "` ");
    case series::level:
      return lines_of("lines of the level ", " ");
    case series::match:
      return lines_of("lines that match ", " ");
    case series::rate:
      return "lines in " + length_text(change.windows) + " " + levels(levels_of.before, levels_of.inside);
    case series::length:
      return "bytes of a line " + levels(levels_of.before, levels_of.inside);
    case series::class_share:
      return class_name(content, levels_of.index) + " " + percents(levels_of.before, levels_of.inside) +
             " of the bytes";
  }
  return "";
}

constexpr std::string_view indent = "    ";

std::string line_text(const found_change& of, std::size_t width) {
  if (!of.line) return {};
  const std::string heading = of.line_is_last_seen ? "last seen in " : "first line: ";
  return std::string(indent) + heading + printable(of.line->input) + ", line " + grouped(of.line->place.line) + "\n" +
         cut_end(std::string(indent) + printable(of.line->text), width) + "\n";
}

constexpr std::size_t shown_changes = 20;
constexpr std::size_t shown_differences = 4;

std::string paragraph_of(const run_report& content, const change_result& found, std::size_t index,
                         const render_target& target) {
  const found_change& of = found.found[index];
  const std::string heading = std::to_string(index + 1) + ". " + printable(of.stream);
  const std::string place = found.is_comparison() ? "" : "  " + place_text(of);
  std::string text = painted(heading, ink::heading, target.color) + place + "\n";
  const std::size_t shown = std::min(of.differences.size(), shown_differences);
  for (std::size_t i = 0; i < shown; ++i) {
    text += std::string(indent) + words_of(content, found, index, i, text_width(target) - indent.size()) + "\n";
  }
  if (of.differences.size() > shown)
    text += std::string(indent) + "... and " + std::to_string(of.differences.size() - shown) + " more " +
            (of.differences.size() - shown == 1 ? "difference" : "differences") + "\n";
  return text + line_text(of, text_width(target)) + "\n";
}

// "in windows of 30s to 1h"
std::string windows_text(const change_result& found) {
  const auto text_of = [&](std::int64_t length) {
    return length_text({.length = length, .are_of_lines = found.are_of_lines});
  };
  std::string text = ", in windows of " + text_of(found.shortest);
  if (found.longest > found.shortest) text += " to " + text_of(found.longest);
  return text;
}

// "1 of 20 logs differs: 3,000 lines in a, 3,001 lines in b"
std::string summary_of_comparison(const change_result& found) {
  std::string text = grouped(found.found.size()) + " of " + number_of(found.streams, "log") +
                     (found.found.size() == 1 ? " differs" : " differ");
  std::string_view separator = ": ";
  for (const units::compared_side& each : found.sides) {
    text.append(separator) += number_of(each.lines, "line") + " in " + printable(each.name);
    separator = ", ";
  }
  return text;
}

std::string lone_logs_of(const change_result& found) {
  constexpr std::size_t shown_logs = 20;
  std::string text;
  for (const units::compared_side& side : found.sides) {
    const std::string heading = "only in " + printable(side.name) + ": ";
    for (std::size_t i = 0; i < std::min(side.only_here.size(), shown_logs); ++i) {
      const units::lone_log& each = side.only_here[i];
      text += heading + printable(each.name) + ", " + number_of(each.lines, "line") + "\n";
    }
    if (side.only_here.size() > shown_logs)
      text += heading + "... and " + number_of(side.only_here.size() - shown_logs, "log") + " more\n";
  }
  return text;
}

std::string summary_of(const change_result& found) {
  std::string text = found.is_comparison()
                         ? summary_of_comparison(found)
                         : number_of(found.found.size(), "change") + " in " + number_of(found.streams, "log") + ": " +
                               number_of(found.lines, "line");
  if (found.shortest > 0) text += windows_text(found);
  if (found.streams_in_lines > 0)
    text += ", " + number_of(found.streams_in_lines, "log") + " without times in windows of lines";
  text += "\n";
  if (found.by_counts_alone > 0)
    text += "compared by counts alone: " + number_of(found.by_counts_alone, "log") + ", of which it is not known how " +
            (found.by_counts_alone == 1 ? "it varies" : "they vary") + "\n";
  if (found.not_compared > 0)
    text += "not compared: " + number_of(found.not_compared, "log") + " with fewer than 6 windows\n";
  for (const units::timeless_log& each : found.timeless)
    text += "not compared: " + printable(each.name) + ", without times\n";
  if (found.without_time > 0) text += number_of(found.without_time, "line") + " without a time\n";
  return text;
}

void add_text_of_line(member_writer& to, const found_change& of) {
  if (!of.line) return;
  to.add_text("input", of.line->input);
  to.add_number("line", of.line->place.line);
  to.add_number("offset", of.line->place.offset);
  to.add_text("text", of.line->text);
  if (!is_utf8(of.line->text)) to.add_text("text_base64", base64(of.line->text));
  if (of.line_is_last_seen) to.add_flag("is_last_seen", true);
}

void add_differences(member_writer& to, const run_report& content, const change_result& found, std::size_t index) {
  const found_change& of = found.found[index];
  std::string list = "[";
  for (std::size_t i = 0; i < of.differences.size(); ++i) {
    const found_difference& each = of.differences[i];
    object_text one;
    one.members.add_text("what", series_name(each.of.of));
    if (const std::string subject = subject_of(content, each); !subject.empty()) one.members.add_text("of", subject);
    one.members.add_number("before", each.of.before);
    one.members.add_number("inside", each.of.inside);
    one.members.add_number("lines", each.of.lines);
    one.members.add_number("evidence", each.of.evidence);
    one.members.add_text("words", words_of(content, found, index, i, any_width));
    list.append(list.size() > 1 ? "," : "") += one.take();
  }
  to.add_json_text("differences", list + "]");
}

void add_sides(member_writer& to, const change_result& found) {
  std::string list = "[";
  for (const units::compared_side& side : found.sides) {
    object_text one;
    one.members.add_text("name", side.name);
    one.members.add_number("lines", side.lines);
    std::string logs = "[";
    for (const units::lone_log& each : side.only_here) {
      object_text log;
      log.members.add_text("stream", each.name);
      log.members.add_number("lines", each.lines);
      logs.append(logs.size() > 1 ? "," : "") += log.take();
    }
    one.members.add_json_text("only_here", logs + "]");
    list.append(list.size() > 1 ? "," : "") += one.take();
  }
  to.add_json_text("sides", list + "]");
  to.add_number("by_counts_alone", found.by_counts_alone);
}

void add_windows(member_writer& to, const found_change& of) {
  constexpr double second = 1e9;
  const auto length = static_cast<double>(of.windows.length);
  if (of.windows.are_of_lines) return to.add_number("window_lines", length);
  to.add_number("window_seconds", length / second);
}

void add_times(member_writer& to, const found_change& of) {
  if (of.windows.are_of_lines) return;
  to.add_text("start", utc_text(of.start));
  of.lasts ? to.add_json_text("end", "null") : to.add_text("end", utc_text(of.end));
}

}  // namespace

std::string_view series_name(series of) {
  switch (of) {
    case series::kind:
      return "kind";
    case series::level:
      return "level";
    case series::match:
      return "match";
    case series::rate:
      return "rate";
    case series::length:
      return "length";
    case series::class_share:
      return "bytes_of_class";
  }
  return "";
}

std::string subject_of(const run_report& content, const found_difference& of) {
  return of.of.of == series::class_share ? class_name(content, of.of.index) : of.name;
}

void add_changes(member_writer& to, const run_report& content, const change_result& found) {
  to.add_number("streams", found.streams);
  to.add_number("streams_in_lines", found.streams_in_lines);
  to.add_number("not_compared", found.not_compared + found.timeless.size());
  to.add_number("without_time", found.without_time);
  if (found.is_comparison()) add_sides(to, found);
  std::string list = "[";
  for (std::size_t i = 0; i < found.found.size(); ++i) {
    const found_change& each = found.found[i];
    object_text one;
    one.members.add_text("stream", each.stream);
    if (each.windows.length > 0) add_windows(one.members, each);
    if (!found.is_comparison()) add_times(one.members, each);
    one.members.add_number("evidence", each.evidence);
    add_differences(one.members, content, found, i);
    add_text_of_line(one.members, each);
    list.append(list.size() > 1 ? "," : "") += one.take();
  }
  to.add_json_text("changes", list + "]");
}

std::string change_lines(const run_report& content, const change_result& found, const render_target& target) {
  const input_listing* const listing = target.sections.listing;
  const std::size_t shown =
      std::min(found.found.size(), listing != nullptr && listing->top ? *listing->top : shown_changes);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += paragraph_of(content, found, i, target);
  if (found.found.size() > shown) {
    text += "... and " + number_of(found.found.size() - shown, "change") + " more (--top all shows all)\n\n";
  }
  return text + lone_logs_of(found) + summary_of(found);
}

std::string words_of(const run_report& content, const change_result& found, std::size_t index, std::size_t difference,
                     std::size_t width) {
  const found_change& change = found.found[index];
  const found_difference& of = change.differences[difference];
  if (!found.is_comparison()) return words_of(content, change, of, width);
  std::string_view prefix;
  if (!of.name.empty() && of.of.before == 0) prefix = "new: ";
  if (!of.name.empty() && of.of.inside == 0) prefix = "vanished: ";
  return std::string(prefix) + words_of(content, change, of, width - std::min(width, prefix.size()));
}

}  // namespace gpuhist::report
