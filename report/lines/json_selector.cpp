// json:KEY reads the value of a key of the JSON object in the line; json:/a/b reads the value at a JSON Pointer
// (RFC 6901). simdjson parses the line.
//
// Value: of a string, its text in UTF-8; of a number, the number as written; true, false, null; of an object or array,
// its JSON text as written. Of keys of the same name, the last one counts, as in io::line_field.
//
// A line has no value if it is not UTF-8, if a string is open or has control characters, if the value or an object or
// array that contains it is malformed, or if text follows the JSON. All other values of the line are skipped and
// not checked. A string with half a surrogate pair has no value.

#include "config/text.hpp"
#include "io/json/json_path.hpp"
#include "io/json/line_field.hpp"
#include "report/lines/selector_kinds.hpp"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report::lines {
namespace {

namespace ondemand = simdjson::ondemand;
using io::json_step;
using simdjson::error_code;

constexpr std::string_view json_white_space = " \t\r\n";
// Each step of a pointer is a call of its own.
static_assert(io::max_json_steps <= 256);
constexpr std::size_t kept_bytes = std::size_t{256} << 10U;  // of a line, for which the parser keeps its memory

std::string_view trimmed(std::string_view text) { return text.substr(0, text.find_last_not_of(json_white_space) + 1); }

enum class key_comparison : std::uint8_t { equal, different, needs_unescaping };

// Compares a key as written in the line, which ends at a quote.
key_comparison compare_raw_key(const char* raw, std::string_view key) {
  for (const char expected : key) {
    if (*raw == '\\') return key_comparison::needs_unescaping;
    if (*raw == '"' || *raw != expected) return key_comparison::different;
    ++raw;
  }
  return *raw == '"' ? key_comparison::equal : key_comparison::different;
}

class json_selector final : public line_selector {
 public:
  explicit json_selector(std::vector<json_step> steps)
      : steps_(std::move(steps)), parser_(std::make_unique<ondemand::parser>()) {}

  std::optional<std::string_view> read(std::string_view line) override {
    reserve(line.size());
    padded_.assign(line);
    padded_.append(simdjson::SIMDJSON_PADDING, ' ');
    found_.reset();
    const error_code error = search(line.size());
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    return error == simdjson::SUCCESS ? found_ : std::nullopt;
  }

 private:
  // Room for a line. Grows by doubling, because the lines of a text have all lengths.
  void reserve(std::size_t bytes) {
    if (capacity_ > kept_bytes && bytes <= kept_bytes) {
      parser_ = std::make_unique<ondemand::parser>();
      std::string().swap(padded_);
      capacity_ = 0;
    }
    if (bytes <= capacity_) return;
    const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(bytes, 4096));
    capacity_ = 0;
    if (parser_->allocate(wanted) != simdjson::SUCCESS) throw std::bad_alloc();
    capacity_ = wanted;
  }

  error_code search(std::size_t bytes) {
    ondemand::document document;
    ondemand::value root;
    if (const error_code error = parser_->iterate(padded_.data(), bytes, padded_.size()).get(document)) return error;
    if (const error_code error = document.get_value().get(root)) return error;
    if (const error_code error = enter(root, 0)) return error;
    const bool is_at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return is_at_end ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
  }

  // Sets found_ if the rest of the pointer leads to a value from here; or else resets it, because a later key of the
  // same name replaces an earlier one.
  error_code enter(ondemand::value& value, std::size_t depth) {
    found_.reset();
    ondemand::json_type type{};
    if (const error_code error = value.type().get(type)) return error;
    if (depth == steps_.size()) return take(value, type);
    if (type == ondemand::json_type::object) return enter_object(value, depth);
    if (type == ondemand::json_type::array) return enter_array(value, depth);
    return simdjson::SUCCESS;
  }

  error_code enter_object(ondemand::value& value, std::size_t depth) {
    ondemand::object object;
    if (const error_code error = value.get_object().get(object)) return error;
    for (simdjson::simdjson_result<ondemand::field> each : object) {
      ondemand::field field;
      if (const error_code error = std::move(each).get(field)) return error;
      bool is_same = false;
      if (const error_code error = has_key(field, steps_[depth].key).get(is_same)) return error;
      if (!is_same) continue;
      if (const error_code error = enter(field.value(), depth + 1)) return error;
    }
    return simdjson::SUCCESS;
  }

  // Walks through the elements after the one that it enters, too, to find the end of the line.
  error_code enter_array(ondemand::value& value, std::size_t depth) {
    ondemand::array array;
    if (const error_code error = value.get_array().get(array)) return error;
    std::size_t index = 0;
    for (simdjson::simdjson_result<ondemand::value> each : array) {
      ondemand::value element;
      if (const error_code error = std::move(each).get(element)) return error;
      if (index++ != steps_[depth].index) continue;
      if (const error_code error = enter(element, depth + 1)) return error;
    }
    return simdjson::SUCCESS;
  }

  static simdjson::simdjson_result<bool> has_key(ondemand::field& field, std::string_view key) {
    const key_comparison compared = compare_raw_key(field.key().raw(), key);
    if (compared != key_comparison::needs_unescaping) return compared == key_comparison::equal;
    std::string_view unescaped;
    if (const error_code error = field.unescaped_key().get(unescaped)) return error;
    return unescaped == key;
  }

  error_code take(ondemand::value& value, ondemand::json_type type) {
    std::string_view text;
    error_code error = simdjson::SUCCESS;
    switch (type) {
      case ondemand::json_type::string:
        error = value.get_string().get(text);
        break;
      case ondemand::json_type::number:
        text = trimmed(value.raw_json_token());
        if (!io::is_json_number(text)) error = simdjson::NUMBER_ERROR;
        break;
      case ondemand::json_type::object:
        error = raw_text<ondemand::object>(value.get_object(), text);
        break;
      case ondemand::json_type::array:
        error = raw_text<ondemand::array>(value.get_array(), text);
        break;
      default:
        text = trimmed(value.raw_json_token());
        if (text != "true" && text != "false" && text != "null") error = simdjson::TAPE_ERROR;
    }
    if (error == simdjson::SUCCESS) found_ = text;
    return error;
  }

  template <class Container>
  static error_code raw_text(simdjson::simdjson_result<Container> from, std::string_view& text) {
    Container container;
    if (const error_code error = std::move(from).get(container)) return error;
    if (const error_code error = container.raw_json().get(text)) return error;
    text = trimmed(text);
    return simdjson::SUCCESS;
  }

  std::vector<json_step> steps_;
  std::unique_ptr<ondemand::parser> parser_;
  std::string padded_;  // the line
  std::size_t capacity_ = 0;
  std::optional<std::string_view> found_;
};

std::vector<json_step> parse_steps(const typed_selector& typed) {
  if (!config::is_utf8(typed.argument)) refuse(typed, "the key is not UTF-8, as keys of JSON are; write it in UTF-8");
  try {
    return io::parse_json_path(typed.argument);
  } catch (const std::invalid_argument& error) {
    refuse(typed, error.what());
  }
}

}  // namespace

reader_factory parse_json_selector(const typed_selector& typed) {
  return [steps = parse_steps(typed)] { return std::make_unique<json_selector>(steps); };
}

}  // namespace gpuhist::report::lines
