// One field of the JSON objects in the lines of a text (JSONL): the decoded value of a string. simdjson parses the
// line.
#pragma once

#include "io/json/json_path.hpp"
#include "io/json/json_place.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// Why a line has no value of the field.
enum class field_fault : std::uint8_t {
  none,             ///< it has one
  blank,            ///< only white space of JSON: space, \t, \r, \n
  not_utf8,         ///< bytes of the line
  byte_order_mark,  ///< at its beginning
  not_json,
  not_a_number,  ///< NaN or Infinity, as Python's json and DuckDB write them; the line is JSON otherwise
  too_deep,      ///< more than line_field::max_depth
  too_long,      ///< more bytes than the limit
  not_object,
  missing,  ///< there is no such field
  not_string,
  lone_surrogate,  ///< the value has an escape of half a surrogate pair
};

/// Reads the field of one line after the other. One thread at a time; keeps its buffers. Memory: up to 16 times the
/// bytes of the longest line, until release().
class line_field {
 public:
  /// Objects and arrays in each other, including the object of the line.
  static constexpr std::size_t max_depth = 1024;

  /// A line. `readable`: bytes from its beginning on that may be read, at least those of the line; the line is copied
  /// if they are fewer than its bytes and `padding`.
  struct input {
    std::string_view line;  ///< with or without its line end
    std::size_t readable = 0;
  };
  static constexpr std::size_t padding = 64;

  struct outcome {
    std::string_view value{};  ///< UTF-8; valid until the next call
    field_fault fault = field_fault::none;
  };

  /// `path`: of the field, in UTF-8, as parse_json_path() takes it: the name of a field of the object of the line, or a
  /// JSON Pointer. `max_bytes`: of a line, below 4 GiB. Throws std::invalid_argument.
  line_field(std::string_view path, std::size_t max_bytes);
  ~line_field();
  line_field(line_field&&) noexcept;
  line_field& operator=(line_field&&) noexcept;

  [[nodiscard]] std::size_t max_bytes() const { return max_bytes_; }

  /// The value of the field; of fields of the same name, that of the last one. Other fields may have any value of JSON
  /// (RFC 8259), also numbers that no double can hold. Throws std::bad_alloc.
  [[nodiscard]] outcome read(const input& from);

  /// Where the string of the field is in the line, with its quotes. Precondition: read() finds a value.
  [[nodiscard]] json_extent place(std::string_view line) const;

  /// Frees the memory that a line of more than kept_bytes needed.
  void release();
  static constexpr std::size_t kept_bytes = std::size_t{256} << 10U;

 private:
  struct parser;

  outcome find(const input& from);

  std::vector<json_step> path_;
  std::size_t max_bytes_;
  std::unique_ptr<parser> parser_;
};

/// Whether a text is a number by the grammar of JSON.
bool is_json_number(std::string_view text);

/// The cause, as messages state it: "malformed JSON"; of `too_long`, "longer than 16 MiB". Not of `none`.
std::string describe(field_fault fault, std::size_t max_bytes);

}  // namespace gpuhist::io
