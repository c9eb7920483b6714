// The text of the progress line, cut to a width, and of the status line that SIGUSR1 asks for. ASCII only, so that a
// column is a byte.
#pragma once

#include "pipeline/flow/statistics/run_stats.hpp"
#include "report/output/rate_window.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace gpuhist::pipeline {

struct progress_view {
  run_progress now;
  transfer_rates rates;
  std::optional<std::uint64_t> total;  ///< source bytes of all inputs, if known
  bool compressed = false;             ///< text and source differ: the line shows both
};

/// " 42 %  1.3 of 3.1 GiB read (280 MiB/s), 9.8 GiB counted (2.1 GiB/s), 7 s left", or its most important parts, in at
/// most `width` columns. If the total is unknown, or exceeded because a file grew, the line shows the time since the
/// start instead of the share and the remaining time.
std::string progress_line(const progress_view& view, std::size_t width);

/// "300,000 bytes counted, 300,000 bytes read, 1.5 s, 200,000 bytes/s": exact, with the mean rate since the start.
std::string status_line(const run_progress& now);

/// Whole seconds, rounded up: "4 s", "1 min 20 s", "2 h 5 min", "3 d 4 h".
std::string for_people(double seconds);

}  // namespace gpuhist::pipeline
