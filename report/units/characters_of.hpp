// Bytes of a text as characters.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace gpuhist::report::units {

inline std::string_view characters_of(std::span<const std::byte> text) {
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

}  // namespace gpuhist::report::units
