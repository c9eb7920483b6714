// Sizes and durations as text.
#pragma once

#include "config/usage_error.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// The numbers or sizes that an option accepts, both ends included.
struct number_range {
  std::uint64_t lowest = 1;
  std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] constexpr bool has(std::uint64_t value) const { return value >= lowest && value <= highest; }
};

/// A memory limit that nothing reaches: --memory-limit none.
inline constexpr std::uint64_t no_memory_limit = std::uint64_t{1} << 62U;

/// "65536", "64K" = "64KiB", "16MiB", "1GB" (decimal), in any case. Throws usage_error that shows the good forms;
/// also for a size above 2^63.
std::uint64_t parse_size(std::string_view text);

/// The same; also throws for a size that is not in the range.
std::uint64_t parse_size(std::string_view text, number_range allowed);

/// 100 years. Clocks count nanoseconds in 63 bits, which is 292 years, so they cannot overflow.
inline constexpr std::chrono::hours longest_duration{876'000};

/// The duration exceeds longest_duration.
struct duration_too_long : usage_error {
  using usage_error::usage_error;
};

/// "500ms", "10s", "5m", "1h", up to longest_duration. Throws duration_too_long, and usage_error that shows the good
/// forms.
std::chrono::milliseconds parse_duration(std::string_view text);

/// "4 MiB", "1.5 GiB", "17 bytes": for people.
std::string format_size(std::uint64_t bytes);

}  // namespace gpuhist::config
