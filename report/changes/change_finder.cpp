#include "report/changes/change_finder.hpp"

#include "report/changes/level_scan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpuhist::report::changes {
namespace {

using series = difference::series;

// Times at which other kinds of a stream begin or end, with which one more is usual.
constexpr std::size_t usual_times = 3;

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

// Of the windows from one on.
std::uint64_t lines_in(const kind_of_line& kind, std::size_t first, std::size_t end) {
  std::uint64_t lines = 0;
  for (const kind_window& each : kind.windows) {
    if (each.window >= first && each.window < end) lines += each.lines;
  }
  return lines;
}

// The differences of one stream.
class stream_finder {
 public:
  stream_finder(const log_stream& stream, const finder_options& options, double comparisons_of_run)
      : stream_(stream),
        options_(options),
        log_comparisons_(std::log(comparisons_of_run)),
        nats_(std::max(0.0, log_comparisons_ - std::log(options.false_alarms))),
        counts_(stream.windows.size()),
        exposures_(stream.windows.size()) {
    for (const window_counts& each : stream.windows) {
      lines_ += static_cast<double>(each.lines);
      bytes_ += static_cast<double>(each.bytes);
    }
  }

  // Series that are scanned of a stream.
  static std::size_t number_of_series(const log_stream& stream) {
    const std::size_t classes = stream.windows.empty() ? 0 : stream.windows.front().classes.size();
    return stream.kinds.size() + stream.levels.size() + stream.matches.size() + classes + 1 + (stream.has_rate ? 1 : 0);
  }

  std::vector<difference> find() {
    scan_kinds(stream_.kinds, series::kind);
    scan_kinds(stream_.levels, series::level);
    scan_kinds(stream_.matches, series::match);
    if (stream_.has_rate) scan_rate();
    scan_length();
    scan_classes();
    std::ranges::stable_sort(found_, [](const difference& a, const difference& b) { return a.evidence > b.evidence; });
    return std::move(found_);
  }

 private:
  void scan_kinds(const std::vector<kind_of_line>& kinds, series of) {
    for (std::size_t i = 0; i < stream_.windows.size(); ++i)
      exposures_[i] = static_cast<double>(stream_.windows[i].lines);
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      std::ranges::fill(counts_, 0);
      for (const kind_window& each : kinds[index].windows) counts_[each.window] = static_cast<double>(each.lines);
      for (const level_change& each : scan({.count = options_.least_lines, .ratio = options_.least_ratio_of_shares})) {
        if (of == series::kind && is_usual_novelty(kinds, index, each)) continue;
        add(of, index, each, lines_in(kinds[index], each.first, each.end));
      }
    }
  }

  // The first and the last window may be shorter, so that fewer lines in them are no information.
  void scan_rate() {
    std::ranges::fill(exposures_, 1);
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = static_cast<double>(stream_.windows[i].lines);
    std::vector<double> sorted = counts_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::ranges::nth_element(sorted, middle);
    for (const std::size_t i : {std::size_t{0}, counts_.size() - 1}) {
      if (counts_[i] <= *middle) counts_[i] = exposures_[i] = 0;
    }
    std::vector<level_change> found = scan({.count = options_.least_lines, .ratio = options_.least_ratio_of_rates});
    std::erase_if(found, [this](const level_change& each) { return !is_abrupt(each); });
    add_all(series::rate, 0, found);
  }

  [[nodiscard]] double mean_count(std::size_t first, std::size_t end) const {
    double count = 0;
    double exposure = 0;
    for (std::size_t i = first; i < end; ++i) {
      count += counts_[i];
      exposure += exposures_[i];
    }
    return count / std::max(1.0, exposure);
  }

  // Numbers of lines follow the hours of the day, so a slow change is usual: much of the difference is between the
  // windows before and after the begin, or the end.
  [[nodiscard]] bool is_abrupt(const level_change& of) const {
    constexpr std::size_t near = 3;
    const auto step = [&](std::size_t at) {
      const std::size_t before = at - std::min(at, near);
      const std::size_t after = std::min(counts_.size(), at + near);
      return std::abs(mean_count(before, at) - mean_count(at, after));
    };
    const double least = std::abs(of.inside - of.before) / 2;
    return step(of.first) >= least || (of.end < counts_.size() && step(of.end) >= least);
  }

  // Bytes come in lines.
  void scan_length() {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      counts_[i] = static_cast<double>(stream_.windows[i].bytes);
      exposures_[i] = static_cast<double>(stream_.windows[i].lines);
    }
    const double of_line = bytes_ / std::max(1.0, lines_);
    add_all(series::length, 0,
            scan({.factor = std::max(1.0, of_line),
                  .count = options_.least_lines * of_line,
                  .ratio = options_.least_ratio_of_lengths}));
  }

  void scan_classes() {
    const std::size_t classes = stream_.windows.empty() ? 0 : stream_.windows.front().classes.size();
    for (std::size_t index = 0; index < classes; ++index) {
      double all = 0;
      for (std::size_t i = 0; i < counts_.size(); ++i) {
        counts_[i] = static_cast<double>(stream_.windows[i].classes[index]);
        exposures_[i] = static_cast<double>(stream_.windows[i].bytes);
        all += counts_[i];
      }
      const double of_line = all / std::max(1.0, lines_);
      add_all(series::class_share, index,
              scan({.factor = std::max(1.0, of_line),
                    .count = options_.least_lines * std::max(1.0, of_line),
                    .ratio = options_.least_ratio_of_class_shares,
                    .level = options_.least_difference_of_class_shares}));
    }
  }

  std::vector<level_change> scan(scan_limits limits) const {
    limits.nats = nats_;
    limits.day = stream_.windows_in_day;
    std::vector<level_change> found = scan_levels(counts_, exposures_, limits);
    // the levels that are reported are those of other windows than the ones that were compared
    std::erase_if(found, [&](const level_change& each) {
      return std::max(each.before, each.inside) < limits.ratio * std::min(each.before, each.inside);
    });
    return found;
  }

  // Free text has new kinds all the time: whether kinds of that size begin, or end, at several other times.
  [[nodiscard]] bool is_usual_novelty(const std::vector<kind_of_line>& kinds, std::size_t index,
                                      const level_change& found) const {
    const kind_of_line& own = kinds[index];
    const std::size_t length = found.end - found.first;
    const bool begins = own.windows.front().window + 1 >= found.first && own.windows.front().window <= found.first + 1;
    const bool ends = own.windows.back().window <= found.first;
    const bool rises = found.inside > found.before;
    if (rises ? !begins : !ends) return false;
    const std::uint64_t size = rises ? lines_in(own, found.first, found.end)
                                     : lines_in(own, found.first - std::min(found.first, length), found.first);
    std::vector<std::size_t> times;
    for (const kind_of_line& other : kinds) {
      if (&other == &own) continue;
      const std::size_t at = rises ? other.windows.front().window : other.windows.back().window + 1;
      const bool is_edge = rises ? at < 3 : at + 3 > stream_.windows.size();
      const std::uint64_t of_other =
          rises ? lines_in(other, at, at + length) : lines_in(other, at - std::min(at, length), at);
      if (is_edge || distance(at, found.first) < 2 || of_other * 2 < size) continue;
      if (std::ranges::none_of(times, [&](std::size_t each) { return distance(each, at) < 2; })) times.push_back(at);
    }
    return times.size() >= usual_times;
  }

  void add_all(series of, std::size_t index, const std::vector<level_change>& found) {
    for (const level_change& each : found) {
      std::uint64_t lines = 0;
      for (std::size_t i = each.first; i < each.end; ++i) lines += stream_.windows[i].lines;
      add(of, index, each, lines);
    }
  }

  void add(series of, std::size_t index, const level_change& from, std::uint64_t lines) {
    const double log10 = std::log(10.0);
    found_.push_back({.of = of,
                      .index = index,
                      .before = from.before,
                      .inside = from.inside,
                      .lines = lines,
                      .first = from.first,
                      .end = from.end,
                      .evidence = (from.nats - log_comparisons_) / log10});
  }

  const log_stream& stream_;
  const finder_options& options_;
  const double log_comparisons_;
  const double nats_;
  double lines_ = 0;
  double bytes_ = 0;
  std::vector<double> counts_;  // of the series that is scanned
  std::vector<double> exposures_;
  std::vector<difference> found_;
};

std::size_t overlap(const difference& a, const difference& b) {
  const std::size_t first = std::max(a.first, b.first);
  const std::size_t end = std::min(a.end, b.end);
  return end > first ? end - first : 0;
}

bool is_of_kinds(const difference& of) {
  return of.of == series::kind || of.of == series::level || of.of == series::match;
}

// Whether both are of one incident: they begin together, or most of their windows are the same. What follows from the
// mix of kinds and from their number may be shorter.
bool belong_together(const difference& main, const difference& other) {
  const std::size_t common = overlap(main, other);
  const std::size_t shorter = std::min(main.end - main.first, other.end - other.first);
  if (!is_of_kinds(other) || !is_of_kinds(main)) return common * 2 >= shorter;
  const std::size_t all = (main.end - main.first) + (other.end - other.first) - common;
  return (common > 0 && distance(main.first, other.first) <= 1) || common * 2 >= all;
}

// The strongest differences first.
std::vector<change> join(std::vector<difference> found, std::size_t stream, std::size_t windows) {
  std::vector<change> made;
  for (difference& each : found) {
    const auto same =
        std::ranges::find_if(made, [&](const change& to) { return belong_together(to.differences.front(), each); });
    change& to = same == made.end() ? made.emplace_back() : *same;
    if (to.differences.empty()) {
      to.stream = stream;
      to.first = each.first;
      to.end = each.end;
      to.lasts = each.end + 1 >= windows;
      to.evidence = each.evidence;
    }
    const auto is_same = [&](const difference& other) { return other.of == each.of && other.index == each.index; };
    if (std::ranges::none_of(to.differences, is_same)) to.differences.push_back(each);
  }
  return made;
}

}  // namespace

std::vector<change> find_changes(std::span<const log_stream> streams, const finder_options& options) {
  double comparisons_of_run = 1;
  for (const log_stream& each : streams) {
    comparisons_of_run += static_cast<double>(stream_finder::number_of_series(each) * comparisons(each.windows.size()));
  }
  std::vector<change> made;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].windows.empty()) continue;
    std::vector<difference> found = stream_finder(streams[i], options, comparisons_of_run).find();
    std::vector<change> changes = join(std::move(found), i, streams[i].windows.size());
    made.insert(made.end(), std::make_move_iterator(changes.begin()), std::make_move_iterator(changes.end()));
  }
  std::ranges::stable_sort(made, [](const change& a, const change& b) {
    if (a.evidence != b.evidence) return a.evidence > b.evidence;
    return std::pair(a.stream, a.first) < std::pair(b.stream, b.first);
  });
  return made;
}

}  // namespace gpuhist::report::changes
