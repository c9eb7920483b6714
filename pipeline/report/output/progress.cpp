#include "pipeline/report/output/progress.hpp"

#include "pipeline/report/output/progress_line.hpp"

#include <limits>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::chrono::milliseconds between_looks{200};
constexpr std::chrono::milliseconds between_lines{1000};
constexpr double a_moment = 0.3;       // seconds
constexpr double window_of_looks = 3;  // seconds
constexpr double window_of_lines = 5;

}  // namespace

progress_style choose_progress_style(const progress_setting& given) {
  if (given.quiet || given.asked == false) return progress_style::none;
  if (given.asked == true) return given.terminal ? progress_style::line : progress_style::log;
  return given.terminal && given.foreground && !given.typed_on ? progress_style::line : progress_style::none;
}

progress::progress(console& screen, progress_style style, std::optional<std::uint64_t> total)
    : screen_(screen),
      style_(style),
      total_(total),
      recent_(style == progress_style::log ? window_of_lines : window_of_looks) {}

std::chrono::milliseconds progress::interval() const {
  return style_ == progress_style::log ? between_lines : between_looks;
}

void progress::update(const run_progress& now) {
  recent_.add(now);
  compressed_ = compressed_ || now.text_bytes > now.source_bytes;
  if (!is_shown() || now.seconds < a_moment) return;
  const progress_view view{.now = now, .rates = recent_.rates(), .total = total_, .compressed = compressed_};
  if (style_ == progress_style::line) {
    screen_.show(progress_line(view, screen_.room()));
  } else if (screen_.is_ready()) {  // a log that nobody reads must not stop the run
    const std::string text = progress_line(view, std::numeric_limits<std::size_t>::max());
    screen_.say("gpuhist: " + text.substr(text.find_first_not_of(' ')) + "\n");
  }
}

}  // namespace gpuhist::pipeline
