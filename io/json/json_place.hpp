// Where a value is in a JSON text, and a string to write there: for changing the text there and nowhere else.
// (simdjson's tree has no places.)
#pragma once

#include "io/json/json_path.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::io {

/// Bytes of a JSON text; of a string with its quotes.
struct json_extent {
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

/// The value at a path; of members of the same name, that of the last one. Precondition: the text is JSON, and has this
/// value.
json_extent find_json_value(std::string_view text, std::span<const json_step> path);

/// Appends a string with its quotes. Only what must be is an escape. Precondition: UTF-8.
void append_json_string(std::string_view value, std::string& to);

}  // namespace gpuhist::io
