#include "library/line_options.hpp"

#include "config/option_table.hpp"
#include "config/size.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::library {
namespace {

using kind = unit_options::kind;

// Names the option in errors of what it makes.
template <class Make>
auto made_for(std::string_view option, Make make) {
  try {
    return make();
  } catch (const config::option_error&) {
    throw;
  } catch (const config::usage_error& error) {
    throw config::option_error(option, error.what());
  }
}

std::optional<char> separator_of(const unit_options& asked) {
  if (asked.field_separator.empty()) return std::nullopt;
  if (asked.field_separator.size() > 1) throw config::option_error("field-separator", "is one byte, such as ';'");
  return asked.field_separator.front();
}

report::lines::selector selector_of(std::string_view option, const std::string& typed, const unit_options& asked) {
  return made_for(option, [&] { return report::lines::selector(typed, separator_of(asked)); });
}

void check_kind(const unit_options& asked, std::string_view option) {
  if (asked.each == kind::line || asked.each == kind::record) return;
  throw config::option_error(option, "is read of lines or records; give --each line, or leave it out");
}

// Groups count characters then, and not lines. All of Unicode are reported.
void check_characters(const unit_options& asked, report::units::line_reading& to) {
  constexpr std::size_t code_points = 0x110000;
  for (const auto& [option, is_given] :
       {std::pair{"match", to.matches != nullptr}, std::pair{"event-time", to.events.has_value()},
        std::pair{"distribution-of", !asked.distribution_of.empty()}}) {
    if (is_given) {
      throw config::option_error(option,
                                 "cannot be combined with the key character, which counts no lines; leave it out");
    }
  }
  to.most_groups = std::max(to.most_groups, code_points);
}

// Few enough for a look at a terminal.
constexpr std::size_t most_windows = 60;

report::units::window_lengths windows_of(const std::optional<window_options>& asked, std::size_t most) {
  constexpr std::int64_t nanoseconds = 1'000'000;  // of a millisecond
  constexpr std::int64_t second = 1'000'000'000;
  if (!asked || asked->length == 0) return {.length = second, .most = most};
  return {.length = static_cast<std::int64_t>(asked->length) * nanoseconds};
}

report::units::event_windows events_of(const counting_options& options) {
  const unit_options& asked = *options.units;
  const auto now = std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  const std::string format = asked.event_time == "any" ? "" : asked.event_time;
  const std::size_t most = asked.changes ? report::units::most_windows_of_changes : most_windows;
  const report::lines::event_time_options typed{.format = format, .time_zone = asked.time_zone};
  made_for("time-zone", [&] { return report::lines::event_times({.format = "iso", .time_zone = asked.time_zone}); });
  return {.typed = typed,
          .times = made_for("event-time", [&] { return std::make_shared<const report::lines::event_times>(typed); }),
          .windows = windows_of(options.windows, most),
          .reference = now.time_since_epoch().count()};
}

void check_windows(const counting_options& options) {
  constexpr std::string_view option = "event-time";
  if (!options.windows && options.units->changes) return;
  if (!options.windows) throw config::option_error(option, "requires --window with a time, such as --window 1m");
  const window_options& given = *options.windows;
  if (given.measured_in != window_options::measure::milliseconds) {
    throw config::option_error("window", "is a time with --event-time, such as 1m");
  }
  constexpr auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(config::longest_duration).count();
  if (given.length > static_cast<std::uint64_t>(longest)) {
    throw config::option_error("window", "is a time from 1ms to 876000h with --event-time, such as 1m, or auto");
  }
  if (given.step > 0 && given.step != given.length) {
    throw config::option_error("step", "windows of --event-time do not overlap; leave it out");
  }
  if (given.per_input) {
    throw config::option_error("per-input",
                               "windows of --event-time are those of all inputs; to divide them by input, give "
                               "--group-by name");
  }
}

report::units::group_key key_of(std::string_view option, const std::string& typed, const unit_options& asked) {
  const auto named = report::units::source_named(typed);
  if (named) return {.text = typed, .from = *named};
  return {.text = typed, .selector = selector_of(option, typed, asked)};
}

std::vector<report::units::group_key> keys_of(const unit_options& asked) {
  std::vector<report::units::group_key> made;
  if (!asked.group_by.empty()) made.push_back(key_of("group-by", asked.group_by, asked));
  if (asked.then_by.empty()) return made;
  if (made.empty()) throw config::option_error("then-by", "requires --group-by, the first of the two keys");
  made.push_back(key_of("then-by", asked.then_by, asked));
  if (made.front().is_character()) {
    throw config::option_error(
        "group-by", "character is the last key; give --group-by " + made.back().text + " --then-by character");
  }
  return made;
}

bool reads_lines_in_windows(const counting_options& options) {
  return options.windows && options.windows->measured_in == window_options::measure::lines;
}

// Kinds of lines by log and by window: of time, or of lines of each input.
void add_changes(const counting_options& options, report::units::line_reading& to) {
  constexpr std::string_view option = "changes";
  const unit_options& asked = *options.units;
  if (!asked.group_by.empty() || asked.selects() || asked.top > 0 || !asked.distribution_of.empty()) {
    throw config::option_error(option, "groups all lines itself; leave out other options of units");
  }
  const bool has_lines = reads_lines_in_windows(options);
  to.finds_changes = true;
  to.keys.push_back(key_of(option, has_lines ? "name" : "family", asked));
  to.keys.push_back(key_of(option, "kind", asked));
  if (has_lines) {
    constexpr std::int64_t shortest = 100;
    const auto length = static_cast<std::int64_t>(options.windows->length);
    to.events = {.windows = {.length = length, .are_of_lines = true}};
    if (length == 0)
      to.events->windows = {.length = shortest, .most = report::units::most_windows_of_changes, .are_of_lines = true};
    return;
  }
  check_windows(options);
  to.events = events_of(options);
}

bool has_matches(const unit_options& asked) { return !asked.matches.empty() || !asked.match_file.empty(); }

std::vector<report::lines::match_expression> expressions_in(const std::string& path) {
  constexpr std::string_view option = "match-file";
  if (path.empty()) return {};
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (file.bad() || text.bad() || !file.is_open()) {
    throw config::option_error(option,
                               config::quote(path) + " cannot be read: " + std::generic_category().message(errno));
  }
  return made_for(option, [&] { return report::lines::parse_match_file(text.str(), path); });
}

// Those of the options, then those of the file.
std::vector<report::lines::match_expression> expressions_of(const unit_options& asked) {
  std::vector<report::lines::match_expression> typed;
  for (const std::string& each : asked.matches) {
    typed.push_back(made_for("match", [&] { return report::lines::parse_match(each); }));
  }
  std::ranges::move(expressions_in(asked.match_file), std::back_inserter(typed));
  return typed;
}

}  // namespace

std::string_view option_of_lines(const unit_options& asked) {
  if (has_matches(asked)) return asked.matches.empty() ? "match-file" : "match";
  if (asked.changes) return "changes";
  if (!asked.group_by.empty()) return "group-by";
  return asked.event_time.empty() ? "" : "event-time";
}

bool has_event_windows(const counting_options& options) {
  return options.units && !options.units->event_time.empty() && !options.units->changes;
}

std::vector<std::string> names_of_matches(const counting_options& options) {
  std::vector<std::string> names;
  if (!options.units) return names;
  for (report::lines::match_expression& each : expressions_of(*options.units)) names.push_back(std::move(each.name));
  return names;
}

std::shared_ptr<const report::lines::match_set> resolve_matches(const unit_options& asked) {
  if (!has_matches(asked)) return nullptr;
  return made_for(option_of_lines(asked), [&] {
    return std::make_shared<const report::lines::match_set>(expressions_of(asked), asked.match_ignore_case);
  });
}

std::optional<report::units::line_reading> resolve_lines(const counting_options& options,
                                                         std::shared_ptr<const report::lines::match_set> matches,
                                                         const report::gates::line_names& names,
                                                         std::size_t max_bytes) {
  const unit_options& asked = *options.units;
  const std::string_view option = option_of_lines(asked);
  if (asked.approximate && asked.group_by.empty()) throw config::option_error("approximate", "requires --group-by");
  if (option.empty() && names.used.empty()) return std::nullopt;
  if (!option.empty()) check_kind(asked, option);
  report::units::line_reading made{.matches = std::move(matches),
                                   .ignores_case = asked.match_ignore_case,
                                   .first_match_only = asked.first_match_only,
                                   .facts = names.used,
                                   .field_separator = asked.field_separator,
                                   .most_groups = asked.most_groups,
                                   .is_approximate = asked.approximate,
                                   .spilled_to = {.path = options.temporary_folder, .content = "groups of lines"},
                                   .max_bytes = max_bytes};
  for (const report::gates::line_fact& each : names.used) {
    using fact = report::gates::line_fact::kind;
    if (each.type == fact::number) made.selectors.push_back(selector_of("where", each.of, asked));
    if (each.type == fact::text) {
      made.texts.emplace_back(each.function, config::placed_text{.whole = each.of, .bytes = each.of.size()});
    }
  }
  config::check_range("most-groups", asked.most_groups);
  made.keys = keys_of(asked);
  if (asked.changes) {
    add_changes(options, made);
  } else if (!asked.event_time.empty()) {
    check_windows(options);
    made.events = events_of(options);
  }
  if (made.counts_characters()) check_characters(asked, made);
  return made;
}

void resolve_lateness(const file_options& options, bool is_fed, std::optional<report::units::line_reading>& lines) {
  constexpr std::string_view option = "allowed-lateness";
  constexpr std::chrono::seconds when_followed{10};
  std::optional<std::chrono::milliseconds> lateness = options.counting.units->allowed_lateness;
  const bool has_events = has_event_windows(options.counting);
  if (lateness && !has_events) throw config::option_error(option, "requires --event-time");
  if (!has_events || (!lateness && !options.follow)) return;
  if (is_fed) throw config::option_error(option, "is for runs over files; leave it out");
  if (lateness && (lateness->count() < 0 || *lateness > config::longest_duration)) {
    throw config::option_error(option, "is a time from 0 to 876000h, such as 10s");
  }
  if (options.counting.windows->length == 0) {
    throw config::option_error("window", "needs a length for windows that close during the run, such as 1m");
  }
  if (!options.follow && (options.inputs.size() != 1 || options.list || options.trees)) {
    throw config::option_error(option,
                               "requires --follow, or one input: inputs are read one after the other, and all lines of "
                               "the second might be late; leave it out");
  }
  lines->events->lateness = std::chrono::nanoseconds(lateness.value_or(when_followed)).count();
}

}  // namespace gpuhist::library
