#include "report/output/progress.hpp"

#include "report/output/progress_line.hpp"

#include <limits>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::chrono::milliseconds line_interval{200};
constexpr std::chrono::milliseconds log_interval{1000};
constexpr double shortest_shown_run = 0.3;  // seconds
constexpr double line_rate_window = 3;      // seconds
constexpr double log_rate_window = 5;       // seconds

}  // namespace

progress_style choose_progress_style(const progress_setting& setting) {
  if (setting.quiet || setting.requested == false) return progress_style::none;
  if (setting.requested == true) return setting.terminal ? progress_style::line : progress_style::log;
  return setting.terminal && setting.foreground && !setting.typed_on ? progress_style::line : progress_style::none;
}

progress::progress(console& screen, progress_style style, std::optional<std::uint64_t> total)
    : screen_(screen),
      style_(style),
      total_(total),
      recent_(style == progress_style::log ? log_rate_window : line_rate_window) {}

std::chrono::milliseconds progress::interval() const {
  return style_ == progress_style::log ? log_interval : line_interval;
}

void progress::update(const run_progress& now) {
  recent_.add(now);
  compressed_ = compressed_ || now.text_bytes > now.source_bytes;
  if (!is_shown() || now.seconds < shortest_shown_run) return;
  const progress_view view{.now = now, .rates = recent_.rates(), .total = total_, .compressed = compressed_};
  if (style_ == progress_style::line) {
    screen_.show(progress_line(view, screen_.room()));
  } else if (screen_.is_ready()) {  // a log whose reader is slow must not block the run
    const std::string text = progress_line(view, std::numeric_limits<std::size_t>::max());
    screen_.say("gpuhist: " + text.substr(text.find_first_not_of(' ')) + "\n");
  }
}

}  // namespace gpuhist::pipeline
