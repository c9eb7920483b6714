// The place of a value in a JSON text: a key of its object, or a JSON Pointer (RFC 6901).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// One step into an object or array.
struct json_step {
  std::string key;
  std::optional<std::size_t> index{};  ///< if the key is one of an array

  bool operator==(const json_step&) const = default;
};

/// More steps are refused.
inline constexpr std::size_t max_json_steps = 256;

/// The steps to a value, at least one: those of a JSON Pointer, "/a/b", or a key in which dots have no meaning, "a.b".
/// A key that begins with '/' is written as a pointer: "/~1name". Throws std::invalid_argument with the error and the
/// remedy.
std::vector<json_step> parse_json_path(std::string_view typed);

}  // namespace gpuhist::io
