#include "report/changes/level_scan.hpp"

#include "report/changes/dispersion.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

namespace gpuhist::report::changes {
namespace {

// A level needs at least this many windows to be one that something differs from.
constexpr std::size_t least_reference = 3;
constexpr std::size_t least_windows = 6;
constexpr std::size_t most_stretches = 8;
// Of those that differ, this many are checked for a period, the strongest first.
constexpr std::size_t most_candidates = 64;
// The windows before a stretch that it is compared with, by its length.
constexpr std::size_t windows_before = 4;

// Of a difference: other stretches that have so much of it are as this one.
constexpr double recurring_part = 0.4;

enum class reference : std::uint8_t { others, before };

struct stretch {
  std::size_t first = 0;
  std::size_t end = 0;
  reference compared = reference::others;

  [[nodiscard]] std::size_t length() const { return end - first; }
};

struct candidate {
  stretch at;
  double nats = 0;
  double factor = 1;
};

bool has_windows_before(std::size_t windows, const stretch& at) {
  return at.first >= std::max(least_reference, at.length()) && windows_before * at.length() < windows / 2;
}

// All stretches that are compared. Lengths 1, 2, 3, 4, 6, 8, 12 ...; those that reach the end have any length. One that
// begins with the first window is not compared: the stretch after it is.
template <class Visit>
void for_each_stretch(std::size_t windows, Visit visit) {
  const auto visit_length = [&](std::size_t length) {
    for (std::size_t at = 1; at + length < windows; at += std::max<std::size_t>(1, length / 4)) {
      const stretch next{.first = at, .end = at + length};
      visit(next);
      if (has_windows_before(windows, next)) visit({.first = at, .end = at + length, .compared = reference::before});
    }
  };
  for (std::size_t length = 1; length + least_reference <= windows; length *= 2) {
    visit_length(length);
    if (length >= 2 && length / 2 * 3 + least_reference <= windows) visit_length(length / 2 * 3);
  }
  for (std::size_t at = least_reference; at < windows; ++at) {
    visit({.first = at, .end = windows});
    const stretch local{.first = at, .end = windows, .compared = reference::before};
    if (has_windows_before(windows, local)) visit(local);
  }
}

// One search in some windows of a series.
class level_search {
 public:
  // `places`: of the windows in their series.
  level_search(const count_sums& sums, std::span<const std::size_t> places, const scan_limits& limits)
      : sums_(sums), places_(places), limits_(limits), usual_level_(median_level(sums)) {}

  // The strongest stretch that is not regular.
  std::optional<candidate> strongest() {
    std::vector<candidate> found = candidates();
    const std::size_t checked = std::min(found.size(), most_candidates);
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(checked), stronger);
    for (std::size_t i = 0; i < checked; ++i) {
      candidate refined = refine_best(found, i);
      if (is_different(refined.at) && !is_regular(refined.at) && !is_regular(found[i].at)) return refined;
    }
    return std::nullopt;
  }

 private:
  static bool stronger(const candidate& a, const candidate& b) {
    return a.nats != b.nats ? a.nats > b.nats : std::pair(a.at.first, a.at.end) < std::pair(b.at.first, b.at.end);
  }

  [[nodiscard]] count_sums::part reference_of(const stretch& at) const {
    if (at.compared == reference::others) return sums_.all() - sums_.sum(at.first, at.end);
    const std::size_t reach = std::min(at.first, windows_before * at.length());
    return sums_.sum(at.first - reach, at.first);
  }

  // The limits that need no dispersion.
  [[nodiscard]] bool is_different(const stretch& at) const {
    const count_sums::part in = sums_.sum(at.first, at.end);
    const count_sums::part out = reference_of(at);
    const double observed = in.count * out.exposure;
    const double expected = out.count * in.exposure;
    if (in.exposure <= 0 || std::abs(observed - expected) < limits_.count * out.exposure) return false;
    if (at.compared == reference::before && is_usual(in.level(), out.level())) return false;
    if (observed < limits_.ratio * expected && expected < limits_.ratio * observed) return false;
    return out.exposure > 0 && std::abs(in.level() - out.level()) >= limits_.level;
  }

  static double median_level(const count_sums& sums) {
    std::vector<double> levels;
    for (std::size_t i = 0; i < sums.windows(); ++i) {
      const count_sums::part window = sums.sum(i, i + 1);
      if (window.exposure > 0) levels.push_back(window.level());
    }
    if (levels.empty()) return 0;
    const auto middle = levels.begin() + static_cast<std::ptrdiff_t>(levels.size() / 2);
    std::ranges::nth_element(levels, middle);
    return *middle;
  }

  // After a burst, the level of the series returns: that is no change of its own.
  [[nodiscard]] bool is_usual(double level, double before) const {
    const double whole = level - before;
    return (level - usual_level_) * whole < recurring_part * whole * whole;
  }

  std::vector<candidate> candidates() {
    std::vector<candidate> found;
    for_each_stretch(sums_.windows(), [&](const stretch& at) {
      if (!is_different(at)) return;
      const count_sums::part in = sums_.sum(at.first, at.end);
      const count_sums::part out = reference_of(at);
      if (log_likelihood_ratio(in, out, limits_.factor) < limits_.nats) return;
      if (!noise_) noise_.emplace(sums_);
      if (!noise_->known()) return;
      const std::size_t reach = at.compared == reference::before ? windows_before * at.length() : sums_.windows();
      const double level = (in.count + out.count) / (in.exposure + out.exposure);
      const dispersion::estimate noise = noise_->factor(at.length(), reach, level, in.exposure, limits_.factor);
      const double nats = nats_of(log_likelihood_ratio(in, out, noise.factor), noise.freedom);
      if (nats >= limits_.nats) found.push_back({.at = at, .nats = nats, .factor = noise.factor});
    });
    return found;
  }

  [[nodiscard]] double ratio_at(const stretch& at, double factor) const {
    return log_likelihood_ratio(sums_.sum(at.first, at.end), reference_of(at), factor);
  }

  // The stretch that was compared is one of a grid of lengths. A burst near the beginning of a series resembles a step
  // after it, so both are refined.
  [[nodiscard]] candidate refine_best(const std::vector<candidate>& found, std::size_t which) const {
    candidate best = refine(found[which]);
    if (which > 0) return best;
    const bool lasts = found[which].at.end == sums_.windows();
    for (const candidate& other : found) {
      if ((other.at.end == sums_.windows()) == lasts || other.at.compared != best.at.compared) continue;
      const candidate refined = refine(other);
      if (ratio_at(refined.at, best.factor) > ratio_at(best.at, best.factor)) best.at = refined.at;
      break;
    }
    return best;
  }

  // Moves the ends to where the likelihood ratio is greatest.
  [[nodiscard]] candidate refine(candidate of) const {
    const bool lasts = of.at.end == sums_.windows();
    const std::size_t reach = std::max<std::size_t>(1, of.at.length());
    for (int round = 0; round < 3; ++round) {
      const stretch at = of.at;
      const std::size_t least = lasts ? least_reference : 1;
      for (std::size_t first = std::max(least, at.first - std::min(at.first, reach));
           first < std::min(at.end, at.first + reach + 1); ++first) {
        improve(of, {.first = first, .end = at.end, .compared = at.compared});
      }
      if (lasts) continue;
      const std::size_t fixed = of.at.first;
      for (std::size_t end = std::max(fixed + 1, at.end - std::min(at.end, reach));
           end <= std::min(sums_.windows(), at.end + reach); ++end) {
        if (end < sums_.windows() || fixed >= least_reference) {
          improve(of, {.first = fixed, .end = end, .compared = at.compared});
        }
      }
    }
    return of;
  }

  void improve(candidate& best, const stretch& next) const {
    const count_sums::part out = reference_of(next);
    if (out.exposure <= 0 || sums_.windows() - next.length() < least_reference) return;
    if (ratio_at(next, best.factor) > ratio_at(best.at, best.factor)) best.at = next;
  }

  // Where other stretches of the same length reach much of the difference: runs of their first windows. Those that
  // touch the stretch belong to it.
  [[nodiscard]] std::vector<std::size_t> recurrences(const stretch& of) const {
    std::vector<std::size_t> middles;
    const double whole = sums_.sum(of.first, of.end).level() - reference_of(of).level();
    std::size_t run = 0;
    const auto finish = [&](std::size_t end) {
      const bool touches = end - run + of.length() >= of.first + 1 && end - run <= of.end + of.length() &&
                           (end - 1 + of.length() >= of.first && end - run <= of.end);
      if (run > 0 && !touches) middles.push_back(end - run + (run - 1) / 2 + of.length() / 2);
      run = 0;
    };
    std::size_t at = 0;
    for (; at + of.length() <= sums_.windows(); ++at) {
      if (reaches(of, whole, at)) {
        ++run;
      } else {
        finish(at);
      }
    }
    finish(at);
    return middles;
  }

  [[nodiscard]] bool reaches(const stretch& of, double whole, std::size_t at) const {
    const stretch other{.first = at, .end = at + of.length(), .compared = of.compared};
    if (other.end > of.first && other.first < of.end) return false;
    if (of.compared == reference::before && at < least_reference) return false;
    const count_sums::part in = sums_.sum(other.first, other.end);
    const double usual = reference_of(of).level();
    const count_sums::part own = sums_.sum(of.first, of.end);
    const double excess = own.count - usual * own.exposure;  // the same number of lines is a smaller share by day
    if ((in.count - usual * in.exposure) * excess >= recurring_part * excess * excess) return true;
    if (4 * in.exposure < own.exposure) return false;
    const double level = of.compared == reference::before ? reference_of(other).level() : usual;
    return (in.level() - level) * whole >= recurring_part * whole * whole;
  }

  // Of another day.
  [[nodiscard]] bool is_same_time(std::size_t a, std::size_t b) const {
    if (limits_.day < 2) return false;
    const std::size_t distance = places_[std::max(a, b)] - places_[std::min(a, b)];
    const std::size_t rest = distance % limits_.day;
    return distance + 1 >= limits_.day && std::min(rest, limits_.day - rest) <= 1;
  }

  [[nodiscard]] bool is_regular(const stretch& at) const {
    std::vector<std::size_t> middles = recurrences(at);
    const std::size_t middle = at.first + (at.length() - 1) / 2;
    if (std::ranges::any_of(middles, [&](std::size_t other) { return is_same_time(middle, other); })) return true;
    if (middles.size() != 2) return middles.size() > 2;
    middles.push_back(middle);
    std::ranges::sort(middles);
    const std::size_t one = middles[1] - middles[0];
    const std::size_t two = middles[2] - middles[1];
    return (one > two ? one - two : two - one) <= std::max<std::size_t>(1, (one + two) / 20);
  }

  const count_sums& sums_;
  const std::span<const std::size_t> places_;
  const scan_limits& limits_;
  const double usual_level_;
  std::optional<dispersion> noise_;  // most series differ nowhere, and need none
};

// A level that rises, or falls, all the time. Its blocks differ from each other at every scale, so no stretch of it is
// improbable; but their order is: Kendall's rank correlation of blocks and time.
class trend_search {
 public:
  trend_search(const count_sums& sums, const scan_limits& limits) : sums_(sums), limits_(limits) {}

  [[nodiscard]] std::optional<level_change> find() const {
    constexpr std::size_t least_blocks = 12;
    constexpr std::size_t most_blocks = 24;
    const std::size_t blocks = std::min(most_blocks, sums_.windows() / 2);
    if (blocks < least_blocks) return std::nullopt;
    const double nats = nats_of_order(blocks);
    const std::size_t fifth = sums_.windows() / 5;
    const count_sums::part begin = sums_.sum(0, fifth);
    const count_sums::part end = sums_.sum(sums_.windows() - fifth, sums_.windows());
    if (nats < limits_.nats || begin.exposure <= 0 || end.exposure <= 0) return std::nullopt;
    const double greater = std::max(begin.level(), end.level());
    const double smaller = std::min(begin.level(), end.level());
    const bool is_different = (greater - smaller) * end.exposure >= limits_.count &&
                              greater >= limits_.ratio * smaller && greater - smaller >= limits_.level;
    if (!is_different) return std::nullopt;
    return level_change{.first = first_of(blocks, begin.level(), end.level()),
                        .end = sums_.windows(),
                        .before = begin.level(),
                        .inside = end.level(),
                        .nats = nats};
  }

 private:
  [[nodiscard]] count_sums::part block(std::size_t number, std::size_t blocks) const {
    return sums_.sum(number * sums_.windows() / blocks, (number + 1) * sums_.windows() / blocks);
  }

  // -ln of the probability of such an order by chance, by the bound exp(-z * z / 2) of the normal distribution.
  [[nodiscard]] double nats_of_order(std::size_t blocks) const {
    double concordant = 0;
    for (std::size_t a = 0; a < blocks; ++a) {
      for (std::size_t b = a + 1; b < blocks; ++b) {
        const double first = block(a, blocks).level();
        const double second = block(b, blocks).level();
        concordant += first < second ? 1 : first > second ? -1 : 0;
      }
    }
    const auto n = static_cast<double>(blocks);
    return concordant * concordant / (n * (n - 1) * (2 * n + 5) / 9);
  }

  // Where a quarter of the difference is reached, and not left again.
  [[nodiscard]] std::size_t first_of(std::size_t blocks, double begin, double end) const {
    const double whole = end - begin;
    std::size_t first = blocks;
    while (first > 1 && (block(first - 1, blocks).level() - begin) * whole >= whole * whole / 4) --first;
    return std::min(first, blocks - 1) * sums_.windows() / blocks;
  }

  const count_sums& sums_;
  const scan_limits& limits_;
};

// Finds stretches one after the other: in the windows outside a stretch, joined, and in those inside it.
class level_scanner {
 public:
  level_scanner(std::span<const double> counts, std::span<const double> exposures, const scan_limits& limits)
      : counts_(counts), exposures_(exposures), limits_(limits) {}

  std::vector<level_change> scan() {
    sums_.assign(counts_, exposures_);
    std::vector<std::size_t> windows(counts_.size());
    std::iota(windows.begin(), windows.end(), std::size_t{0});
    const std::optional<candidate> found = level_search(sums_, windows, limits_).strongest();
    if (!found) {
      const std::optional<level_change> trend = trend_search(sums_, limits_).find();
      return trend ? std::vector{*trend} : std::vector<level_change>();
    }
    split(windows, *found);
    return join();
  }

 private:
  struct found_stretch {
    level_change change;
    bool rises = false;
  };

  void search(const std::vector<std::size_t>& windows) {
    if (windows.size() < least_windows || found_.size() >= most_stretches) return;
    std::vector<double> counts;
    std::vector<double> exposures;
    for (const std::size_t window : windows) {
      counts.push_back(counts_[window]);
      exposures.push_back(exposures_[window]);
    }
    count_sums sums;
    sums.assign(counts, exposures);
    const std::optional<candidate> found = level_search(sums, windows, limits_).strongest();
    if (found) split(windows, *found);
  }

  void split(const std::vector<std::size_t>& windows, const candidate& found) {
    add(windows, found);
    const auto first = windows.begin() + static_cast<std::ptrdiff_t>(found.at.first);
    const auto end = windows.begin() + static_cast<std::ptrdiff_t>(found.at.end);
    std::vector<std::size_t> outside(windows.begin(), first);
    outside.insert(outside.end(), end, windows.end());
    search(outside);
    search({first, end});
  }

  // Windows without exposure say nothing of the level.
  void add(const std::vector<std::size_t>& windows, const candidate& found) {
    std::size_t first = found.at.first;
    std::size_t last = found.at.end - 1;
    while (first < last && exposures_[windows[first]] <= 0) ++first;
    while (last > first && exposures_[windows[last]] <= 0) --last;
    count_sums::part in;
    count_sums::part out;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      count_sums::part& to = i >= found.at.first && i < found.at.end ? in : out;
      to.count += counts_[windows[i]];
      to.exposure += exposures_[windows[i]];
    }
    found_.push_back({.change = {.first = windows[first], .end = windows[last] + 1, .nats = found.nats},
                      .rises = in.level() > out.level()});
  }

  std::vector<level_change> join() {
    std::ranges::sort(found_, [](const found_stretch& a, const found_stretch& b) {
      return std::pair(a.change.first, b.change.end) < std::pair(b.change.first, a.change.end);
    });
    std::vector<found_stretch> joined;
    for (const found_stretch& next : found_) {
      const auto same = std::ranges::find_if(joined, [&](const found_stretch& to) { return is_one(to, next); });
      if (same == joined.end()) {
        joined.push_back(next);
      } else {
        same->change.end = std::max(same->change.end, next.change.end);
        same->change.nats = std::max(same->change.nats, next.change.nats);
      }
    }
    std::vector<level_change> made;
    for (const found_stretch& one : joined) made.push_back(with_levels(one.change, joined));
    return made;
  }

  // A drift is found as steps in the same direction.
  static bool is_one(const found_stretch& a, const found_stretch& b) {
    if (a.rises != b.rises) return false;
    return a.change.end == b.change.first || (b.change.first < a.change.end && b.change.end >= a.change.end);
  }

  [[nodiscard]] level_change with_levels(level_change of, const std::vector<found_stretch>& joined) const {
    count_sums::part in;
    count_sums::part before;
    count_sums::part others;
    std::size_t windows_before_it = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const count_sums::part window{.count = counts_[i], .exposure = exposures_[i]};
      const bool inside = i >= of.first && i < of.end;
      add_part(inside ? in : others, window);
      const bool is_quiet = std::ranges::none_of(
          joined, [&](const found_stretch& one) { return i >= one.change.first && i < one.change.end; });
      if (i < of.first && is_quiet && window.exposure > 0) {
        add_part(before, window);
        ++windows_before_it;
      }
    }
    of.inside = in.level();
    of.before = windows_before_it >= least_reference ? before.level() : others.level();
    return of;
  }

  static void add_part(count_sums::part& to, const count_sums::part& more) {
    to.count += more.count;
    to.exposure += more.exposure;
  }

  std::span<const double> counts_;
  std::span<const double> exposures_;
  const scan_limits& limits_;
  count_sums sums_;
  std::vector<found_stretch> found_;
};

}  // namespace

std::size_t comparisons(std::size_t windows) {
  std::size_t made = 0;
  if (windows >= least_windows) for_each_stretch(windows, [&](const stretch&) { ++made; });
  return made + 1;  // the trend
}

std::vector<level_change> scan_levels(std::span<const double> counts, std::span<const double> exposures,
                                      const scan_limits& limits) {
  if (counts.size() < least_windows) return {};
  return level_scanner(counts, exposures, limits).scan();
}

}  // namespace gpuhist::report::changes
