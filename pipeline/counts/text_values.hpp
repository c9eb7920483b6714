// Values that a program passes, such as those of a column of a table: texts of any bytes, each of which is a unit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::pipeline {

/// Nothing: it is absent.
using text_value = std::optional<std::string_view>;

[[nodiscard]] inline std::span<const std::byte> bytes_of(const text_value& value) {
  return value ? std::as_bytes(std::span(*value)) : std::span<const std::byte>();
}

/// Values whose text lies together.
struct adjacent_values {
  std::size_t number = 0;           ///< of values, at least 1
  std::span<const std::byte> text;  ///< of all of them
};

/// The first values whose text lies together: at most `most`, with at most `most_bytes`, but at least one. Values
/// without text lie anywhere. Precondition: there is a value.
[[nodiscard]] inline adjacent_values first_adjacent(std::span<const text_value> values, std::size_t most,
                                                    std::size_t most_bytes) {
  adjacent_values found{.number = 1, .text = bytes_of(values.front())};
  for (const text_value& each : values.first(std::min(values.size(), most)).subspan(1)) {
    const std::span<const std::byte> text = bytes_of(each);
    const bool continues = text.empty() || found.text.empty() || text.data() == found.text.data() + found.text.size();
    if (!continues || text.size() > most_bytes - std::min(most_bytes, found.text.size())) break;
    const std::byte* const begin = found.text.empty() ? text.data() : found.text.data();
    found.text = {begin, found.text.size() + text.size()};
    ++found.number;
  }
  return found;
}

}  // namespace gpuhist::pipeline
