#include "config/suggest.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace gpuhist::config {
namespace {

constexpr std::size_t farthest = 2;
constexpr std::size_t shortest_beginning = 3;

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> above(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = above[j] + (from[i] == to[j] ? 0 : 1);
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
    // too different in length; this also bounds the time for very long input
    if (typed.size() > name.size() + farthest || name.size() > typed.size() + farthest) continue;
    const std::size_t distance = edit_distance(typed, name);
    const bool has_common_letter = distance < std::min(typed.size(), name.size());
    if (distance < best_distance && has_common_letter) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::optional<std::string_view> likely_name(std::string_view typed, std::span<const std::string_view> names) {
  if (typed.size() < shortest_beginning) return nearest_name(typed, names);
  std::vector<std::string_view> longer;
  std::ranges::copy_if(names, std::back_inserter(longer),
                       [&](std::string_view name) { return name.starts_with(typed); });
  if (longer.empty()) return nearest_name(typed, names);
  const std::string_view shortest = *std::ranges::min_element(longer, {}, &std::string_view::size);
  const bool begins_all =
      std::ranges::all_of(longer, [&](std::string_view name) { return name.starts_with(shortest); });
  return begins_all ? shortest : nearest_name(typed, names);
}

}  // namespace gpuhist::config
