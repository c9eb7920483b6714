// Text for counters, its counts by an oracle, and what /proc shows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::testing {

inline std::string random_text(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < size; ++i) {
    bits = i % 4 == 0 ? static_cast<std::uint32_t>(random()) : bits >> 8U;
    text[i] = static_cast<char>(bits & 0xffU);
  }
  return text;
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The count of each of the 256 byte values.
inline std::vector<std::uint64_t> byte_counts(std::string_view text) {
  std::vector<std::uint64_t> counts(256);
  for (const char each : text) ++counts[static_cast<unsigned char>(each)];
  return counts;
}

/// The number of entries of a folder, such as /proc/self/task.
inline std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

}  // namespace gpuhist::testing
