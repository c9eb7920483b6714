// Bounds of a mean from samples, compared with the definition, and with the means of known distributions.
#include "report/measures/mean_interval.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

using gpuhist::report::measures::interval_of_mean;
using gpuhist::report::measures::mean_interval;

namespace {

// The definition of the hedged capital, in logarithms: whether a gambler who bets on samples above `mean` is ever worth
// 2 / alpha.
bool is_excluded(const std::vector<double>& samples, double mean, double alpha) {
  const auto n = static_cast<double>(samples.size());
  double capital = 0;
  for (std::size_t t = 0; t < samples.size(); ++t) {
    double variance = 0.25;
    double sum = 0.5;
    for (std::size_t i = 0; i < t; ++i) {
      sum += samples[i];
      const double mean_so_far = sum / static_cast<double>(i + 2);
      variance += (samples[i] - mean_so_far) * (samples[i] - mean_so_far);
    }
    variance /= static_cast<double>(t + 1);
    const double bet = std::min(std::sqrt(2 * std::log(2 / alpha) / (n * variance)), 0.75 / mean);
    capital += std::log1p(bet * (samples[t] - mean));
    if (capital >= std::log(2 / alpha)) return true;
  }
  return false;
}

double lowest_by_definition(const std::vector<double>& samples, double alpha) {
  constexpr int steps = 1000;
  for (int step = 1; step <= steps; ++step) {
    if (!is_excluded(samples, static_cast<double>(step) / steps, alpha)) return static_cast<double>(step - 1) / steps;
  }
  return 1;
}

template <class Draw>
std::vector<double> drawn(std::size_t number, Draw draw) {
  std::vector<double> made;
  for (std::size_t i = 0; i < number; ++i) made.push_back(draw());
  return made;
}

}  // namespace

TEST_CASE("the bounds of a mean are those of the definition") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> any(0, 1);
  for (const std::size_t number : {1U, 2U, 10U, 60U, 150U}) {
    for (const double alpha : {0.5, 0.05, 0.001}) {
      const std::vector<double> samples = drawn(number, [&] { return any(random) * any(random); });
      std::vector<double> others;
      for (const double each : samples) others.push_back(1 - each);
      const mean_interval found = interval_of_mean(samples, samples, alpha);
      CAPTURE(number);
      CHECK(found.at_least >= lowest_by_definition(samples, alpha) - 1e-9);
      CHECK(found.at_least <= lowest_by_definition(samples, alpha) + 0.001 + 1e-9);
      CHECK(1 - found.at_most >= lowest_by_definition(others, alpha) - 1e-9);
      CHECK(1 - found.at_most <= lowest_by_definition(others, alpha) + 0.001 + 1e-9);
    }
  }
}

TEST_CASE("a mean is outside of its bounds at most as often as was asked for") {
  std::mt19937_64 random(2);
  constexpr double alpha = 0.1;
  constexpr int runs = 1000;
  std::uniform_real_distribution<double> any(0, 1);
  const auto misses = [&](double mean, auto draw) {
    int made = 0;
    for (int run = 0; run < runs; ++run) {
      const std::vector<double> samples = drawn(200, draw);
      const mean_interval found = interval_of_mean(samples, samples, alpha);
      if (mean < found.at_least || mean > found.at_most) ++made;
    }
    return made;
  };
  // rare values of 1, two values, all values, nearly one value: 1,000 runs with 100 misses on average would exceed 130
  // once in 1,000 times
  CHECK(misses(0.01, [&] { return any(random) < 0.01 ? 1.0 : 0.0; }) <= 130);
  CHECK(misses(0.5, [&] { return any(random) < 0.5 ? 1.0 : 0.0; }) <= 130);
  CHECK(misses(0.5, [&] { return any(random); }) <= 130);
  CHECK(misses(0.9, [&] { return 0.9 + (any(random) - 0.5) * 0.001; }) <= 130);
}

TEST_CASE("bounds are closer with more samples, and with samples that differ less") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(0, 1);
  const auto width = [](const std::vector<double>& samples) {
    const mean_interval found = interval_of_mean(samples, samples, 0.001);
    return found.at_most - found.at_least;
  };
  const std::vector<double> few = drawn(1000, [&] { return any(random); });
  const std::vector<double> many = drawn(16'000, [&] { return any(random); });
  const std::vector<double> equal = drawn(1000, [&] { return 0.5 + (any(random) - 0.5) * 0.01; });
  CHECK(width(many) < width(few) / 3);
  CHECK(width(equal) < width(few) / 5);
  // that of Hoeffding: 2 sqrt(ln(2 / alpha) / (2 n))
  CHECK(width(few) < 2 * std::sqrt(std::log(2 / 0.001) / (2 * 1000.0)));
}

TEST_CASE("a sample that is not known may be anything from 0 to 1") {
  const std::vector<double> half(400, 0.5);
  std::vector<double> lowest = half;
  std::vector<double> highest = half;
  for (std::size_t i = 0; i < 40; ++i) {
    lowest[i * 10] = 0;
    highest[i * 10] = 1;
  }
  const mean_interval known = interval_of_mean(half, half, 0.01);
  const mean_interval found = interval_of_mean(lowest, highest, 0.01);
  CHECK(found.at_least < 0.45);
  CHECK(found.at_most > 0.55);
  CHECK(known.at_least > 0.45);
  CHECK(known.at_most < 0.55);
  const mean_interval none = interval_of_mean({}, {}, 0.01);
  CHECK(none.at_least == 0);
  CHECK(none.at_most == 1);
}
