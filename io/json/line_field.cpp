#include "io/json/line_field.hpp"

#include "io/failure.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace gpuhist::io {

static_assert(line_field::padding >= simdjson::SIMDJSON_PADDING);

namespace {

namespace dom = simdjson::dom;

constexpr std::string_view white_space = " \t\r\n";
constexpr std::string_view digits = "0123456789";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Digits in sequence.
std::size_t digits_at(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(digits, at), text.size()) - at;
}

// The code unit of \uXXXX at the beginning of a text; nothing: there is no such escape.
std::optional<unsigned> code_unit(std::string_view text) {
  constexpr std::size_t length = 6;
  constexpr int hexadecimal = 16;
  if (text.size() < length || !text.starts_with("\\u")) return std::nullopt;
  unsigned value = 0;
  const char* const end = text.data() + length;
  const auto parsed = std::from_chars(text.data() + 2, end, value, hexadecimal);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

bool is_high(unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; }

// The names of numbers that JSON does not have.
constexpr std::array<std::string_view, 2> not_numbers{"NaN", "Infinity"};

// A copy of a line that the parser accepts if the line is JSON: with 0 for each number, because it rejects numbers that
// no double can hold, and with another character for each escape of half a surrogate pair.
class rewritten_line {
 public:
  // Whether NaN and Infinity are numbers, too.
  enum class dialect { json, with_not_numbers };

  // `replacement`: an escape of six bytes.
  rewritten_line(std::string_view line, std::string_view replacement, dialect accepted = dialect::json)
      : line_(line), replacement_(replacement), accepted_(accepted) {
    made_.reserve(line.size() + line_field::padding);
    while (at_ < line_.size()) {
      line_[at_] == '"' ? copy_string() : copy_other();
    }
    made_.append(line_field::padding, ' ');
  }

  [[nodiscard]] line_field::input text() const {
    return {.line = std::string_view(made_).substr(0, made_.size() - line_field::padding), .readable = made_.size()};
  }

 private:
  void copy(std::size_t bytes) {
    made_ += line_.substr(at_, bytes);
    at_ += std::min(bytes, line_.size() - at_);
  }

  void copy_string() {
    copy(1);
    while (at_ < line_.size()) {
      copy(std::min(line_.find_first_of("\"\\", at_), line_.size()) - at_);
      if (at_ == line_.size()) return;
      if (line_[at_] == '"') return copy(1);
      copy_escape();
    }
  }

  void copy_escape() {
    constexpr std::size_t unit_length = 6;
    const std::optional<unsigned> unit = code_unit(line_.substr(at_));
    if (!unit) return copy(2);
    const std::optional<unsigned> next = code_unit(line_.substr(at_ + unit_length));
    if (is_high(*unit) && next && is_low(*next)) return copy(2 * unit_length);
    if (!is_high(*unit) && !is_low(*unit)) return copy(unit_length);
    made_ += replacement_;
    at_ += unit_length;
  }

  void copy_other() {
    const std::size_t end = std::min(line_.find_first_of("\"-0123456789NI", at_), line_.size());
    copy(end - at_);
    if (at_ == line_.size() || line_[at_] == '"') return;
    if (line_[at_] == 'N' || line_[at_] == 'I') return copy_word();
    const std::size_t length = std::min(line_.find_first_not_of("+-.0123456789Ee", at_), line_.size()) - at_;
    if (!is_json_number(line_.substr(at_, length))) return copy(length);
    made_ += '0';
    at_ += length;
  }

  void copy_word() {
    const std::string_view rest = line_.substr(at_);
    const auto* const found =
        std::ranges::find_if(not_numbers, [rest](std::string_view name) { return rest.starts_with(name); });
    if (accepted_ == dialect::json || found == not_numbers.end()) return copy(1);
    made_ += '0';
    at_ += found->size();
  }

  std::string_view line_;
  std::string_view replacement_;
  dialect accepted_;
  std::string made_;
  std::size_t at_ = 0;
};

field_fault fault_of(simdjson::error_code error) {
  switch (error) {
    case simdjson::MEMALLOC:
      throw std::bad_alloc();
    case simdjson::UTF8_ERROR:
      return field_fault::not_utf8;
    case simdjson::DEPTH_ERROR:
      return field_fault::too_deep;
    default:
      return field_fault::not_json;
  }
}

// The last value of this key in an object, or the element of an array; nothing: there is none.
std::optional<dom::element> enter(const dom::element& from, const json_step& step) {
  std::optional<dom::element> found;
  if (dom::object object; from.get_object().get(object) == simdjson::SUCCESS) {
    for (const dom::key_value_pair each : object) {
      if (each.key == step.key) found = each.value;
    }
  } else if (dom::array array; step.index && from.get_array().get(array) == simdjson::SUCCESS) {
    dom::element element;
    if (array.at(*step.index).get(element) == simdjson::SUCCESS) found = element;
  }
  return found;
}

line_field::outcome field_of(const dom::element& root, std::span<const json_step> path) {
  if (!root.is_object()) return {.fault = field_fault::not_object};
  std::optional<dom::element> found = root;
  for (const json_step& step : path) {
    found = enter(*found, step);
    if (!found) break;
  }
  if (!found) return {.fault = field_fault::missing};
  std::string_view value;
  if (found->get_string().get(value) != simdjson::SUCCESS) return {.fault = field_fault::not_string};
  return {.value = value};
}

}  // namespace

struct line_field::parser {
  dom::parser stages;
  dom::document document;
  std::string padded;    // a line that lacks padding
  std::string repaired;  // a value of a line that was rewritten
  std::size_t capacity = 0;

  // Room for a line. Grows by doubling: the lines of a text have all lengths.
  void reserve(std::size_t bytes) {
    if (bytes <= capacity) return;
    const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(bytes, 4096));
    capacity = 0;
    // the parser refuses as many levels as its depth
    if (stages.allocate(wanted, max_depth + 1) != simdjson::SUCCESS || document.allocate(wanted) != simdjson::SUCCESS) {
      throw std::bad_alloc();
    }
    capacity = wanted;
  }

  simdjson::error_code parse(const input& from, dom::element& root) {
    reserve(from.line.size());
    const char* text = from.line.data();
    if (from.readable < from.line.size() + padding) {
      padded.assign(from.line);
      padded.append(padding, ' ');
      text = padded.data();
    }
    return stages.parse_into_document(document, text, from.line.size(), false).get(root);
  }

  outcome find(const rewritten_line& line, std::span<const json_step> path) {
    dom::element root;
    const simdjson::error_code error = parse(line.text(), root);
    return error == simdjson::SUCCESS ? field_of(root, path) : outcome{.fault = fault_of(error)};
  }

  // What makes a line that is not JSON malformed.
  field_fault fault_in_malformed(std::string_view line) {
    const auto is_in_line = [line](std::string_view name) { return line.find(name) != std::string_view::npos; };
    if (std::ranges::none_of(not_numbers, is_in_line)) return field_fault::not_json;
    dom::element root;
    const rewritten_line made(line, "\\ufffd", rewritten_line::dialect::with_not_numbers);
    return parse(made.text(), root) == simdjson::SUCCESS ? field_fault::not_a_number : field_fault::not_json;
  }

  // If the line was rewritten in two ways, only values with half a surrogate pair differ.
  outcome find_rewritten(std::string_view line, std::span<const json_step> path) {
    const outcome first = find(rewritten_line(line, "\\ufffd"), path);
    if (first.fault != field_fault::none) return first;
    repaired.assign(first.value);
    const outcome second = find(rewritten_line(line, "\\ufffc"), path);
    const bool is_same = second.fault == field_fault::none && second.value == repaired;
    return is_same ? outcome{.value = repaired} : outcome{.fault = field_fault::lone_surrogate};
  }
};

line_field::line_field(std::string_view path, std::size_t max_bytes)
    : path_(parse_json_path(path)), max_bytes_(max_bytes), parser_(std::make_unique<parser>()) {}

line_field::~line_field() = default;
line_field::line_field(line_field&&) noexcept = default;
line_field& line_field::operator=(line_field&&) noexcept = default;

line_field::outcome line_field::read(const input& from) {
  outcome found = find(from);
  if (found.fault == field_fault::not_json) found.fault = parser_->fault_in_malformed(from.line);
  return found;
}

line_field::outcome line_field::find(const input& from) {
  if (from.line.size() > max_bytes_) return {.fault = field_fault::too_long};
  if (from.line.find_first_not_of(white_space) == std::string_view::npos) return {.fault = field_fault::blank};
  if (from.line.starts_with(byte_order_mark)) return {.fault = field_fault::byte_order_mark};
  dom::element root;
  const simdjson::error_code error = parser_->parse(from, root);
  if (error == simdjson::SUCCESS) return field_of(root, path_);
  // the cause may be a number that no double can hold, or half a surrogate pair in a string
  constexpr std::array repairable = {simdjson::NUMBER_ERROR, simdjson::STRING_ERROR};
  if (std::ranges::find(repairable, error) == repairable.end()) return {.fault = fault_of(error)};
  return parser_->find_rewritten(from.line, path_);
}

json_extent line_field::place(std::string_view line) const { return find_json_value(line, path_); }

void line_field::release() {
  if (parser_->capacity > kept_bytes) parser_ = std::make_unique<parser>();
}

bool is_json_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits_at(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits_at(text, at + 1);
    if (fraction == 0) return false;
    at += 1 + fraction;
  }
  if (at == text.size()) return true;
  if (text[at] != 'e' && text[at] != 'E') return false;
  ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  return at < text.size() && at + digits_at(text, at) == text.size();
}

std::string describe(field_fault fault, std::size_t max_bytes) {
  switch (fault) {
    case field_fault::none:
      break;
    case field_fault::blank:
      return "blank";
    case field_fault::not_utf8:
      return "not UTF-8";
    case field_fault::byte_order_mark:
      return "begins with a byte order mark";
    case field_fault::not_json:
      return "malformed JSON";
    case field_fault::not_a_number:
      return "malformed JSON: NaN or Infinity, which JSON does not have; write null";
    case field_fault::too_deep:
      return "nested deeper than " + std::to_string(line_field::max_depth);
    case field_fault::too_long:
      return "longer than " + size_text(max_bytes);
    case field_fault::not_object:
      return "not a JSON object";
    case field_fault::missing:
      return "no such field";
    case field_fault::not_string:
      return "the value is not a string";
    case field_fault::lone_surrogate:
      return "the value has half a surrogate pair";
  }
  return "";
}

}  // namespace gpuhist::io
