#include "config/option_values.hpp"

#include "config/custom_scheme.hpp"
#include "config/size.hpp"
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

constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 30U;
constexpr number_range device_numbers{.min = 0, .max = 1023};

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

unsigned parse_rows(const std::string& typed) {
  constexpr number_range rows{.min = 1, .max = std::numeric_limits<unsigned>::max()};
  if (typed == "all") return rows.max;
  try {
    return parse_number(typed, rows);
  } catch (const usage_error& error) {
    throw usage_error(std::string(error.what()) + ", or all; or N:FORMULA for the units of --each");
  }
}

}  // namespace

unsigned parse_number(const std::string& typed, number_range allowed) {
  unsigned number = 0;
  const char* const end = typed.data() + typed.size();
  const auto [rest, error] = std::from_chars(typed.data(), end, number);
  const std::string right = "; give " + std::to_string(allowed.min) + " to " + std::to_string(allowed.max);
  if (error == std::errc::invalid_argument || rest != end) {
    throw usage_error(quote(typed) + " is not a whole number" + right);
  }
  if (error != std::errc{} || number < allowed.min || number > allowed.max) {
    throw usage_error(typed + " is out of range" + right);
  }
  return number;
}

std::string parse_text(const std::string& typed, std::string_view right) {
  if (typed.empty()) throw usage_error("the value is empty; " + std::string(right));
  return typed;
}

std::uint64_t parse_chunk_size(const std::string& typed) {
  const std::uint64_t size = parse_size(typed);
  if (size == 0 || size > largest_chunk) throw usage_error(typed + " is out of range; give 1 byte to 1GiB");
  return size;
}

std::uint64_t parse_memory_limit(const std::string& typed) {
  if (typed == "none") return no_memory_limit;
  const std::uint64_t size = parse_size(typed);
  if (size == 0) throw usage_error(typed + " is not a valid limit; give a size such as 512MiB or 2GiB, or none");
  return size;
}

std::uint64_t parse_amount(const std::string& typed) {
  const std::uint64_t size = parse_size(typed);
  if (size == 0) throw usage_error(typed + " is not a valid limit; give a size such as 512MiB or 100GiB");
  return size;
}

void add_buckets(options& into, const std::string& typed) {
  if (typed.find('=') != std::string::npos) {
    into.run.counting.schemes.push_back(typed);
    return;
  }
  for (std::string& name : split_at_commas(typed)) {
    if (name.empty()) {
      throw usage_error("a name is missing in " + quote(typed) + "; give names separated by commas, as letters,bytes");
    }
    into.run.counting.schemes.push_back(std::move(name));
  }
}

void add_names(std::vector<std::string>& to, const std::string& typed) {
  for (std::string& name : split_at_commas(typed)) {
    if (name.empty()) throw usage_error("a name is missing in " + quote(typed) + "; give names separated by commas");
    to.push_back(std::move(name));
  }
}

void set_top(options& into, const std::string& typed) {
  constexpr number_range units{.min = 1, .max = 1'000'000};
  const std::size_t colon = typed.find(':');
  if (colon == std::string::npos) {
    into.top = parse_rows(typed);
    return;
  }
  into.top_units =
      unit_ranking{.number = parse_number(typed.substr(0, colon), units),
                   .by = parse_text(typed.substr(colon + 1), "give a formula after the colon: 10:entropy")};
}

unit_extent parse_unit(const std::string& typed) {
  using kind = unit_extent::kind;
  if (typed == "line") return {.type = kind::line};
  if (typed == "record") return {.type = kind::record};
  if (typed == "input") return {.type = kind::input};
  if (typed == "window") return {.type = kind::window};
  try {
    return {.type = kind::part, .bytes = parse_chunk_size(typed)};
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

baseline_source parse_baseline(const std::string& typed) {
  constexpr std::string_view prefix = "previous:";
  constexpr number_range windows{.min = 1, .max = 4096};
  if (typed.starts_with(prefix)) {
    return previous_windows{.number = parse_number(typed.substr(prefix.size()), windows)};
  }
  return parse_text(typed, "give the path of a result, or previous:N");
}

void set_devices(options& into, const std::string& typed) {
  into.run.counting.devices.clear();
  into.run.counting.all_devices = typed == "all";
  if (into.run.counting.all_devices) return;
  for (const std::string& each : split_at_commas(typed)) {
    unsigned number = 0;
    try {
      number = parse_number(each, device_numbers);
    } catch (const usage_error&) {
      throw usage_error(quote(each) +
                        " is not the number of a device; give all, or numbers separated by commas, as 0,1");
    }
    if (std::find(into.run.counting.devices.begin(), into.run.counting.devices.end(), number) !=
        into.run.counting.devices.end()) {
      throw usage_error("device " + std::to_string(number) + " occurs twice in " + quote(typed) +
                        "; give each number once");
    }
    into.run.counting.devices.push_back(number);
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
    if (unit == "ms" || unit == "s" || unit == "m" || unit == "h") {
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
  using measure = window_extent::measure;
  constexpr std::string_view good = "; good forms are 64MiB, 10s, 100000lines";
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

pass_through_options::content parse_pass_through(const std::string& typed) {
  if (typed == "raw" || typed == "true") return pass_through_options::content::input;
  if (typed == "text") return pass_through_options::content::text;
  throw usage_error("there is no " + quote(typed) + "; give raw or text");
}

output_compression parse_compression(const std::string& typed) {
  using kind = output_compression::kind;
  constexpr std::string_view with_level = "zstd:";
  if (typed == "none") return {.type = kind::none};
  if (typed == "same") return {.type = kind::same};
  if (typed == "gzip") return {.type = kind::gzip};
  if (typed == "zstd") return {.type = kind::zstd};
  if (typed.starts_with(with_level)) {
    const unsigned level = parse_number(typed.substr(with_level.size()), {.min = 1, .max = 22});
    return {.type = kind::zstd, .level = static_cast<int>(level)};
  }
  throw usage_error("there is no " + quote(typed) + "; give none, same, gzip, zstd or zstd:LEVEL");
}

device_decoding parse_device_decoding(const std::string& typed) {
  if (typed == "auto") return device_decoding::automatic;
  if (typed == "on") return device_decoding::on;
  if (typed == "off") return device_decoding::off;
  throw usage_error("there is no " + quote(typed) + "; give auto, on or off");
}

std::uint64_t parse_device_memory(const std::string& typed) {
  constexpr std::uint64_t min_size = std::uint64_t{64} << 20U;
  const std::uint64_t size = parse_size(typed);
  if (size < min_size) throw usage_error(typed + " is too small; give 64MiB or more");
  return size;
}

void set_on_error(options& into, const std::string& typed) {
  if (typed != "continue" && typed != "stop")
    throw usage_error(quote(typed) + " is not an action; give continue or stop");
  into.stops_on_error = typed == "stop";
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

std::chrono::milliseconds parse_age(const std::string& typed) {
  const snapshot_interval found = parse_interval(typed);
  if (const auto* const time = std::get_if<std::chrono::milliseconds>(&found)) return *time;
  throw usage_error(quote(typed) + " is not a time; give a time such as 10m");
}

fingerprint_kind parse_fingerprint(const std::string& typed) {
  if (typed == "ends") return fingerprint_kind::ends;
  if (typed == "full") return fingerprint_kind::full;
  throw usage_error("give ends or full");
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
