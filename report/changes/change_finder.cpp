#include "report/changes/change_finder.hpp"

#include "report/changes/dispersion.hpp"
#include "report/changes/incidents.hpp"
#include "report/changes/level_scan.hpp"
#include "report/changes/novelty.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>

namespace gpuhist::report::changes {
namespace {

using series = difference::series;

std::size_t classes_of(const log_stream& stream) {
  return stream.windows.empty() ? 0 : stream.windows.front().classes.size();
}

// The first and the last window may be cut, so their number of lines is no level.
std::size_t windows_of_rate(const log_stream& stream) {
  return stream.has_rate && stream.windows.size() > 2 ? stream.windows.size() - 2 : 0;
}

// The same of both logs.
bool has_rates_of_both(const log_stream& stream) {
  const std::size_t first = stream.compared_from;
  const std::size_t second = stream.windows.size() - first;
  return stream.has_rate && first > 2 && second > 2 && first - 3 + second - 3 >= dispersion::least_differences;
}

double comparisons_of(const log_stream& stream) {
  const std::size_t others =
      stream.kinds.size() + stream.levels.size() + stream.matches.size() + 1 + classes_of(stream);
  if (stream.compared_from > 0) return static_cast<double>(others + (has_rates_of_both(stream) ? 1 : 0));
  return static_cast<double>(others) * static_cast<double>(comparisons(stream.windows.size())) +
         static_cast<double>(comparisons(windows_of_rate(stream)));
}

// Lines and bytes of windows [first, end).
struct volume {
  double lines = 0;
  double bytes = 0;
};

// The differences of one stream.
class stream_scan {
 public:
  stream_scan(const log_stream& stream, const finder_options& options, double nats)
      : stream_(stream), options_(options), nats_(nats) {
    for (const window_counts& window : stream.windows) {
      lines_.push_back(static_cast<double>(window.lines));
      bytes_.push_back(static_cast<double>(window.bytes));
    }
  }

  std::vector<difference> differences() {
    for (std::size_t i = 0; i < stream_.kinds.size(); ++i) scan_lines(series::kind, i, stream_.kinds[i]);
    for (std::size_t i = 0; i < stream_.levels.size(); ++i) scan_lines(series::level, i, stream_.levels[i]);
    for (std::size_t i = 0; i < stream_.matches.size(); ++i) scan_lines(series::match, i, stream_.matches[i]);
    stream_.compared_from > 0 ? compare_rates() : scan_rate();
    scan_length();
    for (std::size_t i = 0; i < classes_of(stream_); ++i) scan_class(i);
    return std::move(found_);
  }

 private:
  // A share above one half is compared by the lines of all other kinds, which have the smaller variance.
  void scan_lines(series of, std::size_t index, const kind_of_line& kind) {
    counts_.assign(lines_.size(), 0.0);
    double sum = 0;
    for (const kind_window& window : kind.windows) {
      counts_[window.window] = static_cast<double>(window.lines);
      sum += counts_[window.window];
    }
    const bool others = 2 * sum > volume_of(0, lines_.size()).lines;
    if (others) std::ranges::transform(lines_, counts_, counts_.begin(), std::minus());
    const scan_limits limits{.nats = nats_, .count = options_.least_lines, .ratio = options_.least_ratio_of_shares};
    for (level_change& found : scan(counts_, lines_, limits)) {
      if (others) found = {found.first, found.end, 1 - found.before, 1 - found.inside, found.nats};
      add_lines(of, index, kind, found);
    }
  }

  void add_lines(series of, std::size_t index, const kind_of_line& kind, level_change found) {
    double before = 0;
    double inside = 0;
    for (const kind_window& window : kind.windows) {
      if (window.window < found.first) before += static_cast<double>(window.lines);
      if (window.window >= found.first && window.window < found.end) inside += static_cast<double>(window.lines);
    }
    if (of == series::kind) {
      if (!novelty_) novelty_.emplace(stream_);
      if (before <= 0 || appears_late(kind, found))
        found.nats = std::min(found.nats, novelty_->nats_of_new(index, inside, found.first, found.end));
      if ((inside <= 0 && found.end == lines_.size()) || ends_early(kind, found)) {
        const double expected = found.before * volume_of(found.first, found.end).lines;
        found.nats = std::min(found.nats, novelty_->nats_of_ended(index, expected, found.first));
      }
    }
    if (found.nats >= nats_) add(of, index, found, static_cast<std::uint64_t>(inside));
  }

  // Of two logs: a kind of few windows may begin or end near the boundary.
  [[nodiscard]] bool appears_late(const kind_of_line& kind, const level_change& of) const {
    return stream_.compared_from > 0 && of.inside > of.before && kind.windows.front().window >= of.first / 2;
  }
  [[nodiscard]] bool ends_early(const kind_of_line& kind, const level_change& of) const {
    return stream_.compared_from > 0 && of.inside < of.before && kind.windows.back().window < (of.first + of.end) / 2;
  }

  void scan_rate() {
    const std::size_t windows = windows_of_rate(stream_);
    if (windows == 0) return;
    const std::vector<double> exposures(windows, 1.0);
    const scan_limits limits{.nats = nats_, .count = options_.least_lines, .ratio = options_.least_ratio_of_rates};
    for (level_change found : scan(std::span(lines_).subspan(1, windows), exposures, limits)) {
      ++found.first;
      ++found.end;
      if (found.end + 1 == lines_.size()) ++found.end;
      if (!is_abrupt(found)) continue;
      add(series::rate, 0, found, static_cast<std::uint64_t>(volume_of(found.first, found.end).lines));
    }
  }

  void compare_rates() {
    if (!has_rates_of_both(stream_)) return;
    std::vector<double> lines(lines_.begin() + 1, lines_.end() - 1);
    const auto boundary = static_cast<std::ptrdiff_t>(stream_.compared_from - 1);
    lines.erase(lines.begin() + boundary - 1, lines.begin() + boundary + 1);
    const std::vector<double> exposures(lines.size(), 1.0);
    const scan_limits limits{.nats = nats_, .count = options_.least_lines, .ratio = options_.least_ratio_of_rates};
    for (level_change found : compare_levels(lines, exposures, stream_.compared_from - 2, limits)) {
      found.first = stream_.compared_from;
      found.end = lines_.size();
      add(series::rate, 0, found, static_cast<std::uint64_t>(volume_of(found.first, found.end).lines));
    }
  }

  // Numbers of lines follow the hours of the day, so a slow change is usual: half of the difference must lie between
  // the windows before and after the begin, or the end.
  [[nodiscard]] bool is_abrupt(const level_change& of) const {
    constexpr std::size_t near = 3;
    const auto mean = [&](std::size_t first, std::size_t end) {
      return volume_of(first, end).lines / static_cast<double>(std::max<std::size_t>(1, end - first));
    };
    const auto step = [&](std::size_t at) {
      const std::size_t before = std::max<std::size_t>(1, at - std::min(at, near));
      const std::size_t after = std::min(lines_.size() - 1, at + near);
      return at <= before || at >= after ? 0.0 : std::abs(mean(before, at) - mean(at, after));
    };
    const double least = std::abs(of.inside - of.before) / 2;
    return step(of.first) >= least || step(of.end) >= least;
  }

  void scan_length() {
    const scan_limits limits{
        .nats = nats_, .factor = line_length(), .count = 0, .ratio = options_.least_ratio_of_lengths};
    for (const level_change& found : scan(bytes_, lines_, limits)) {
      const volume in = volume_of(found.first, found.end);
      add_bytes(series::length, 0, found, (found.inside - found.before) * in.lines);
    }
  }

  // Bytes arrive in lines, so their variance is at least that of whole lines.
  void scan_class(std::size_t index) {
    counts_.clear();
    for (const window_counts& window : stream_.windows) counts_.push_back(static_cast<double>(window.classes[index]));
    const scan_limits limits{.nats = nats_,
                             .factor = line_length(),
                             .count = 0,
                             .ratio = options_.least_ratio_of_class_shares,
                             .level = options_.least_difference_of_class_shares};
    for (const level_change& found : scan(counts_, bytes_, limits)) {
      const volume in = volume_of(found.first, found.end);
      add_bytes(series::class_share, index, found, (found.inside - found.before) * in.bytes);
    }
  }

  // A few giant lines are no change: they are lines of kinds that are not listed. `excess`: bytes.
  void add_bytes(series of, std::size_t index, const level_change& found, double excess) {
    const volume in = volume_of(found.first, found.end);
    if (in.lines < options_.least_lines || is_of_few_lines(found.first, found.end, excess)) return;
    if (stream_.compared_from > 0) {
      const volume before = volume_of(0, found.first);
      const double of_before = excess * before.lines / in.lines;
      if (before.lines < options_.least_lines || is_of_few_lines(0, found.first, of_before)) return;
    }
    add(of, index, found, static_cast<std::uint64_t>(in.lines));
  }

  [[nodiscard]] bool is_of_few_lines(std::size_t first, std::size_t end, double excess) const {
    volume unlisted = volume_of(first, end);
    for (const kind_of_line& kind : stream_.kinds) {
      for (const kind_window& window : kind.windows) {
        if (window.window < first || window.window >= end) continue;
        unlisted.lines -= static_cast<double>(window.lines);
        unlisted.bytes -= static_cast<double>(window.bytes);
      }
    }
    return unlisted.lines < options_.least_lines && 2 * unlisted.bytes >= std::abs(excess);
  }

  [[nodiscard]] std::vector<level_change> scan(std::span<const double> counts, std::span<const double> exposures,
                                               scan_limits limits) const {
    if (stream_.compared_from > 0) return compare_levels(counts, exposures, stream_.compared_from, limits);
    limits.day = stream_.windows_in_day;
    return scan_levels(counts, exposures, limits);
  }

  void add(series of, std::size_t index, const level_change& found, std::uint64_t lines) {
    found_.push_back({.of = of,
                      .index = index,
                      .before = found.before,
                      .inside = found.inside,
                      .lines = lines,
                      .first = found.first,
                      .end = found.end,
                      .evidence = (found.nats - nats_) / std::numbers::ln10 - std::log10(options_.false_alarms)});
  }

  [[nodiscard]] volume volume_of(std::size_t first, std::size_t end) const {
    volume sum;
    for (std::size_t i = first; i < end; ++i) {
      sum.lines += lines_[i];
      sum.bytes += bytes_[i];
    }
    return sum;
  }

  [[nodiscard]] double line_length() const {
    const volume all = volume_of(0, lines_.size());
    return std::max(1.0, all.bytes / std::max(1.0, all.lines));
  }

  const log_stream& stream_;
  const finder_options& options_;
  double nats_;
  std::vector<double> lines_;
  std::vector<double> bytes_;
  std::vector<double> counts_;
  std::optional<novelty> novelty_;  // most streams have no kind that is new
  std::vector<difference> found_;
};

}  // namespace

bool has_known_dispersion(const log_stream& of) {
  std::size_t differences = 0;
  for (std::size_t i = 1; i < of.windows.size(); ++i) {
    const bool are_neighbours = i != of.compared_from && of.windows[i - 1].lines > 0 && of.windows[i].lines > 0;
    differences += are_neighbours ? 1 : 0;
  }
  return differences >= dispersion::least_differences;
}

std::vector<change> find_changes(std::span<const log_stream> streams, const finder_options& options) {
  double all = 1;
  for (const log_stream& stream : streams) all += comparisons_of(stream);
  const double nats = std::log(all / options.false_alarms);
  std::vector<change> made;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    stream_scan search(streams[i], options, nats);
    std::ranges::move(incidents(streams[i], i, search.differences(), options.least_ratio_of_shares),
                      std::back_inserter(made));
  }
  std::ranges::sort(made, [](const change& a, const change& b) {
    return std::tuple(-a.evidence, a.stream, a.first) < std::tuple(-b.evidence, b.stream, b.first);
  });
  return made;
}

}  // namespace gpuhist::report::changes
