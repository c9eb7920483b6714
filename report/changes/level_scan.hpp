// Where the level of one series differs: the stretches of windows whose counts are improbable at the level of the
// others.
#pragma once

#include "report/changes/dispersion.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace gpuhist::report::changes {

/// What a stretch must have to be reported.
struct scan_limits {
  double nats = 20;     ///< -ln of the probability of one comparison
  double factor = 1;    ///< least variance / mean of a count: of bytes the bytes of a line
  double count = 10;    ///< difference of the count from the expected one
  double ratio = 1.25;  ///< of the levels, the greater by the smaller one
  double level = 0;     ///< difference of the levels
  std::size_t day = 0;  ///< windows of a day: what occurs at the same time of another day is regular; 0: unknown
};

/// A stretch with another level. Windows are indexes into the series.
struct level_change {
  std::size_t first = 0;
  std::size_t end = 0;
  double before =
      0;  ///< level of the windows before it that are in no change, if they are at least 3; else of the others
  double inside = 0;
  double nats = 0;  ///< -ln of the probability of the comparison
};

/// Whether the levels of two parts of a series differ by the limits that need no dispersion.
bool differs(const count_sums::part& in, const count_sums::part& out, const scan_limits& limits);

/// Comparisons that scan_levels() makes in a series of this many windows.
std::size_t comparisons(std::size_t windows);

/// Stretches that differ, in the order of windows. Changes in the same direction that touch are one. `counts` and
/// `exposures`: of the windows, same number. Cost: about 12 comparisons a window.
std::vector<level_change> scan_levels(std::span<const double> counts, std::span<const double> exposures,
                                      const scan_limits& limits);

/// Compares the windows from `boundary` on with those before it: one change, or none. The dispersion is that within
/// both; if they are too few to estimate it, it is the least one. Equal limits hold for both, so the order of the two
/// does not matter. Precondition: 0 < boundary < number of windows.
std::vector<level_change> compare_levels(std::span<const double> counts, std::span<const double> exposures,
                                         std::size_t boundary, const scan_limits& limits);

}  // namespace gpuhist::report::changes
