#include "report/measures/mean_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gpuhist::report::measures {
namespace {

// The bet on each sample, before it is limited for a mean: the larger the fewer and the more equal the samples are.
std::vector<double> bets_on(std::span<const double> samples, double alpha) {
  constexpr double prior_mean = 0.5;
  constexpr double prior_variance = 0.25;
  std::vector<double> bets;
  bets.reserve(samples.size());
  double sum = prior_mean;
  double squares = prior_variance;  // of the differences from the means so far
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double variance = squares / static_cast<double>(i + 1);
    bets.push_back(std::sqrt(2 * std::log(2 / alpha) / (static_cast<double>(samples.size()) * variance)));
    sum += samples[i];
    const double difference = samples[i] - sum / static_cast<double>(i + 2);
    squares += difference * difference;
  }
  return bets;
}

// Whether who bets that the samples are above `mean` becomes rich.
bool is_excluded(std::span<const double> samples, std::span<const double> bets, double mean, double alpha) {
  constexpr double most_at_stake = 0.75;  // of the capital
  const double limit = most_at_stake / mean;
  double capital = 1;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    capital *= 1 + std::min(bets[i], limit) * (samples[i] - mean);
    if (capital >= 2 / alpha) return true;
  }
  return false;
}

// A mean that is not excluded, below which all are.
double lowest_mean(std::span<const double> samples, double alpha) {
  constexpr int steps = 50;
  const std::vector<double> bets = bets_on(samples, alpha);
  double excluded = 0;
  double possible = 1;
  for (int step = 0; step < steps; ++step) {
    const double middle = (excluded + possible) / 2;
    (is_excluded(samples, bets, middle, alpha) ? excluded : possible) = middle;
  }
  return excluded;
}

}  // namespace

mean_interval interval_of_mean(std::span<const double> at_least, std::span<const double> at_most, double alpha) {
  std::vector<double> below(at_most.size());
  std::ranges::transform(at_most, below.begin(), [](double each) { return 1 - each; });
  return {.at_least = lowest_mean(at_least, alpha), .at_most = 1 - lowest_mean(below, alpha)};
}

}  // namespace gpuhist::report::measures
