// Logs by chance for the tests of changes: counts of lines by kind and window, of streams in which nothing changes and
// of streams with planted faults. The generator is its own, so that results depend on no library.
#pragma once

#include "report/changes/change_finder.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::tests {

/// SplitMix64 and what is drawn with it.
class generator {
 public:
  // Neighbouring seeds must not give shifted sequences.
  explicit generator(std::uint64_t seed) : state_(seed) { state_ = next() ^ (seed << 32); }

  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }
  double between(double a, double b) { return a + (b - a) * uniform(); }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  // Marsaglia and Tsang, mean 1.
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * (shape + 1) / shape * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal();
      const double v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v / shape;
    }
  }
  double poisson(double mean) {
    if (mean <= 0) return 0;
    if (mean > 500) return std::max(0.0, std::floor(mean + std::sqrt(mean) * normal() + 0.5));
    double left = mean;
    for (double n = 0;; ++n) {
      left += std::log(uniform());
      if (left < 0) return n;
    }
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// How the lines of a stream are drawn.
struct stream_plan {
  std::size_t windows = 60;
  double lines = 230;            ///< per window
  std::vector<double> shares{};  ///< of kinds; empty: Zipf of `kinds`
  std::size_t kinds = 20;
  double rate_shape = 0;  ///< gamma shape of the rate of a window; 0: constant
  double mix_shape = 0;   ///< gamma shape of the share of a kind in a window
  double red = 0;         ///< correlation of the logarithm of the rate of neighbouring windows
  double red_deviation = 0;
  double period = 0;      ///< windows of a day
  double rate_swing = 0;  ///< 0.5: rates of 0.5 to 1.5
  double mix_swing = 0;   ///< of the shares of every second kind
  bool partial_ends = false;
  std::function<double(std::size_t)> rate{};                ///< factor by window
  std::function<double(std::size_t, std::size_t)> share{};  ///< factor by kind and window
  std::function<double(std::size_t, std::size_t)> added{};  ///< lines by kind and window
  std::function<double(std::size_t)> length{};              ///< factor by window
  std::function<double(std::size_t)> digits{};              ///< share of digits by window
};

inline constexpr std::size_t classes = 8;

/// Draws a stream.
class stream_maker {
 public:
  stream_maker(const stream_plan& plan, std::uint64_t seed) : plan_(plan), random_(seed) {
    shares_ = plan.shares;
    for (std::size_t k = 0; shares_.size() < plan.kinds && plan.shares.empty(); ++k) {
      shares_.push_back(1 / static_cast<double>(k + 1));
    }
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      lengths_.push_back(random_.between(40, 200));
      digits_.push_back(random_.between(0.1, 0.4));
      phases_.push_back(random_.between(0, 2 * std::numbers::pi));
    }
  }

  report::changes::log_stream make() {
    report::changes::log_stream made{.name = "stream"};
    std::vector<report::changes::kind_of_line> kinds(shares_.size());
    double level = 0;
    for (std::size_t w = 0; w < plan_.windows; ++w) {
      report::changes::window_counts counts{.classes = std::vector<std::uint64_t>(classes)};
      level = plan_.red * level + std::sqrt(1 - plan_.red * plan_.red) * random_.normal();
      const double rate = rate_of(w) * std::exp(plan_.red_deviation * level);
      const std::vector<double> mix = mix_of(w);
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        double lines = random_.poisson(rate * mix[k]);
        if (plan_.added) lines += std::floor(plan_.added(k, w));
        if (lines > 0) add(counts, kinds[k], k, w, lines);
      }
      made.windows.push_back(std::move(counts));
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      double lines = 0;
      for (const auto& window : kinds[k].windows) lines += static_cast<double>(window.lines);
      kinds[k].text = "kind " + std::to_string(k);
      if (lines >= 10) made.kinds.push_back(std::move(kinds[k]));
    }
    return made;
  }

 private:
  double day(std::size_t w, double phase) const {
    return plan_.period > 0 ? std::sin(2 * std::numbers::pi * static_cast<double>(w) / plan_.period + phase) : 0;
  }

  double rate_of(std::size_t w) {
    double rate = plan_.lines * (1 + plan_.rate_swing * day(w, 0));
    if (plan_.rate_shape > 0) rate *= random_.gamma(plan_.rate_shape);
    if (plan_.rate) rate *= plan_.rate(w);
    if (plan_.partial_ends && (w == 0 || w + 1 == plan_.windows)) rate *= random_.uniform();
    return rate;
  }

  // A factor of a share takes the lines from all other kinds.
  std::vector<double> mix_of(std::size_t w) {
    std::vector<double> mix;
    double sum = 0;
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      double share = shares_[k] * (1 + (k % 2 == 0 ? plan_.mix_swing * day(w, phases_[k]) : 0));
      if (plan_.mix_shape > 0) share *= random_.gamma(plan_.mix_shape);
      if (plan_.share) share *= plan_.share(k, w);
      mix.push_back(share);
      sum += share;
    }
    for (double& share : mix) share /= std::max(sum, 1e-9);
    return mix;
  }

  void add(report::changes::window_counts& counts, report::changes::kind_of_line& kind, std::size_t k, std::size_t w,
           double lines) {
    const double factor = plan_.length ? plan_.length(w) : 1;
    const double bytes = std::max(lines, factor * lengths_[k] * (lines + 0.4 * std::sqrt(lines) * random_.normal()));
    const double digits = plan_.digits ? plan_.digits(w) : digits_[k];
    const double deviation = 0.3 * digits / std::sqrt(lines);
    const double share = std::clamp(digits + deviation * random_.normal(), 0.0, 0.9);
    const auto whole = static_cast<std::uint64_t>(bytes);
    const auto digit_bytes = static_cast<std::uint64_t>(bytes * share);
    kind.windows.push_back({.window = w, .lines = static_cast<std::uint64_t>(lines), .bytes = whole});
    counts.lines += static_cast<std::uint64_t>(lines);
    counts.bytes += whole;
    counts.classes[2] += digit_bytes;
    const std::uint64_t upper = (whole - digit_bytes) / 7;
    const std::uint64_t blanks = (whole - digit_bytes) / 6;
    counts.classes[1] += upper;
    counts.classes[3] += blanks;
    counts.classes[0] += whole - digit_bytes - upper - blanks;
  }

  const stream_plan& plan_;
  generator random_;
  std::vector<double> shares_;
  std::vector<double> lengths_;
  std::vector<double> digits_;
  std::vector<double> phases_;
};

}  // namespace gpuhist::tests
