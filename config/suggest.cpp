#include "config/suggest.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace gpuhist::config {
namespace {

constexpr std::size_t farthest = 2;
constexpr std::size_t letters_per_edit = 3;
constexpr std::size_t shortest_beginning = 3;

// One edit for three letters of the mean length: two short words that share a few letters are different words.
std::size_t allowed_edits(std::string_view typed, std::string_view name) {
  return std::min(farthest, (typed.size() + name.size()) / (2 * letters_per_edit));
}

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_above(to.size() + 1);
  std::vector<std::size_t> above(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replacement = from[i] == to[j] ? 0 : i == 0 && j == 0 ? 2 : 1;
      row[j + 1] = std::min({above[j] + replacement, above[j + 1] + 1, row[j] + 1});
      const bool is_swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (is_swapped) row[j + 1] = std::min(row[j + 1], before_above[j - 1] + 1);
    }
    std::swap(before_above, above);
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
    if (distance < best_distance && distance <= allowed_edits(typed, name)) {
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

std::string no_such_name(std::string_view typed, std::span<const std::string_view> known) {
  std::string message = "there is no " + quote(typed) + "; known are ";
  for (const std::string_view each : known) message += (each == known.front() ? "" : ", ") + std::string(each);
  if (const auto meant = likely_name(typed, known)) message += "; did you mean " + std::string(*meant) + "?";
  return message;
}

}  // namespace gpuhist::config
