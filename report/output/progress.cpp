#include "report/output/progress.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report {
namespace {

using config::fixed;
using config::number_of;

constexpr std::chrono::milliseconds line_interval{200};
constexpr std::chrono::milliseconds log_interval{1000};
constexpr double shortest_shown_run = 0.3;  // seconds
constexpr double line_rate_window = 3;      // seconds
constexpr double log_rate_window = 5;       // seconds

constexpr std::array<std::string_view, 7> size_units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

struct scale {
  double divisor = 1;
  std::size_t unit = 0;
};

// The unit in which the value, rounded to a whole number, is below 1024.
scale scale_of(double bytes) {
  constexpr double step = 1024;
  scale found;
  while (found.unit + 1 < size_units.size() && bytes / found.divisor >= step - 0.5) {
    found.divisor *= step;
    ++found.unit;
  }
  return found;
}

// With one decimal below ten of a unit; bytes have none.
std::string size_text(double bytes) {
  const scale chosen = scale_of(bytes);
  const double shown = bytes / chosen.divisor;
  return fixed(shown, chosen.unit > 0 && shown < 9.95 ? 1 : 0).append(" ").append(size_units[chosen.unit]);
}

std::string size_text(std::uint64_t bytes) { return size_text(static_cast<double>(bytes)); }

std::string rate_text(double bytes_per_second) { return size_text(bytes_per_second) + "/s"; }

// "1.3 of 3.1 GiB": in the unit of the total, so that only the first number changes.
std::string part_text(std::uint64_t part, std::uint64_t total) {
  const scale chosen = scale_of(static_cast<double>(total));
  const double whole = static_cast<double>(total) / chosen.divisor;
  const int decimals = chosen.unit > 0 && whole < 99.95 ? 1 : 0;
  return fixed(static_cast<double>(part) / chosen.divisor, decimals) + " of " +
         fixed(whole, decimals).append(" ").append(size_units[chosen.unit]);
}

// The parts of the line. A part whose value is unknown is empty.
struct pieces {
  std::string share;   // " 42 %  "
  std::string source;  // "1.3 of 3.1 GiB read"
  std::string source_rate;
  std::string main;  // the amount that a short line shows
  std::string main_rate;
  std::string time;  // ", 7 s left"
};

std::string time_left(const progress_view& view) {
  const std::uint64_t rest = *view.total - view.now.source_bytes;
  if (rest == 0 || view.rates.source <= 0) return {};
  return ", " + for_people(static_cast<double>(rest) / view.rates.source) + " left";
}

pieces pieces_of(const progress_view& view) {
  const std::uint64_t read = view.now.source_bytes;
  const bool known = view.total && *view.total > 0 && read <= *view.total;
  pieces out;
  out.source = (known ? part_text(read, *view.total) : size_text(read)) + " read";
  out.source_rate = " (" + rate_text(view.rates.source) + ")";
  out.main = size_text(view.compressed ? view.now.text_bytes : read);
  out.main_rate = view.compressed ? " (" + rate_text(view.rates.text) + ")" : out.source_rate;
  if (known) {
    const double percent = 100 * static_cast<double>(read) / static_cast<double>(*view.total);
    const std::string digits = fixed(std::floor(percent), 0);
    out.share = std::string(3 - digits.size(), ' ') + digits + " %  ";
    out.time = time_left(view);
  } else {
    out.time = ", " + for_people(view.now.seconds);
  }
  return out;
}

// From the longest line to the shortest.
std::vector<std::string> forms(const pieces& parts, bool compressed) {
  std::vector<std::string> all;
  if (compressed) {
    all.push_back(parts.share + parts.source + parts.source_rate + ", " + parts.main + " counted" + parts.main_rate +
                  parts.time);
    all.push_back(parts.share + parts.source + ", " + parts.main + " counted" + parts.main_rate + parts.time);
    all.push_back(parts.share + parts.main + " counted" + parts.main_rate + parts.time);
  } else {
    all.push_back(parts.share + parts.source + parts.source_rate + parts.time);
  }
  all.push_back(parts.share + parts.main + parts.main_rate + parts.time);
  all.push_back(parts.share + parts.main + parts.time);
  all.push_back(parts.share + parts.main);
  return all;
}

}  // namespace

void rate_window::add(const pipeline::run_progress& sample) {
  samples_.push_back(sample);
  while (samples_.size() > 2 && samples_[1].seconds <= sample.seconds - seconds_) samples_.pop_front();
}

transfer_rates rate_window::rates() const {
  const pipeline::run_progress& from = samples_.front();
  const pipeline::run_progress& to = samples_.back();
  const double seconds = to.seconds - from.seconds;
  if (seconds <= 0) return {};
  return {.source = static_cast<double>(to.source_bytes - from.source_bytes) / seconds,
          .text = static_cast<double>(to.text_bytes - from.text_bytes) / seconds};
}

std::string progress_line(const progress_view& view, std::size_t width) {
  std::vector<std::string> all = forms(pieces_of(view), view.compressed);
  const auto fits = std::find_if(all.begin(), all.end(), [&](const std::string& each) { return each.size() <= width; });
  return fits != all.end() ? *fits : all.back().substr(0, width);
}

std::string status_line(const pipeline::run_progress& now) {
  const double rate = now.seconds > 0 ? static_cast<double>(now.text_bytes) / now.seconds : 0;
  return number_of(now.text_bytes, "byte") + " counted, " + number_of(now.source_bytes, "byte") + " read, " +
         fixed(now.seconds, now.seconds < 10 ? 2 : 1) + " s, " +
         number_of(static_cast<std::uint64_t>(std::llround(rate)), "byte") + "/s";
}

std::string for_people(double seconds) {
  constexpr std::uint64_t minute = 60;
  constexpr std::uint64_t hour = 60 * minute;
  constexpr std::uint64_t day = 24 * hour;
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::clamp(seconds, 0.0, 1e12)));
  const auto two = [&](std::uint64_t large, const char* large_name, std::uint64_t small, const char* small_name) {
    return std::to_string(whole / large) + large_name + std::to_string(whole % large / small) + small_name;
  };
  if (whole < minute) return std::to_string(whole) + " s";
  if (whole < hour) return two(minute, " min ", 1, " s");
  if (whole < day) return two(hour, " h ", minute, " min");
  return two(day, " d ", hour, " h");
}

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

void progress::update(const pipeline::run_progress& now) {
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

}  // namespace gpuhist::report
