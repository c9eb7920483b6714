#include "report/lines/selector.hpp"

#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "report/lines/selector_kinds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <vector>

namespace gpuhist::report::lines {
namespace {

constexpr std::array<selector_kind, 10> kinds = {{
    {.name = "field",
     .argument = "N",
     .example = "field:3",
     .description = "the N-th field, from 1, or from the end with -1; separated by runs of blanks and tabs",
     .parse = parse_field_selector},
    {.name = "csv",
     .argument = "N or NAME",
     .example = "csv:status",
     .description = "a column of CSV, without its quotes: the N-th, from 1, or by its name in the first line",
     .parse = parse_csv_selector},
    {.name = "json",
     .argument = "KEY or /POINTER",
     .example = "json:/request/path",
     .description = "the value of a key of the JSON object, or at a JSON Pointer",
     .parse = parse_json_selector},
    {.name = "regex",
     .argument = "EXPRESSION",
     .example = "regex:user=(\\w+)",
     .description = "the first group of the first match of a regular expression of RE2; without group, the match",
     .parse = parse_regex_selector},
    {.name = "template",
     .argument = {},
     .example = "template",
     .description = "the line with its numbers, times, addresses, paths and quoted texts replaced",
     .parse = parse_template_selector},
    {.name = "kind",
     .argument = {},
     .example = "kind",
     .description = "the template, with levels, messages and the status of HTTP as they are",
     .parse = parse_kind_selector},
    {.name = "host",
     .argument = {},
     .example = "host",
     .description = "the client of a line in Common Log Format, or the host of a line of syslog",
     .parse = parse_host_selector},
    {.name = "app",
     .argument = {},
     .example = "app",
     .description = "the program of a line of syslog",
     .parse = parse_app_selector},
    {.name = "status",
     .argument = {},
     .example = "status",
     .description = "the status of HTTP of a line in Common Log Format",
     .parse = parse_status_selector},
    {.name = "level",
     .argument = {},
     .example = "level",
     .description = "the level of the message, such as ERROR, in upper case",
     .parse = parse_level_selector},
}};

// "field:N, csv:N, template"
std::string known_kinds() {
  std::string list;
  for (const selector_kind& each : kinds) {
    list += list.empty() ? "" : ", ";
    list += each.name;
    if (!each.argument.empty()) list += ":" + std::string(each.argument);
  }
  return list;
}

[[noreturn]] void refuse_kind(std::string_view typed, std::string_view kind) {
  std::vector<std::string_view> names;
  for (const selector_kind& each : kinds) names.push_back(each.name);
  std::string message = "selector " + config::quote(typed) + ": ";
  message += kind.empty() ? "the kind is missing" : "there is no kind " + config::quote(kind);
  message += "; known are " + known_kinds();
  if (const auto meant = config::likely_name(kind, names)) message += "; did you mean " + std::string(*meant) + "?";
  throw config::usage_error(message);
}

reader_factory parse_selector(std::string_view text, std::optional<char> field_separator) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* const kind = std::ranges::find(kinds, name, &selector_kind::name);
  if (kind == kinds.end()) refuse_kind(text, name);
  const bool has_argument = colon != std::string_view::npos;
  const typed_selector typed{.text = text,
                             .argument = has_argument ? text.substr(colon + 1) : std::string_view(),
                             .field_separator = field_separator};
  if (kind->argument.empty() && has_argument) {
    refuse(typed, "the kind has no argument; write " + std::string(kind->example));
  }
  if (!kind->argument.empty() && typed.argument.empty()) {
    refuse(typed, "the argument " + std::string(kind->argument) + " is missing; write, for example, " +
                      std::string(kind->example));
  }
  return kind->parse(typed);
}

bool is_digit_or_point(char byte) { return (byte >= '0' && byte <= '9') || byte == '.'; }

// Whether a decimal number that no double can hold is below 1: the order of its first digit that is not 0 decides.
bool is_below_one(std::string_view number) {
  const std::size_t mantissa_end = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, mantissa_end);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  const double order = static_cast<double>(point) - static_cast<double>(first);
  if (mantissa_end == number.size()) return order <= 0;
  std::string_view exponent = number.substr(mantissa_end + 1);
  const bool is_negative = exponent.starts_with('-');
  if (is_negative || exponent.starts_with('+')) exponent.remove_prefix(1);
  double value = 0;
  for (const char digit : exponent) value = value * 10 + (digit - '0');
  return order + (is_negative ? -value : value) <= 0;
}

}  // namespace

selector::selector(std::string_view typed, std::optional<char> field_separator)
    : text_(typed),
      make_reader_(parse_selector(text_, field_separator)),
      reads_header_(make_reader_()->reads_header()) {}

std::span<const selector_kind> selector_kinds() { return kinds; }

std::optional<double> number_in(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
  const bool is_negative = text.front() == '-';
  if (is_negative || text.front() == '+') text.remove_prefix(1);
  // std::from_chars also accepts names, such as inf, and a minus sign
  if (text.empty() || !is_digit_or_point(text.front())) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range || !std::isfinite(value)) {
    if (!is_below_one(text)) return std::nullopt;
    value = 0;
  }
  return is_negative ? -value : value;
}

void refuse(const typed_selector& typed, const std::string& error) {
  throw config::usage_error("selector " + config::quote(typed.text) + ": " + error);
}

std::optional<int> integer_argument(const typed_selector& typed) {
  constexpr std::size_t most_digits = 9;
  const std::string_view digits = typed.argument.substr(typed.argument.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.size() > most_digits) return std::nullopt;
  int value = 0;
  const char* const end = typed.argument.data() + typed.argument.size();
  const auto parsed = std::from_chars(typed.argument.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

}  // namespace gpuhist::report::lines
