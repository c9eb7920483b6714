#include "report/lines/event_time_json.hpp"

#include "report/lines/event_time_text.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace gpuhist::report::lines {
namespace {

namespace ondemand = simdjson::ondemand;
using namespace time_text;

constexpr std::array<std::string_view, 6> known_keys{"timestamp", "@timestamp", "time", "ts", "t", "date"};
constexpr std::string_view white_space = " \t\r\n";

std::size_t after_white_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(white_space, at), text.size());
}

// A number by the digits it is written with: 0.digits times ten to the power of `point`.
struct decimal {
  static constexpr std::size_t max_digits = 40;  // enough for nanoseconds; further digits are cut

  std::array<char, max_digits> digits{};
  std::size_t size = 0;
  std::int64_t point = 0;
  bool is_negative = false;

  void add(char digit, bool is_whole) {
    if (size == 0 && digit == '0') {
      point -= is_whole ? 0 : 1;
      return;
    }
    if (size < max_digits) digits[size++] = digit;
    point += is_whole ? 1 : 0;
  }

  // The digit that counts ten to the power of `power`.
  [[nodiscard]] unsigned digit_at(std::int64_t power) const {
    const std::int64_t at = point - 1 - power;
    if (at < 0 || at >= static_cast<std::int64_t>(size)) return 0;
    return static_cast<unsigned>(digits[static_cast<std::size_t>(at)] - '0');
  }
};

std::size_t read_digits(std::string_view text, std::size_t at, decimal& made, bool is_whole) {
  for (; at < text.size() && is_digit(text[at]); ++at) made.add(text[at], is_whole);
  return at;
}

// Whether an exponent, or nothing, is all of `text`.
bool read_exponent(std::string_view text, decimal& made) {
  constexpr std::int64_t largest = 1000;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t exponent = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, exponent);
  if (parsed.ec != std::errc() || parsed.ptr != end) return false;
  made.point += std::clamp(exponent, -largest, largest);
  return true;
}

std::optional<decimal> decimal_of(std::string_view text) {
  decimal made;
  std::size_t at = text.starts_with('-') ? 1 : 0;
  made.is_negative = at == 1;
  const std::size_t whole = at;
  at = read_digits(text, at, made, true);
  if (at == whole) return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = at + 1;
    at = read_digits(text, fraction, made, false);
    if (at == fraction) return std::nullopt;
  }
  return read_exponent(text.substr(at), made) ? std::optional(made) : std::nullopt;
}

// The power of ten of the unit of such a number, in seconds.
std::int64_t unit_of(const decimal& number) {
  if (number.size == 0 || number.point <= 11) return 0;
  if (number.point <= 14) return 3;
  return number.point <= 17 ? 6 : 9;
}

std::optional<written_time> time_of_string(std::string_view value) {
  found_time found;
  return find_any_time(value, found) ? std::optional(found.time) : std::nullopt;
}

std::string_view without_white_space_after(std::string_view text) {
  return text.substr(0, text.find_last_not_of(white_space) + 1);
}

// The time of a value that the parser has reached.
template <typename element>
std::optional<written_time> time_of_value(element& value) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return std::nullopt;
  if (type == ondemand::json_type::string) {
    std::string_view text;
    return value.get_string().get(text) == simdjson::SUCCESS ? time_of_string(text) : std::nullopt;
  }
  if (type == ondemand::json_type::number) return time_of_number(without_white_space_after(value.raw_json_token()));
  return std::nullopt;
}

struct member {
  std::size_t key = known_keys.size();  // index in known_keys
  written_time time;
};

bool may_have_other_key(std::string_view line, std::size_t key) {
  return std::ranges::any_of(known_keys.begin(), known_keys.begin() + static_cast<std::ptrdiff_t>(key),
                             [line](std::string_view each) {
                               std::array<char, 16> quoted{'"'};
                               std::ranges::copy(each, quoted.begin() + 1);
                               quoted[each.size() + 1] = '"';
                               return memmem(line.data(), line.size(), quoted.data(), each.size() + 2) != nullptr;
                             });
}

// The time of the value that begins at `at`: a string without escapes, or a number that ends in the line.
std::optional<written_time> time_of_plain_value(std::string_view line, std::size_t at) {
  if (at == line.size()) return std::nullopt;
  if (line[at] == '"') {
    const std::size_t end = line.find_first_of("\"\\", at + 1);
    if (end == std::string_view::npos || line[end] != '"') return std::nullopt;
    return time_of_string(line.substr(at + 1, end - at - 1));
  }
  const std::size_t end = line.find_first_of(", \t\r\n}", at);
  return end == std::string_view::npos ? std::nullopt : time_of_number(line.substr(at, end - at));
}

// The first member of an object, if it has a known key and a time, and if no other one can precede it: a key that does
// must be in the line as it is written, in quotes.
std::optional<written_time> time_of_first_member(std::string_view line) {
  const std::size_t open = after_white_space(line, 0);
  const std::size_t quote = after_white_space(line, open + 1);
  if (quote >= line.size() || line[quote] != '"') return std::nullopt;
  const std::string_view rest = line.substr(quote + 1);
  const auto* const key = std::ranges::find_if(known_keys, [rest](std::string_view each) {
    return rest.size() > each.size() && rest[each.size()] == '"' && rest.starts_with(each);
  });
  if (key == known_keys.end()) return std::nullopt;
  const std::size_t colon = after_white_space(rest, key->size() + 1);
  if (colon == rest.size() || rest[colon] != ':') return std::nullopt;
  const std::optional<written_time> found = time_of_plain_value(rest, after_white_space(rest, colon + 1));
  return found && !may_have_other_key(rest, static_cast<std::size_t>(key - known_keys.begin())) ? found : std::nullopt;
}

}  // namespace

struct json_times::parser {
  ondemand::parser stages;
  std::string padded;

  // Whether a document begins.
  bool open(std::string_view line, ondemand::document& made) {
    if (line.size() > max_bytes) return false;
    padded.assign(line);
    padded.append(simdjson::SIMDJSON_PADDING, ' ');
    const simdjson::error_code error = stages.iterate(padded.data(), line.size(), padded.size()).get(made);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    return error == simdjson::SUCCESS;
  }

  std::optional<written_time> find_known(std::string_view line) {
    ondemand::document document;
    ondemand::object object;
    if (!open(line, document) || document.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
    member best;
    for (auto each : object) {
      ondemand::field field;
      if (std::move(each).get(field) != simdjson::SUCCESS) break;
      const auto* const key = std::ranges::find_if(
          known_keys, [&field](std::string_view name) { return field.key().unsafe_is_equal(name); });
      const auto index = static_cast<std::size_t>(key - known_keys.begin());
      if (index >= best.key) continue;
      if (const std::optional<written_time> found = time_of_value(field.value())) best = {.key = index, .time = *found};
      if (best.key == 0) break;
    }
    return best.key < known_keys.size() ? std::optional(best.time) : std::nullopt;
  }
};

json_times::json_times() : parser_(std::make_unique<parser>()) {}
json_times::~json_times() = default;
json_times::json_times(json_times&&) noexcept = default;
json_times& json_times::operator=(json_times&&) noexcept = default;

std::optional<written_time> json_times::find_known(std::string_view line) {
  const std::optional<written_time> first = time_of_first_member(line);
  return first ? first : parser_->find_known(line);
}

std::optional<written_time> time_of_json_value(std::string_view value) {
  const std::optional<written_time> found = time_of_string(value);
  return found ? found : time_of_number(value);
}

std::optional<written_time> time_of_number(std::string_view text) {
  constexpr std::int64_t nanosecond_power = -9;
  constexpr std::int64_t largest_power = 11;  // of seconds; larger numbers are implausible
  const std::optional<decimal> number = decimal_of(text);
  if (!number) return std::nullopt;
  written_time made;
  made.set_offset(0);
  const std::int64_t unit = unit_of(*number);
  for (std::int64_t power = largest_power; power >= 0; --power) {
    made.seconds = 10 * made.seconds + number->digit_at(power + unit);
  }
  for (std::int64_t power = -1; power >= nanosecond_power; --power) {
    made.nanoseconds = 10 * made.nanoseconds + number->digit_at(power + unit);
  }
  if (number->size > 0 && number->point - unit > largest_power)
    made.seconds = std::numeric_limits<std::int32_t>::max() * 1000LL;
  if (number->is_negative && number->size > 0) made.seconds = -1;
  return made;
}

bool looks_like_object(std::string_view line) {
  const std::size_t open = after_white_space(line, 0);
  if (open == line.size() || line[open] != '{') return false;
  const std::size_t next = after_white_space(line, open + 1);
  return next < line.size() && (line[next] == '"' || line[next] == '}');
}

}  // namespace gpuhist::report::lines
