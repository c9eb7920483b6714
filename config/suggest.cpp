// Slips of the finger: which of the known names was probably meant.
#include "config/suggest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace gpuhist::config {
namespace {

constexpr std::size_t farthest = 2;
constexpr std::size_t shortest_beginning = 3;

}  // namespace

std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> above(other.size() + 1);
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = above[j] + (one[i] == other[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, above[j + 1] + 1, row[j] + 1});
    }
    std::swap(above, row);
  }
  return above.back();
}

std::optional<std::string_view> nearest_name(std::string_view typed, std::span<const std::string_view> names) {
  std::optional<std::string_view> best;
  std::size_t best_distance = farthest + 1;
  for (const std::string_view name : names) {
    // the lengths alone say so: what was typed may be very long
    if (typed.size() > name.size() + farthest || name.size() > typed.size() + farthest) continue;
    const std::size_t distance = edit_distance(typed, name);
    const bool shares_something = distance < std::min(typed.size(), name.size());
    if (distance < best_distance && shares_something) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::optional<std::string_view> likely_name(std::string_view typed, std::span<const std::string_view> names) {
  if (const auto nearest = nearest_name(typed, names)) return nearest;
  if (typed.size() < shortest_beginning) return std::nullopt;
  std::optional<std::string_view> only;
  for (const std::string_view name : names) {
    if (!name.starts_with(typed)) continue;
    if (only) return std::nullopt;
    only = name;
  }
  return only;
}

}  // namespace gpuhist::config
