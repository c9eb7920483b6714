// Text for counters, its counts by an oracle, what /proc shows, and the errors that calls throw.
#pragma once

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
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

/// Nothing if the call does not throw gpuhist::error.
template <typename Call>
std::optional<errc> error_of(const Call& call) {
  try {
    call();
  } catch (const error& thrown) {
    return thrown.kind();
  }
  return std::nullopt;
}

/// Empty if the call does not throw gpuhist::error.
template <typename Call>
  requires std::invocable<Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const error& thrown) {
    return thrown.what();
  }
  return "";
}

inline std::string message_of(const file_options& options) {
  return message_of([&] { static_cast<void>(count_files(options)); });
}

/// Of options that no counter accepts.
inline std::string message_of(const counting_options& options) {
  const auto call = [&] { const counter counts(options); };
  CHECK(error_of(call) == errc::invalid_argument);
  return message_of(call);
}

}  // namespace gpuhist::testing
