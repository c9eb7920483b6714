// What people are told while a run goes on, as text: the line of progress, as much of it as fits, and the line that
// answers SIGUSR1. ASCII only, so that columns are bytes.
#pragma once

#include "pipeline/flow/statistics/run_progress.hpp"
#include "pipeline/report/output/rate_window.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace gpuhist::pipeline {

struct progress_view {
  run_progress now;
  transfer_rates rates;
  std::optional<std::uint64_t> total;  ///< source bytes of all inputs, where that is known
  bool compressed = false;             ///< text and source differ: both are worth telling
};

/// " 42 %  1.3 of 3.1 GiB read (280 MB/s), 9.8 GiB counted (2.1 GB/s), 7 s left", or what of it matters most, in at
/// most `width` columns. Without a total (or past it: files grow) the share and the time left give way to the time that
/// has passed.
std::string progress_line(const progress_view& view, std::size_t width);

/// "300000 bytes counted (293 KiB), 300000 bytes read, 1.5 s, 200 kB/s": exact, with the average since the start.
std::string status_line(const run_progress& now);

/// Whole seconds, upwards: "4 s", "1 min 20 s", "2 h 5 min", "3 d 4 h".
std::string for_people(double seconds);

}  // namespace gpuhist::pipeline
