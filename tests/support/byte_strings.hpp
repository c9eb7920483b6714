// Bytes as text, and text as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {

/// A view of `bytes`, which the caller keeps.
inline std::string_view characters(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string string_of(const std::vector<std::byte>& bytes) { return std::string(characters(bytes)); }

/// A view of the bytes of `text`, which the caller keeps.
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace gpuhist::test
