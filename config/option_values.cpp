#include "config/option_values.hpp"

#include "config/presets.hpp"
#include "config/scheme.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>
#include <variant>
#include <vector>

namespace gpuhist::config {
namespace {

constexpr number_range device_numbers{.lowest = 0, .highest = 1023};

/// The parts between commas: at least one part, and any part may be empty.
std::vector<std::string> split_at_commas(const std::string& typed) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t comma = typed.find(','); comma != std::string::npos; comma = typed.find(',', begin)) {
    parts.push_back(typed.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(typed.substr(begin));
  return parts;
}

[[noreturn]] void refuse_preset(std::string_view name) {
  std::vector<std::string_view> known;
  for (const preset& each : preset_table()) known.push_back(each.name);
  throw usage_error(no_such_name(name, known));
}

bool is_name_of_rule(std::string_view name) {
  constexpr std::string_view signs = "-_.";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || signs.find(c) != std::string_view::npos;
  });
}

std::vector<std::string> parse_texts(std::span<const std::string> typed, std::string_view right) {
  std::vector<std::string> made;
  for (const std::string& each : typed) made.push_back(parse_text(each, right));
  return made;
}

}  // namespace

std::uint64_t parse_number(const std::string& typed, number_range allowed) {
  std::uint64_t number = 0;
  const char* const end = typed.data() + typed.size();
  const auto [rest, error] = std::from_chars(typed.data(), end, number);
  const std::string right = "; give " + std::to_string(allowed.lowest) + " to " + std::to_string(allowed.highest);
  if (error == std::errc::invalid_argument || rest != end) {
    throw usage_error(quote(typed) + " is not a whole number" + right);
  }
  if (error != std::errc{} || !allowed.has(number)) throw usage_error(typed + " is out of range" + right);
  return number;
}

std::string parse_text(const std::string& typed, std::string_view right) {
  if (typed.empty()) throw usage_error("the value is empty; " + std::string(right));
  return typed;
}

std::size_t parse_choice(const std::string& typed, std::span<const std::string_view> known) {
  const auto found = std::ranges::find(known, typed);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  throw usage_error(no_such_name(typed, known));
}

std::uint64_t parse_memory_limit(const std::string& typed) {
  if (typed == "none") return no_memory_limit;
  const std::uint64_t size = parse_size(typed);
  if (size == 0) throw usage_error(typed + " is not a valid limit; give a size such as 512MiB or 2GiB, or none");
  return size;
}

std::vector<std::string> parse_names(std::span<const std::string> typed) {
  std::vector<std::string> made;
  for (const std::string& each : typed) {
    for (std::string& name : split_at_commas(each)) {
      if (name.empty()) throw usage_error("a name is missing in " + quote(each) + "; give names separated by commas");
      made.push_back(std::move(name));
    }
  }
  return made;
}

std::vector<double> parse_percents(std::span<const std::string> typed) {
  std::vector<double> made;
  for (const std::string& each : parse_names(typed)) {
    const char* const begin = each.data() + (each.front() == 'p' ? 1 : 0);
    const char* const end = each.data() + each.size();
    double percent = 0;
    const auto [rest, error] = std::from_chars(begin, end, percent);
    if (error != std::errc() || rest != end || !is_percent(percent)) {
      throw usage_error(quote(each) + " is no percent above 0 and up to 100; give such as 50,99,99.9");
    }
    made.push_back(percent);
  }
  return made;
}

std::vector<std::string> parse_buckets(std::span<const std::string> typed) {
  std::vector<std::string> made;
  for (const std::string& each : typed) {
    const bool is_definition = each.find('=') != std::string::npos;
    for (std::string& name : is_definition ? std::vector{each} : parse_names({&each, 1}))
      made.push_back(std::move(name));
  }
  return made;
}

std::vector<std::string> parse_patterns(std::span<const std::string> typed) {
  return parse_texts(typed, "give a pattern such as '*.log'");
}

std::vector<std::string> parse_conditions(std::span<const std::string> typed) {
  return parse_texts(typed, "give a condition such as 'entropy > 7'");
}

std::vector<std::string> parse_matches(std::span<const std::string> typed) {
  return parse_texts(typed, "give a name and an expression, such as error=ERROR");
}

watch_options parse_watch(std::span<const std::string> typed) {
  constexpr std::array<std::string_view, 3> known = {"totals", "inputs", "windows"};
  watch_options made{.totals = false, .inputs = false, .windows = false};
  const std::array<bool*, known.size()> fields = {&made.totals, &made.inputs, &made.windows};
  for (const std::string& each : parse_names(typed)) *fields.at(parse_choice(each, known)) = true;
  return made;
}

unsigned parse_rows(const std::string& typed) {
  constexpr number_range rows{.lowest = 1, .highest = std::numeric_limits<unsigned>::max()};
  if (typed == "all") return static_cast<unsigned>(rows.highest);
  try {
    return static_cast<unsigned>(parse_number(typed, rows));
  } catch (const usage_error& error) {
    throw usage_error(std::string(error.what()) + ", or all; or N:FORMULA for the units of --each");
  }
}

void set_top_units(unit_options& to, const std::string& typed, number_range allowed) {
  const std::size_t colon = std::min(typed.find(':'), typed.size());
  to.top = static_cast<unsigned>(parse_number(typed.substr(0, colon), allowed));
  to.top_by = parse_text(typed.substr(std::min(colon + 1, typed.size())), "give a formula after a colon: 10:entropy");
}

void set_unit(unit_options& to, const std::string& typed, number_range allowed) {
  using kind = unit_options::kind;
  constexpr std::array<std::string_view, 5> names = {"line", "record", "input", "window", "value"};
  constexpr std::array<kind, names.size()> kinds = {kind::line, kind::record, kind::input, kind::window, kind::value};
  const auto* const found = std::ranges::find(names, typed);
  to.part_bytes = 0;
  if (found != names.end()) {
    to.each = kinds.at(static_cast<std::size_t>(found - names.begin()));
    return;
  }
  try {
    to.part_bytes = parse_size(typed, allowed);
    to.each = kind::part;
  } catch (const usage_error&) {
    throw usage_error(quote(typed) + " is no unit; give line, record, input, window or a size of 1 byte to 1GiB");
  }
}

char parse_delimiter(const std::string& typed) {
  if (typed.size() == 1) return typed.front();
  constexpr std::string_view right = R"(; give one byte: a character, or \0, \n, \t, \r or \xNN)";
  constexpr std::size_t longest_escape = 4;
  if (!typed.starts_with('\\') || typed.size() > longest_escape)
    throw usage_error(quote(typed) + " is not one byte" + std::string(right));
  const scheme escaped = parse_custom_scheme("delimiter=" + typed);
  std::optional<char> found;
  for (std::size_t value = 0; value < escaped.bucket_of.size(); ++value) {
    if (escaped.buckets[escaped.bucket_of[value]] != "delimiter") continue;
    if (found) throw usage_error(quote(typed) + " is more than one byte" + std::string(right));
    found = static_cast<char>(value);
  }
  return found.value_or('\0');
}

void add_rules(unit_options& to, std::span<const std::string> typed) {
  for (std::string& each : parse_texts(typed, "give a condition such as 'digit > 0.5'")) {
    to.rules.push_back(std::move(each));
  }
}

// No condition begins with a name and one '=': that is "==".
named_condition parse_rule(std::string_view typed) {
  const std::size_t sign = typed.find('=');
  const std::string_view name = trimmed(typed.substr(0, std::min(sign, typed.size())));
  const std::string_view rest = typed.substr(std::min(sign, typed.size()));
  if (rest.empty() || rest.starts_with("==") || !is_name_of_rule(name)) {
    return {.name = std::string(trimmed(typed)), .condition = std::string(typed)};
  }
  return {.name = std::string(name), .condition = std::string(trimmed(rest.substr(1)))};
}

void add_presets(counting_options& to, const std::vector<std::string>& names) {
  unit_options& units = to.units ? *to.units : to.units.emplace();
  for (const std::string& name : names) {
    const preset* const found = find_preset(name);
    if (found == nullptr) refuse_preset(name);
    for (const std::string_view scheme : found->schemes) {  // of a preset that is given twice, once
      if (std::ranges::find(to.schemes, scheme) == to.schemes.end()) to.schemes.emplace_back(scheme);
    }
    for (const preset_rule& rule : found->rules) {
      units.rules.push_back(name + "." + std::string(rule.name) + "=" + std::string(rule.condition));
    }
    for (const preset_rule& step : found->rewriting) {
      units.rewrite.push_back(name + "." + std::string(step.name) + "=" + std::string(step.condition));
    }
  }
  if (units.without_field == missing_field::by_condition) units.without_field = missing_field::drop;
}

void set_baseline(counting_options& to, const std::string& typed, number_range allowed) {
  constexpr std::string_view prefix = "previous:";
  to.previous_windows = 0;
  to.baseline_file.clear();
  if (typed.starts_with(prefix)) {
    to.previous_windows = static_cast<unsigned>(parse_number(typed.substr(prefix.size()), allowed));
    return;
  }
  to.baseline_file = parse_text(typed, "give the path of a result, or previous:N");
}

void set_devices(counting_options& to, const std::string& typed) {
  to.devices.clear();
  to.all_devices = typed == "all";
  if (to.all_devices) return;
  for (const std::string& each : split_at_commas(typed)) {
    unsigned number = 0;
    try {
      number = static_cast<unsigned>(parse_number(each, device_numbers));
    } catch (const usage_error&) {
      throw usage_error(quote(each) +
                        " is not the number of a device; give all, or numbers separated by commas, as 0,1");
    }
    if (std::ranges::find(to.devices, number) != to.devices.end()) {
      throw usage_error("device " + std::to_string(number) + " occurs twice in " + quote(typed) +
                        "; give each number once");
    }
    to.devices.push_back(number);
  }
}

std::optional<std::string> parse_destination(const std::string& typed) {
  if (typed == "-") return std::nullopt;
  // "fd:" without a number is a mistake, not the name of a file
  constexpr std::string_view prefix = "fd:";
  if (!typed.starts_with(prefix)) return parse_text(typed, "give a path, or fd:N for a descriptor");
  int number = -1;
  const char* const end = typed.data() + typed.size();
  const auto [rest, error] = std::from_chars(typed.data() + prefix.size(), end, number);
  if (error != std::errc{} || rest != end || number < 0) {
    throw usage_error(quote(typed) + " names no descriptor; give fd:N with a number, or ./" + on_one_line(typed) +
                      " for a file");
  }
  return typed;
}

snapshot_interval parse_interval(const std::string& typed) {
  constexpr std::string_view good = "; good forms are 500ms, 1s, 5m, 64MiB";
  const std::size_t unit_at = typed.find_first_not_of("0123456789");
  if (!typed.empty() && unit_at == std::string::npos) {
    throw usage_error(quote(typed) + " has no unit (seconds or bytes)" + std::string(good));
  }
  const std::string unit = unit_at == std::string::npos ? "" : typed.substr(unit_at);
  try {
    if (unit == "ms" || unit == "s" || unit == "m" || unit == "h" || unit == "d") {
      const std::chrono::milliseconds time = parse_duration(typed);
      if (time.count() > 0) return time;
    } else {
      const std::uint64_t size = parse_size(typed);
      if (size > 0) return size;
    }
  } catch (const duration_too_long&) {
    throw;
  } catch (const usage_error&) {
    throw usage_error(quote(typed) + " is neither a duration nor a size" + std::string(good));
  }
  throw usage_error(typed + " is not an interval" + std::string(good));
}

window_extent parse_window(const std::string& typed) {
  using measure = window_options::measure;
  constexpr std::string_view good = "; good forms are 64MiB, 10s, 100000lines";
  if (typed == "auto") return {.unit = measure::milliseconds, .amount = 0};
  std::uint64_t number = 0;
  const char* const end = typed.data() + typed.size();
  const auto [rest, error] = std::from_chars(typed.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (error == std::errc{} && (unit == "lines" || unit == "line")) {
    if (number == 0) throw usage_error(typed + " is not a window" + std::string(good));
    return {.unit = measure::lines, .amount = number};
  }
  if (error == std::errc{} && unit.empty()) {
    throw usage_error(quote(typed) + " has no unit (bytes, seconds or lines)" + std::string(good));
  }
  try {
    const snapshot_interval interval = parse_interval(typed);
    if (const auto* size = std::get_if<std::uint64_t>(&interval)) return {.unit = measure::bytes, .amount = *size};
    const auto time = std::get<std::chrono::milliseconds>(interval);
    return {.unit = measure::milliseconds, .amount = static_cast<std::uint64_t>(time.count())};
  } catch (const duration_too_long&) {
    throw;
  } catch (const usage_error&) {
    throw usage_error(quote(typed) + " is neither a size, a duration nor a number of lines" + std::string(good));
  }
}

namespace {

void set_extent(window_options& windows, std::uint64_t& to, std::uint64_t other, window_extent value,
                std::string_view name_of_other) {
  if (other > 0 && windows.measured_in != value.unit) {
    throw usage_error("has another unit than " + std::string(name_of_other) + "; give both in bytes, lines or time");
  }
  windows.measured_in = value.unit;
  to = value.amount;
}

}  // namespace

bool writes_windows(const counting_options& of) {
  return of.windows && (!of.units || (of.units->event_time.empty() && !of.units->changes));
}

window_options& windows_in(counting_options& of) { return of.windows ? *of.windows : of.windows.emplace(); }

void set_window(counting_options& to, window_extent length) {
  window_options& windows = windows_in(to);
  set_extent(windows, windows.length, windows.step, length, "--step");
}

void set_step(counting_options& to, window_extent step) {
  window_options& windows = windows_in(to);
  set_extent(windows, windows.step, windows.length, step, "--window");
}

output_compression parse_compression(const std::string& typed) {
  using kind = output_compression::kind;
  constexpr std::string_view with_level = "zstd:";
  if (typed == "none") return {.type = kind::none};
  if (typed == "same") return {.type = kind::same};
  if (typed == "gzip") return {.type = kind::gzip};
  if (typed == "zstd") return {.type = kind::zstd};
  if (typed.starts_with(with_level)) {
    const std::uint64_t level = parse_number(typed.substr(with_level.size()), {.lowest = 1, .highest = 22});
    return {.type = kind::zstd, .level = static_cast<int>(level)};
  }
  throw usage_error("there is no " + quote(typed) + "; give none, same, gzip, zstd or zstd:LEVEL");
}

error_limit parse_error_limit(const std::string& typed) {
  error_limit made{.amount = 0, .is_percentage = typed.ends_with('%')};
  const char* const end = typed.data() + typed.size() - (made.is_percentage ? 1 : 0);
  const auto [stopped, error] = std::from_chars(typed.data(), end, made.amount);
  const bool is_whole = made.amount == std::floor(made.amount);
  const bool is_number = !typed.empty() && error == std::errc() && stopped == end && made.amount >= 0;
  if (!is_number || !(made.is_percentage ? made.amount <= 100 : is_whole && made.amount < 1e15)) {
    throw usage_error(quote(typed) +
                      " is not a number of inputs; give a number such as 100, or a percentage such as 0.1%");
  }
  return made;
}

double parse_share(const std::string& typed) {
  const std::string_view number = std::string_view(typed).substr(0, typed.size() - (typed.ends_with('%') ? 1 : 0));
  double made = 0;
  const auto [stopped, error] = std::from_chars(number.data(), number.data() + number.size(), made);
  if (number.empty() || error != std::errc() || stopped != number.data() + number.size() || made <= 0 || made >= 100) {
    throw usage_error(quote(typed) + " is no percentage above 0 and below 100; give one such as 0.5%");
  }
  return made;
}

std::chrono::milliseconds parse_age(const std::string& typed) {
  const snapshot_interval found = parse_interval(typed);
  if (const auto* const time = std::get_if<std::chrono::milliseconds>(&found)) return *time;
  throw usage_error(quote(typed) + " is not a time; give a time such as 10m");
}

shard_choice parse_shard(const std::string& typed) {
  if (typed == "auto") return {};
  constexpr unsigned most = 100'000;
  shard_choice made;
  const char* const end = typed.data() + typed.size();
  const auto first = std::from_chars(typed.data(), end, made.number);
  const bool has_slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = has_slash ? std::from_chars(first.ptr + 1, end, made.count) : first;
  const bool is_pair = has_slash && second.ec == std::errc() && second.ptr == end;
  if (!is_pair || made.number < 1 || made.number > made.count || made.count > most) {
    throw usage_error(quote(typed) + " is not a part; give I/N such as 3/8 (1 to N, N at most 100000), or auto");
  }
  return made;
}

std::string parse_switch(const std::string& typed) {
  constexpr std::array<std::string_view, 4> on = {"1", "true", "yes", "on"};
  constexpr std::array<std::string_view, 4> off = {"0", "false", "no", "off"};
  std::string lower = typed;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (std::find(on.begin(), on.end(), lower) != on.end()) return "true";
  if (std::find(off.begin(), off.end(), lower) != off.end()) return "false";
  throw usage_error(quote(typed) + " is neither on nor off; give 1, true, yes or on, or 0, false, no or off");
}

}  // namespace gpuhist::config
