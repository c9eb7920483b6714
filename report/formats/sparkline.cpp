#include "report/formats/sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

constexpr std::array<std::string_view, 8> blocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                    "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::array<std::string_view, 10> digits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

// The lowest level means 0, the highest 1.
std::string_view level(double share, std::span<const std::string_view> levels) {
  const auto highest = static_cast<double>(levels.size() - 1);
  return levels[static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * highest))];
}

}  // namespace

std::string sparkline(std::span<const double> shares, std::size_t width, bool unicode) {
  if (shares.empty() || width == 0) return {};
  const std::span<const std::string_view> levels = unicode ? std::span<const std::string_view>(blocks) : digits;
  const std::size_t group = (shares.size() + width - 1) / width;
  std::string text;
  for (; !shares.empty(); shares = shares.subspan(std::min(group, shares.size()))) {
    const auto grouped_shares = shares.first(std::min(group, shares.size()));
    text += level(
        std::accumulate(grouped_shares.begin(), grouped_shares.end(), 0.0) / static_cast<double>(grouped_shares.size()),
        levels);
  }
  return text;
}

}  // namespace gpuhist::pipeline
