// Shows the progress of a run: decides where and how often, and computes rates over the last seconds.
#pragma once

#include "pipeline/flow/statistics/run_stats.hpp"
#include "report/output/messages.hpp"
#include "report/output/rate_window.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace gpuhist::pipeline {

enum class progress_style {
  none,
  line,  ///< one line of a terminal, rewritten in place
  log,   ///< a line every second, without control characters
};

/// The conditions that progress_style depends on.
struct progress_setting {
  std::optional<bool> requested;  ///< --progress, --no-progress
  bool quiet = false;             ///< -q, which takes precedence
  bool terminal = false;          ///< standard error is a terminal that can erase a line (TERM is not "dumb")
  bool foreground = false;        ///< the process is in the foreground of this terminal
  bool typed_on = false;          ///< the input is typed on this terminal, which a status line would disturb
};

/// By default a line, only on a terminal in the foreground on which no input is typed.
progress_style choose_progress_style(const progress_setting& setting);

class progress {
 public:
  /// Borrows `screen`. `total`: see source_bytes_of.
  progress(console& screen, progress_style style, std::optional<std::uint64_t> total);

  [[nodiscard]] bool is_shown() const { return style_ != progress_style::none; }

  /// The interval at which update() must be called.
  [[nodiscard]] std::chrono::milliseconds interval() const;

  /// Shows the state of the run. Very short runs show nothing.
  void update(const run_progress& now);

 private:
  console& screen_;
  progress_style style_;
  std::optional<std::uint64_t> total_;
  rate_window recent_;
  bool compressed_ = false;  // more text than source bytes was seen
};

}  // namespace gpuhist::pipeline
