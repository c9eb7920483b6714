#include "config/size.hpp"

#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>

namespace gpuhist::config {
namespace {

constexpr std::uint64_t largest_size = std::uint64_t{1} << 63U;

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

// In lower case: the case of a unit has no meaning.
constexpr std::array size_units = {
    unit{"", 1},
    unit{"b", 1},
    unit{"k", 1ULL << 10U},
    unit{"kib", 1ULL << 10U},
    unit{"kb", 1'000},
    unit{"m", 1ULL << 20U},
    unit{"mib", 1ULL << 20U},
    unit{"mb", 1'000'000},
    unit{"g", 1ULL << 30U},
    unit{"gib", 1ULL << 30U},
    unit{"gb", 1'000'000'000},
    unit{"t", 1ULL << 40U},
    unit{"tib", 1ULL << 40U},
    unit{"tb", 1'000'000'000'000},
};

constexpr std::array duration_units = {unit{"ms", 1}, unit{"s", 1'000}, unit{"m", 60'000}, unit{"h", 3'600'000},
                                       unit{"d", 86'400'000}};

enum class verdict { good, malformed, too_large };

struct amount {
  verdict result = verdict::malformed;
  std::uint64_t value = 0;
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

template <std::size_t Units>
amount parse_amount(std::string_view text, const std::array<unit, Units>& units, std::uint64_t largest) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::invalid_argument) return {};
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  for (const unit& each : units) {
    if (each.name != suffix) continue;
    if (error == std::errc::result_out_of_range || number > largest / each.factor) return {verdict::too_large, 0};
    return {verdict::good, number * each.factor};
  }
  return {};
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  const amount parsed = parse_amount(lower_case(text), size_units, largest_size);
  if (parsed.result == verdict::good) return parsed.value;
  const std::string error = parsed.result == verdict::too_large ? " is more than 2^63 bytes" : " is not a size";
  throw usage_error(quote(text) + error + "; good forms are 65536, 64K (= 64KiB), 16MiB, 1GB");
}

std::uint64_t parse_size(std::string_view text, number_range allowed) {
  const std::uint64_t size = parse_size(text);
  if (allowed.has(size)) return size;
  const auto shown = [](std::uint64_t bytes) {
    std::string made = format_size(bytes);
    if (bytes >= 1024) std::erase(made, ' ');
    return made;
  };
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  throw usage_error(std::string(text) + " is out of range; give " + shown(allowed.lowest) +
                    (allowed.highest == none ? " or more" : " to " + shown(allowed.highest)));
}

std::chrono::milliseconds parse_duration(std::string_view text) {
  using representation = std::chrono::milliseconds::rep;
  const amount parsed = parse_amount(text, duration_units, std::chrono::milliseconds(longest_duration).count());
  if (parsed.result == verdict::good) return std::chrono::milliseconds(static_cast<representation>(parsed.value));
  if (parsed.result == verdict::too_large) {
    throw duration_too_long(quote(text) + " is longer than the longest duration, " +
                            std::to_string(longest_duration.count()) + "h (100 years)");
  }
  throw usage_error(quote(text) + " is not a duration; good forms are 500ms, 10s, 5m, 1h");
}

std::string format_size(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  constexpr std::array<std::string_view, 6> names = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes) / 1024;
  // a value that rounds to 1024 is shown as 1 of the next unit
  while (value >= 1023.95 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  const auto tenths = static_cast<std::uint64_t>(std::llround(value * 10));
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text.append(" ").append(names[unit]);
}

}  // namespace gpuhist::config
