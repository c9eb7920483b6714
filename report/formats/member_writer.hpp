// Writes the members of a JSON object as text, without making a value of it: a result may have millions of inputs, and
// each of them hundreds of counts.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::report {

/// The text of a value, in one line. Bytes that are not UTF-8 become U+FFFD.
std::string text_of(const nlohmann::ordered_json& value);

/// A number in its shortest form; a whole number has no fraction.
nlohmann::ordered_json json_number(double value);

/// Appends to a text, which it borrows. The text is the same as that of nlohmann::json.
class member_writer {
 public:
  /// Where the members are in their object.
  enum class position { first, later };

  member_writer(std::string& to, position from) : text_(to), needs_comma_(from == position::later) {}

  void add_text(std::string_view name, std::string_view value) {
    begin(name);
    quote(value);
  }
  void add_number(std::string_view name, std::uint64_t value);
  void add_number(std::string_view name, double value);
  void add_numbers(std::string_view name, std::span<const std::uint64_t> values);
  void add_flag(std::string_view name, bool value) { add_value(name, value ? "true" : "false"); }
  void add_json(std::string_view name, const nlohmann::ordered_json& value) { add_value(name, text_of(value)); }
  void add_json_text(std::string_view name, std::string_view value) { add_value(name, value); }

  /// Begins an object, whose members are those added until close().
  void open(std::string_view name) {
    add_value(name, "{");
    needs_comma_ = false;
  }
  void close() {
    text_ += '}';
    needs_comma_ = true;
  }

 private:
  void add_value(std::string_view name, std::string_view value) {
    begin(name);
    text_ += value;
  }
  void begin(std::string_view name);
  void quote(std::string_view text);

  std::string& text_;
  bool needs_comma_;
};

/// The text of an object whose members are added in sequence.
struct object_text {
  std::string text = "{";
  member_writer members{text, member_writer::position::first};

  object_text() = default;
  object_text(const object_text&) = delete;
  object_text& operator=(const object_text&) = delete;

  /// The object. No member is added afterwards.
  std::string take() { return std::move(text += '}'); }
};

}  // namespace gpuhist::report
