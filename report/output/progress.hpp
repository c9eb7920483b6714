// Shows the progress of a run: decides where and how often, and computes rates over the last seconds.
#pragma once

#include "pipeline/flow/statistics/run_stats.hpp"
#include "report/output/messages.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace gpuhist::report {

/// Bytes per second.
struct transfer_rates {
  double source = 0;
  double text = 0;
};

/// The current rates of a run: means over the last few seconds, which change faster than a mean since the start.
/// Memory: the samples within the window, and one before it.
class rate_window {
 public:
  explicit rate_window(double seconds) : seconds_(seconds) {}

  /// Samples must be added in the order of their time.
  void add(const pipeline::run_progress& sample);

  /// The rates between the newest sample and the newest one that is older by at least the window; since the start if
  /// the run is shorter than the window.
  [[nodiscard]] transfer_rates rates() const;

 private:
  double seconds_;
  std::deque<pipeline::run_progress> samples_{pipeline::run_progress{}};  // a run starts with 0 bytes at 0 s
};

/// What the progress line shows. Its text, as that of the status line that SIGUSR1 asks for, is ASCII, so that a column
/// is a byte.
struct progress_view {
  pipeline::run_progress now;
  transfer_rates rates;
  std::optional<std::uint64_t> total;  ///< source bytes of all inputs, if known
  bool compressed = false;             ///< text and source differ: the line shows both
};

/// " 42 %  1.3 of 3.1 GiB read (280 MiB/s), 9.8 GiB counted (2.1 GiB/s), 7 s left", or its most important parts, in at
/// most `width` columns. If the total is unknown, or exceeded because a file grew, the line shows the time since the
/// start instead of the share and the remaining time.
std::string progress_line(const progress_view& view, std::size_t width);

/// "300,000 bytes counted, 300,000 bytes read, 1.5 s, 200,000 bytes/s": exact, with the mean rate since the start.
std::string status_line(const pipeline::run_progress& now);

/// Whole seconds, rounded up: "4 s", "1 min 20 s", "2 h 5 min", "3 d 4 h".
std::string for_people(double seconds);

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
  void update(const pipeline::run_progress& now);

 private:
  console& screen_;
  progress_style style_;
  std::optional<std::uint64_t> total_;
  rate_window recent_;
  bool compressed_ = false;  // more text than source bytes was seen
};

}  // namespace gpuhist::report
