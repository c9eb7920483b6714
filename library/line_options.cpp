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

report::units::event_windows events_of(const counting_options& options) {
  const unit_options& asked = *options.units;
  const auto now = std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  constexpr std::int64_t nanoseconds = 1'000'000;
  const std::string format = asked.event_time == "any" ? "" : asked.event_time;
  const report::lines::event_time_options typed{.format = format, .time_zone = asked.time_zone};
  made_for("time-zone", [&] { return report::lines::event_times({.format = "iso", .time_zone = asked.time_zone}); });
  return {.typed = typed,
          .times = made_for("event-time", [&] { return std::make_shared<const report::lines::event_times>(typed); }),
          .nanoseconds = static_cast<std::int64_t>(options.windows->length) * nanoseconds,
          .reference = now.time_since_epoch().count()};
}

void check_windows(const counting_options& options) {
  constexpr std::string_view option = "event-time";
  if (!options.windows) throw config::option_error(option, "requires --window with a time, such as --window 1m");
  const window_options& given = *options.windows;
  if (given.measured_in != window_options::measure::milliseconds) {
    throw config::option_error("window", "is a time with --event-time, such as 1m");
  }
  constexpr auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(config::longest_duration).count();
  if (given.length == 0 || given.length > static_cast<std::uint64_t>(longest)) {
    throw config::option_error("window", "is a time from 1ms to 876000h with --event-time, such as 1m");
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
  if (!asked.group_by.empty()) return "group-by";
  return asked.event_time.empty() ? "" : "event-time";
}

bool has_event_windows(const counting_options& options) { return options.units && !options.units->event_time.empty(); }

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
  if (option.empty() && names.used.empty()) return std::nullopt;
  if (!option.empty()) check_kind(asked, option);
  report::units::line_reading made{.matches = std::move(matches),
                                   .ignores_case = asked.match_ignore_case,
                                   .first_match_only = asked.first_match_only,
                                   .facts = names.used,
                                   .field_separator = asked.field_separator,
                                   .most_groups = asked.most_groups,
                                   .spilled_to = {.path = options.temporary_folder, .content = "groups of lines"},
                                   .max_bytes = max_bytes};
  for (const report::gates::line_fact& each : names.used) {
    using fact = report::gates::line_fact::kind;
    if (each.type == fact::number) made.selectors.push_back(selector_of("where", each.of, asked));
  }
  config::check_range("most-groups", asked.most_groups);
  made.by = asked.group_by;
  if (!made.by.empty() && made.by != "name") made.key.emplace(selector_of("group-by", made.by, asked));
  if (!asked.event_time.empty()) {
    check_windows(options);
    made.events = events_of(options);
  }
  if (made.has_groups() && !asked.jsonl_field.empty()) {
    throw config::option_error("jsonl-field", "cannot be combined with --group-by and --event-time, which count lines");
  }
  return made;
}

}  // namespace gpuhist::library
