#include "report/changes/dispersion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gpuhist::report::changes {
namespace {

// Mean of the middle half of squared normal deviates.
constexpr double middle_of_chi_squared = 0.5361;

// Differences that a mean of all but the greatest needs.
constexpr std::size_t least_for_mean = 12;

// One term of a negative binomial log-likelihood ratio: `size` is mean / (factor - 1).
double negative_binomial_term(double count, double mean, double size) {
  const double own = count > 0 ? count * std::log(count / mean) : 0;
  return own - (count + size) * std::log((count + size) / (mean + size));
}

// Of the middle half of the values. Counts of few lines have few different values, and a median is one of them.
double middle_mean(std::vector<double>& of) {
  const auto first = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 4);
  const auto end = of.end() - static_cast<std::ptrdiff_t>(of.size() / 4);
  std::ranges::nth_element(of, first);
  if (end != of.end()) std::ranges::nth_element(first, end, of.end());
  return std::accumulate(first, end, 0.0) / static_cast<double>(end - first);
}

// The middle of the squares does not see rare bursts of a sparse series; this mean does. The greatest values count like
// the next smaller one, so that a burst does not hide itself.
double winsorized_mean(std::vector<double>& of, std::size_t reduced) {
  const auto end = of.end() - static_cast<std::ptrdiff_t>(reduced);
  std::ranges::nth_element(of, end - 1);
  const double sum = std::accumulate(of.begin(), end, 0.0) + static_cast<double>(reduced) * *(end - 1);
  return sum / static_cast<double>(of.size());
}

}  // namespace

void count_sums::assign(std::span<const double> counts, std::span<const double> exposures) {
  sums_.resize(counts.size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sums_[i + 1] = {.count = sums_[i].count + counts[i], .exposure = sums_[i].exposure + exposures[i]};
  }
}

dispersion::dispersion(const count_sums& of, std::size_t blocks, std::size_t edges, std::size_t boundary)
    : window_exposure_(of.windows() > 0 ? of.all().exposure / static_cast<double>(of.windows()) : 0),
      level_(of.all().level()) {
  for (std::size_t length = 1; length == 1 || length * blocks <= of.windows(); length *= 2) {
    scale next = estimate_scale(of, length, edges, boundary);
    if (next.differences < least_differences) return;
    // A longer block of a series that varies at a short scale only has a smaller variance by chance or by a period.
    // A few differences give a greater one by chance.
    next.variance *= length > 1 ? 1 - 0.7 / std::sqrt(static_cast<double>(next.differences)) : 1;
    if (!scales_.empty()) next.variance = std::max(next.variance, scales_.back().variance);
    scales_.push_back(next);
  }
}

// Blocks overlap by half, so that few blocks give more differences.
dispersion::scale dispersion::estimate_scale(const count_sums& of, std::size_t length, std::size_t edges,
                                             std::size_t boundary) {
  const std::size_t step = std::max<std::size_t>(1, length / 2);
  std::vector<double> squares;
  for (std::size_t at = 0; at + 2 * length <= of.windows(); at += step) {
    if (at < boundary && at + 2 * length > boundary) at = boundary;
    if (at + 2 * length > of.windows()) break;
    const count_sums::part a = of.sum(at, at + length);
    const count_sums::part b = of.sum(at + length, at + 2 * length);
    if (a.exposure <= 0 || b.exposure <= 0) continue;
    const double between = a.level() - b.level();
    squares.push_back(between * between / (1 / a.exposure + 1 / b.exposure));
  }
  scale made{.differences = squares.size() / (length / step)};
  if (squares.size() < least_differences) return made;
  made.variance = middle_mean(squares) / middle_of_chi_squared;
  // Differences that have an edge of a burst inside.
  const std::size_t reduced = edges * ((2 * length - 2) / step + 1);
  if (squares.size() >= 3 * reduced && squares.size() >= least_for_mean) {
    made.variance = std::max(made.variance, winsorized_mean(squares, reduced));
  }
  return made;
}

// The level of a block differs from that of a far longer stretch by the sum of its differences at its own scale and at
// all greater ones (Haar wavelets): half of the variance / mean of its own scale, a quarter of the next, and so on.
double dispersion::variance(std::size_t first_scale, std::size_t reach) const {
  double sum = 0;
  double weight = 0.5;
  std::size_t at = first_scale;
  for (; at + 1 < scales_.size() && (std::size_t{1} << (at + 1)) <= reach; ++at, weight /= 2) {
    sum += weight * scales_[at].variance;
  }
  return sum + 2 * weight * scales_[at].variance;
}

dispersion::estimate dispersion::factor(std::size_t length, std::size_t reach, double exposure, double least) const {
  std::size_t at = 0;
  while (at + 1 < scales_.size() && (std::size_t{1} << (at + 1)) <= length) ++at;
  const double own = variance(at, reach) / std::max(level_, 1e-300);
  // A share that varies by itself does not vary less where there are more lines.
  const double usual = window_exposure_ * static_cast<double>(length);
  const double more = std::max(1.0, exposure / std::max(usual, 1e-300));
  const auto differences = static_cast<double>(scales_[at].differences);
  const auto all = static_cast<double>(scales_.front().differences);
  return {.factor = std::max(least, own > least ? least + (own - least) * more : own) * (1 + 3 / differences),
          .freedom = std::pow(all, 0.75) * std::pow(differences, 0.25)};
}

double log_likelihood_ratio(const count_sums::part& a, const count_sums::part& b, double factor) {
  const double level = (a.count + b.count) / (a.exposure + b.exposure);
  const double mean_a = level * a.exposure;
  const double mean_b = level * b.exposure;
  if (mean_a <= 0 || mean_b <= 0) return 0;
  if (factor <= 1 + 1e-9) {
    return (a.count > 0 ? a.count * std::log(a.count / mean_a) : 0) +
           (b.count > 0 ? b.count * std::log(b.count / mean_b) : 0);
  }
  return std::max(0.0, negative_binomial_term(a.count, mean_a, mean_a / (factor - 1)) +
                           negative_binomial_term(b.count, mean_b, mean_b / (factor - 1)));
}

double nats_of(double log_ratio, double freedom) { return (freedom + 1) / 2 * std::log1p(2 * log_ratio / freedom); }

}  // namespace gpuhist::report::changes
