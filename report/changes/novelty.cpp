#include "report/changes/novelty.hpp"

#include "report/changes/change_finder.hpp"
#include "report/changes/dispersion.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace gpuhist::report::changes {
namespace {

// Two other incidents do not make novelty usual.
constexpr std::size_t dropped_windows = 2;

}  // namespace

novelty::novelty(const log_stream& of) : stream_(of), sums_(1, 0.0) {
  for (const window_counts& window : of.windows) sums_.push_back(sums_.back() + static_cast<double>(window.lines));
  for (const kind_of_line& kind : of.kinds) {
    lives_.push_back(
        kind.windows.empty() ? life{} : life{.first = kind.windows.front().window, .last = kind.windows.back().window});
  }
}

double novelty::lines_of(std::size_t kind, std::size_t first, std::size_t end) const {
  const std::vector<kind_window>& windows = stream_.kinds[kind].windows;
  double sum = 0;
  for (auto at = std::ranges::lower_bound(windows, first, {}, &kind_window::window);
       at != windows.end() && at->window < end; ++at) {
    sum += static_cast<double>(at->lines);
  }
  return sum;
}

// Kinds that appear in the same window are one event, with the lines of the greatest of them. The windows at the
// beginning of a stream have new kinds in any case.
double novelty::nats_of_new(std::size_t kind, double lines, std::size_t first, std::size_t end) const {
  const std::size_t windows = stream_.windows.size();
  const std::size_t settled = std::max<std::size_t>(1, std::min(windows / 10, first / 2));
  std::vector<double> sizes(windows, 0.0);
  for (std::size_t other = 0; other < lives_.size(); ++other) {
    const std::size_t at = lives_[other].first;
    if (other == kind || at < settled || (at + 1 >= first && at < end)) continue;
    sizes[at] = std::max(sizes[at], lines_of(other, at, std::min(windows, at + (end - first))));
  }
  return nats(sizes, lines, first, end);
}

double novelty::nats_of_ended(std::size_t kind, double expected, std::size_t first) const {
  const std::size_t windows = stream_.windows.size();
  const std::size_t length = windows - first;
  const std::size_t settled = std::max<std::size_t>(1, std::min(windows / 10, length / 2));
  std::vector<double> sizes(windows, 0.0);
  for (std::size_t other = 0; other < lives_.size(); ++other) {
    const std::size_t at = lives_[other].last;
    if (other == kind || at + settled >= windows || (at + 2 >= first && at <= first)) continue;
    sizes[at] = std::max(sizes[at], lines_of(other, at + 1 - std::min(at + 1, length), at + 1));
  }
  return nats(sizes, expected, first, windows);
}

// The events are a compound Poisson process: the variance / mean of its lines is the mean square of the lines of an
// event / their mean.
double novelty::nats(std::vector<double>& sizes, double lines, std::size_t first, std::size_t end) const {
  std::ranges::sort(sizes, std::greater());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = dropped_windows; i < sizes.size(); ++i) {
    sum += sizes[i];
    squares += sizes[i] * sizes[i];
  }
  if (sum <= 0) return std::numeric_limits<double>::infinity();
  const double inside = all_lines(first, end);
  const count_sums::part here{.count = lines, .exposure = inside};
  const count_sums::part there{.count = sum, .exposure = sums_.back() - inside};
  if (there.exposure <= 0 || here.level() <= there.level()) return 0;
  return nats_of(log_likelihood_ratio(here, there, std::max(1.0, squares / sum)), static_cast<double>(sizes.size()));
}

}  // namespace gpuhist::report::changes
