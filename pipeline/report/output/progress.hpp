// Progress for people: where it is shown, and how often; knows how much there is to read, and how fast it is going.
#pragma once

#include "pipeline/flow/statistics/run_progress.hpp"
#include "pipeline/report/output/messages.hpp"
#include "pipeline/report/output/rate_window.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace gpuhist::pipeline {

enum class progress_style {
  none,
  line,  ///< one line of a terminal, rewritten in place
  log,   ///< a line every second, without control characters
};

/// What decides how progress is shown.
struct progress_setting {
  std::optional<bool> asked;  ///< --progress, --no-progress
  bool quiet = false;         ///< -q, which wins
  bool terminal = false;      ///< standard error is a terminal that can erase a line (TERM is not "dumb")
  bool foreground = false;    ///< in which we are in the foreground
  bool typed_on = false;      ///< on which people type the input: a line would be in their way
};

/// Unless asked for, only where people look and the line is in nobody's way.
progress_style choose_progress_style(const progress_setting& given);

class progress {
 public:
  /// `screen` must outlive it. `total`: see source_bytes_of.
  progress(console& screen, progress_style style, std::optional<std::uint64_t> total);

  [[nodiscard]] bool is_shown() const { return style_ != progress_style::none; }

  /// How often update() is to be called where it is.
  [[nodiscard]] std::chrono::milliseconds interval() const;

  /// Shows how far the run is. Runs that are over in a moment show nothing.
  void update(const run_progress& now);

 private:
  console& screen_;
  progress_style style_;
  std::optional<std::uint64_t> total_;
  rate_window recent_;
  bool compressed_ = false;  // once text was ahead of source
};

}  // namespace gpuhist::pipeline
