// How much a series of counts varies when nothing changes: its dispersion by time scale, and the likelihood ratio of
// two levels under that dispersion.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gpuhist::report::changes {

/// Sums of a series of windows: counts, and the exposure that they are counted in (lines, bytes, or windows).
class count_sums {
 public:
  struct part {
    double count = 0;
    double exposure = 0;

    [[nodiscard]] double level() const { return exposure > 0 ? count / exposure : 0; }
    part operator-(const part& other) const { return {count - other.count, exposure - other.exposure}; }
  };

  /// Same number of both.
  void assign(std::span<const double> counts, std::span<const double> exposures);

  [[nodiscard]] std::size_t windows() const { return sums_.size() - 1; }
  /// Of windows [first, end).
  [[nodiscard]] part sum(std::size_t first, std::size_t end) const { return sums_[end] - sums_[first]; }
  [[nodiscard]] part all() const { return sums_.back(); }

 private:
  std::vector<part> sums_{part{}};  // of the windows before each
};

/// Variance of the level of blocks of windows, by the length of the blocks.
class dispersion {
 public:
  /// Differences of neighbouring blocks that an estimate needs.
  static constexpr std::size_t least_differences = 5;

  /// Of blocks of 1, 2, 4 ... windows, as long as the series has at least `blocks` of them. `edges`: of bursts that do
  /// not count, two for each burst. `boundary`: a window; blocks before it are not compared with those after it; 0:
  /// all are.
  dispersion(const count_sums& of, std::size_t blocks, std::size_t edges, std::size_t boundary = 0);

  /// Variance / mean of the count of a stretch.
  struct estimate {
    double factor = 1;   ///< at least `least` of factor()
    double freedom = 0;  ///< degrees of freedom of the estimate
  };

  /// Whether there are windows enough to estimate anything.
  [[nodiscard]] bool known() const { return !scales_.empty(); }

  /// For the difference of a stretch of `length` windows with this exposure from the level of `reach` windows around
  /// it. `least`: of the factor. Precondition: known().
  [[nodiscard]] estimate factor(std::size_t length, std::size_t reach, double exposure, double least) const;

 private:
  struct scale {
    double variance = 0;          // of the level, times the exposure
    std::size_t differences = 0;  // that it is estimated of
  };

  static scale estimate_scale(const count_sums& of, std::size_t length, std::size_t edges, std::size_t boundary);
  [[nodiscard]] double variance(std::size_t first_scale, std::size_t reach) const;

  std::vector<scale> scales_;   // of blocks of 1, 2, 4 ... windows
  double window_exposure_ = 0;  // mean
  double level_ = 0;
};

/// Logarithm of the likelihood ratio of "two levels" and "one level" for two negative binomial counts whose variance is
/// `factor` times their mean; of Poisson counts for factor 1. At least 0.
double log_likelihood_ratio(const count_sums::part& a, const count_sums::part& b, double factor);

/// -ln of the probability of a likelihood ratio as great by chance, if the dispersion has `freedom` degrees of freedom:
/// the tail of Student's t distribution up to a factor below 1.
double nats_of(double log_ratio, double freedom);

}  // namespace gpuhist::report::changes
