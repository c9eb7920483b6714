// Byte vectors as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {

/// A view of `bytes`, which the caller keeps.
inline std::string_view characters(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string string_of(const std::vector<std::byte>& bytes) { return std::string(characters(bytes)); }

}  // namespace gpuhist::test
