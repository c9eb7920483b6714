#include "report/formats/member_writer.hpp"

#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace gpuhist::report {
namespace {

using json = nlohmann::ordered_json;

constexpr bool is_printable(char each) { return each >= ' ' && each < '\x7f'; }
constexpr bool is_escaped(char each) { return each == '"' || each == '\\'; }

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char each) { return is_printable(each) && !is_escaped(each); });
}

}  // namespace

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json json_number(double value) {
  constexpr double exact_below = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < exact_below) return static_cast<std::int64_t>(value);
  return value;
}

// Most names are short and plain: they are appended in one step.
void member_writer::begin(std::string_view name) {
  std::array<char, 64> member{};
  const std::string_view comma = needs_comma_ ? "," : "";
  needs_comma_ = true;
  if (name.size() + 4 > member.size() || !is_plain(name)) {
    text_ += comma;
    quote(name);
    text_ += ':';
    return;
  }
  char* end = std::ranges::copy(comma, member.data()).out;
  *end++ = '"';
  end = std::ranges::copy(name, end).out;
  *end++ = '"';
  *end++ = ':';
  text_.append(member.data(), end);
}

void member_writer::quote(std::string_view text) {
  if (!std::ranges::all_of(text, is_printable)) {
    text_ += text_of(json(std::string(text)));
    return;
  }
  text_ += '"';
  for (const char each : text) {
    if (is_escaped(each)) text_ += '\\';
    text_ += each;
  }
  text_ += '"';
}

void member_writer::add_number(std::string_view name, std::uint64_t value) {
  begin(name);
  append_number(text_, value);
}

void member_writer::add_number(std::string_view name, double value) {
  const json number = json_number(value);
  if (!number.is_number_integer() || value < 0) return add_json(name, number);
  add_number(name, static_cast<std::uint64_t>(value));
}

void member_writer::add_numbers(std::string_view name, std::span<const std::uint64_t> values) {
  begin(name);
  char separator = '[';
  for (const std::uint64_t each : values) {
    text_ += separator;
    append_number(text_, each);
    separator = ',';
  }
  text_ += values.empty() ? "[]" : "]";
}

}  // namespace gpuhist::report
