#include "report/changes/level_scan.hpp"

#include "report/changes/dispersion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

namespace gpuhist::report::changes {
namespace {

// Stretches are separate if they are at least this many windows apart.
constexpr std::size_t least_gap = 2;
// A level needs at least this many windows to be one that something differs from.
constexpr std::size_t least_reference = 3;
constexpr std::size_t least_windows = 6;
constexpr std::size_t most_searches = 16;
// Of those that differ, this many are checked for a period, the strongest first.
constexpr std::size_t most_candidates = 64;
// Of those that are no part of a period, the strongest of this many is taken.
constexpr std::size_t most_compared = 16;
// The windows on either side of a stretch that it is compared with, by its length.
constexpr std::size_t windows_beside = 2;
// A time scale at which the dispersion of all windows is estimated has this many blocks: three of them may be
// different.
constexpr std::size_t blocks_for_screening = 16;
// The same for the windows outside a stretch.
constexpr std::size_t blocks_without_stretch = 6;
// A second burst must not hide the first one.
constexpr std::size_t edges_of_burst = 2;

// What a stretch is compared with: all other windows, or those beside it on either side. The latter find a burst in a
// series that has a daily cycle.
enum class reference : std::uint8_t { others, beside };

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

// Of a stretch that reaches the end, the windows before it are on both sides: nearer and farther ones.
bool has_windows_beside(std::size_t windows, const stretch& at) {
  const std::size_t beside = windows_beside * at.length();
  if (at.end == windows) return at.first >= 2 * beside;
  return at.first >= beside && at.end + beside <= windows && 4 * beside < windows;
}

// All stretches that are compared. Lengths 1, 2, 3, 4, 6, 8, 12 ... up to half of the windows; those that reach the end
// have any length. One that begins with the first window is not compared: the stretch after it is.
template <class Visit>
void for_each_stretch(std::size_t windows, Visit visit) {
  const auto visit_length = [&](std::size_t length) {
    for (std::size_t at = 1; at + length < windows; at += std::max<std::size_t>(1, length / 4)) {
      const stretch next{.first = at, .end = at + length};
      visit(next);
      if (has_windows_beside(windows, next)) visit({.first = at, .end = at + length, .compared = reference::beside});
    }
  };
  for (std::size_t length = 1; 2 * length <= windows; length *= 2) {
    visit_length(length);
    if (length >= 2 && 3 * length <= windows) visit_length(length / 2 * 3);
  }
  for (std::size_t at = least_reference; at < windows; ++at) {
    visit({.first = at, .end = windows});
    const stretch local{.first = at, .end = windows, .compared = reference::beside};
    if (has_windows_beside(windows, local)) visit(local);
  }
}

// The strongest stretch that is not regular; if there are regular ones as strong, only their windows.
struct search_result {
  std::optional<candidate> found{};
  std::vector<stretch> regular{};
};

// Overlapping stretches, from the first window of the first to the end of the last.
struct run_of_stretches {
  std::size_t first = 0;
  std::size_t end = 0;
  stretch most{};  // the one that differs most
};

// One search in some windows of a series.
class level_search {
 public:
  // `places`: of the windows in their series.
  level_search(const count_sums& sums, std::span<const std::size_t> places, const scan_limits& limits)
      : sums_(sums), places_(places), limits_(limits) {}

  // Those that differ by the dispersion of all windows are verified by that of the windows outside them.
  search_result strongest() const {
    std::vector<candidate> found = candidates();
    const std::size_t checked = std::min(found.size(), most_candidates);
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(checked), stronger);
    search_result best;
    for (std::size_t i = 0; i < checked && (!best.found || i < most_compared); ++i) {
      verify(found[i]);
      if (found[i].nats < limits_.nats || (best.found && best.found->nats >= found[i].nats)) continue;
      const candidate refined = with_edges(refine_best(found, i));
      if (!is_different(refined.at)) continue;
      std::vector<stretch> regular = regular_parts(refined, found[i].at);
      if (!regular.empty()) return {.regular = std::move(regular)};
      best.found = refined;
    }
    return best;
  }

  [[nodiscard]] double reference_level(const stretch& at) const {
    count_sums::part sum;
    for (const count_sums::part& one : references(at)) {
      sum.count += one.count;
      sum.exposure += one.exposure;
    }
    return sum.level();
  }

 private:
  static bool stronger(const candidate& a, const candidate& b) {
    return a.nats != b.nats ? a.nats > b.nats : std::pair(a.at.first, a.at.end) < std::pair(b.at.first, b.at.end);
  }

  // A stretch must differ from both. So a burst does not make the windows after it differ.
  [[nodiscard]] std::array<count_sums::part, 2> references(const stretch& at) const {
    const std::size_t beside = windows_beside * at.length();
    if (at.compared == reference::others) {
      const count_sums::part others = sums_.all() - sums_.sum(at.first, at.end);
      return {others, others};
    }
    const std::size_t near = at.first - std::min(at.first, beside);
    if (at.end == sums_.windows()) return {sums_.sum(near, at.first), sums_.sum(near - std::min(near, beside), near)};
    return {sums_.sum(near, at.first), sums_.sum(at.end, std::min(sums_.windows(), at.end + beside))};
  }

  // The limits that need no dispersion.
  [[nodiscard]] bool is_different(const stretch& at) const {
    const count_sums::part in = sums_.sum(at.first, at.end);
    if (at.compared == reference::others) return differs(in, sums_.all() - in, limits_);
    const std::array<count_sums::part, 2> out = references(at);
    return differs(in, out[0], limits_) && differs(in, out[1], limits_) &&
           (in.level() > out[0].level()) == (in.level() > out[1].level());
  }

  [[nodiscard]] double log_ratio(const stretch& at, double factor) const {
    const count_sums::part in = sums_.sum(at.first, at.end);
    const std::array<count_sums::part, 2> out = references(at);
    const double first = log_likelihood_ratio(in, out[0], factor);
    return at.compared == reference::others ? first : std::min(first, log_likelihood_ratio(in, out[1], factor));
  }

  std::vector<candidate> candidates() const {
    std::vector<candidate> found;
    std::optional<dispersion> noise;  // most series differ nowhere, and need none
    for_each_stretch(sums_.windows(), [&](const stretch& at) {
      if (!is_different(at) || log_ratio(at, limits_.factor) < limits_.nats) return;
      if (!noise) noise.emplace(sums_, blocks_for_screening, 2 * edges_of_burst);
      if (!noise->known()) return;
      candidate next{.at = at};
      rate(next, *noise);
      if (next.nats >= limits_.nats) found.push_back(next);
    });
    return found;
  }

  void rate(candidate& of, const dispersion& noise) const {
    const std::size_t reach = of.at.compared == reference::beside ? windows_beside * of.at.length() : sums_.windows();
    const double exposure = sums_.sum(of.at.first, of.at.end).exposure;
    const dispersion::estimate estimate = noise.factor(of.at.length(), reach, exposure, limits_.factor);
    of.factor = estimate.factor;
    of.nats = nats_of(log_ratio(of.at, estimate.factor), estimate.freedom);
  }

  // If the stretch is the greater part, the dispersion is that of its own windows.
  void verify(candidate& of) const {
    const bool greater = 2 * of.at.length() > sums_.windows();
    std::vector<double> counts;
    std::vector<double> exposures;
    for (std::size_t i = 0; i < sums_.windows(); ++i) {
      if ((i >= of.at.first && i < of.at.end) != greater) continue;
      const count_sums::part window = sums_.sum(i, i + 1);
      counts.push_back(window.count);
      exposures.push_back(window.exposure);
    }
    count_sums sums;
    sums.assign(counts, exposures);
    const dispersion noise(sums, blocks_without_stretch, edges_of_burst);
    of.nats = 0;
    if (noise.known()) rate(of, noise);
  }

  // Few windows before a stretch, or after it, belong to it unless they differ from it themselves.
  [[nodiscard]] candidate with_edges(candidate of) const {
    const count_sums::part in = sums_.sum(of.at.first, of.at.end);
    const auto is_other = [&](const count_sums::part& edge) {
      return edge.exposure > 0 && log_likelihood_ratio(edge, in, of.factor) >= limits_.nats / 2;
    };
    const std::size_t windows = sums_.windows();
    if (of.at.end < windows && windows - of.at.end < least_reference && of.at.first >= least_reference &&
        !is_other(sums_.sum(of.at.end, windows))) {
      of.at.end = windows;
    } else if (of.at.first < least_reference && of.at.end >= least_reference && of.at.end < windows &&
               !is_other(sums_.sum(0, of.at.first))) {
      of.at = {.first = of.at.end, .end = windows, .compared = reference::others};
    }
    return of;
  }

  // Windows of a stretch that is regular as it is, as it was compared, or because of its bursts.
  [[nodiscard]] std::vector<stretch> regular_parts(const candidate& of, const stretch& compared) const {
    std::vector<stretch> regular = regular_windows(of.at);
    if (regular.empty()) regular = regular_windows(compared);
    return regular.empty() && of.at.length() > 2 ? regular_bursts(of) : regular;
  }

  // The window that differs most and its recurrences, if most windows of the stretch are others that differ from it: a
  // level that is made of a few bursts is no level.
  [[nodiscard]] std::vector<stretch> regular_bursts(const candidate& of) const {
    candidate burst{.at = most_different_window(of.at)};
    const std::vector<stretch> regular = regular_windows(burst.at);
    count_sums::part others = sums_.sum(of.at.first, of.at.end);
    std::size_t left_out = 0;
    for (const stretch& one : regular) {
      if (one.first < of.at.first || one.end > of.at.end) continue;
      others = others - sums_.sum(one.first, one.end);
      ++left_out;
    }
    if (2 * left_out >= of.at.length() || others.exposure <= 0) return {};
    verify(burst);
    const count_sums::part in = sums_.sum(burst.at.first, burst.at.end);
    return log_likelihood_ratio(in, others, burst.factor) >= limits_.nats ? regular : std::vector<stretch>();
  }

  [[nodiscard]] stretch most_different_window(const stretch& of) const {
    const bool rises = sums_.sum(of.first, of.end).level() > reference_level(of);
    std::size_t most = of.first;
    for (std::size_t i = of.first; i < of.end; ++i) {
      const double level = sums_.sum(i, i + 1).level();
      const double best = sums_.sum(most, most + 1).level();
      if (rises ? level > best : level < best) most = i;
    }
    return {.first = most, .end = most + 1};
  }

  // The stretch that was compared is one of a grid of lengths. A burst near the beginning of a series resembles a step
  // after it, so both are refined.
  [[nodiscard]] candidate refine_best(const std::vector<candidate>& found, std::size_t which) const {
    candidate best = refine(found[which]);
    const bool lasts = found[which].at.end == sums_.windows();
    for (const candidate& other : found) {
      if ((other.at.end == sums_.windows()) == lasts || other.at.compared != best.at.compared) continue;
      const candidate refined = refine(other);
      if (log_ratio(refined.at, best.factor) > log_ratio(best.at, best.factor)) best.at = refined.at;
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
    const bool lasts = next.end == sums_.windows();
    if (lasts ? next.first < least_reference : 2 * next.length() > sums_.windows()) return;
    for (const count_sums::part& out : references(next)) {
      if (out.exposure <= 0) return;
    }
    if (log_ratio(next, best.factor) > log_ratio(best.at, best.factor)) best.at = next;
  }

  // Where other stretches of the same length reach half of the difference: of each run of them that which reaches most.
  // Those that touch the stretch belong to it.
  [[nodiscard]] std::vector<stretch> recurrences(const stretch& of) const {
    const double whole = sums_.sum(of.first, of.end).level() - reference_level(of);
    const auto height = [&](const stretch& at) { return sums_.sum(at.first, at.end).level() * whole; };
    std::vector<run_of_stretches> runs;
    for (std::size_t at = 0; at + of.length() <= sums_.windows(); ++at) {
      if (!reaches(of, whole, at)) continue;
      const stretch next{.first = at, .end = at + of.length()};
      if (runs.empty() || runs.back().end + least_gap < next.end) runs.push_back({.first = at, .most = next});
      runs.back().end = next.end;
      if (height(next) > height(runs.back().most)) runs.back().most = next;
    }
    std::vector<stretch> found;
    for (const run_of_stretches& run : runs) {
      if (run.end + least_gap <= of.first || of.end + least_gap <= run.first) found.push_back(run.most);
    }
    return found;
  }

  [[nodiscard]] bool reaches(const stretch& of, double whole, std::size_t at) const {
    const stretch other{.first = at, .end = at + of.length(), .compared = of.compared};
    if (other.end > of.first && other.first < of.end) return false;
    const count_sums::part in = sums_.sum(other.first, other.end);
    const count_sums::part own = sums_.sum(of.first, of.end);
    const double usual = reference_level(of);
    const double excess = own.count - usual * own.exposure;  // as many lines are a smaller share by day
    if ((in.count - usual * in.exposure) * excess >= excess * excess / 2) return true;
    if (4 * in.exposure < own.exposure) return false;
    const double level = reference_level(of.compared == reference::beside ? other : of);
    return (in.level() - level) * whole >= whole * whole / 2;
  }

  // Of another day.
  [[nodiscard]] bool is_same_time(const stretch& a, const stretch& b) const {
    if (limits_.day < 2) return false;
    const std::size_t distance = places_[std::max(a.first, b.first)] - places_[std::min(a.first, b.first)];
    const std::size_t rest = distance % limits_.day;
    return distance + 1 >= limits_.day && std::min(rest, limits_.day - rest) <= 1;
  }

  // The stretch and its recurrences, if they are so many that it is regular.
  [[nodiscard]] std::vector<stretch> regular_windows(const stretch& of) const {
    std::vector<stretch> all = recurrences(of);
    const bool is_daily = std::ranges::any_of(all, [&](const stretch& other) { return is_same_time(of, other); });
    if (all.size() < 2 && !is_daily) return {};
    all.push_back(of);
    if (is_daily) return all;
    std::ranges::sort(all, {}, &stretch::first);
    if (all.size() > 3) return all;
    const std::size_t one = all[1].first - all[0].first;
    const std::size_t two = all[2].first - all[1].first;
    const std::size_t tolerance = std::max({std::size_t{1}, of.length() / 2, (one + two) / 20});
    return (one > two ? one - two : two - one) <= tolerance ? all : std::vector<stretch>();
  }

  const count_sums& sums_;
  const std::span<const std::size_t> places_;
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
    const search_result result = level_search(sums_, windows, limits_).strongest();
    if (!result.found && result.regular.empty()) return {};
    resume(windows, sums_, result);
    return join();
  }

 private:
  struct found_stretch {
    level_change change;
    bool rises = false;
    reference compared = reference::others;
  };

  void search(const std::vector<std::size_t>& windows) {
    if (windows.size() < least_windows || ++searches_ > most_searches) return;
    std::vector<double> counts;
    std::vector<double> exposures;
    for (const std::size_t window : windows) {
      counts.push_back(counts_[window]);
      exposures.push_back(exposures_[window]);
    }
    count_sums sums;
    sums.assign(counts, exposures);
    resume(windows, sums, level_search(sums, windows, limits_).strongest());
  }

  void resume(const std::vector<std::size_t>& windows, const count_sums& sums, const search_result& result) {
    if (!result.regular.empty()) {
      search(without(windows, result.regular));
    } else if (result.found) {
      split(windows, sums, *result.found);
    }
  }

  static std::vector<std::size_t> without(const std::vector<std::size_t>& windows, std::span<const stretch> left_out) {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const auto has = [&](const stretch& at) { return i >= at.first && i < at.end; };
      if (std::ranges::none_of(left_out, has)) kept.push_back(windows[i]);
    }
    return kept;
  }

  void split(const std::vector<std::size_t>& windows, const count_sums& sums, const candidate& found) {
    add(windows, sums, found);
    const auto first = windows.begin() + static_cast<std::ptrdiff_t>(found.at.first);
    const auto end = windows.begin() + static_cast<std::ptrdiff_t>(found.at.end);
    std::vector<std::size_t> outside(windows.begin(), first);
    outside.insert(outside.end(), end, windows.end());
    search(outside);
    search({first, end});
  }

  // Windows without exposure say nothing of the level.
  void add(const std::vector<std::size_t>& windows, const count_sums& sums, const candidate& found) {
    std::size_t first = found.at.first;
    std::size_t last = found.at.end - 1;
    while (first < last && exposures_[windows[first]] <= 0) ++first;
    while (last > first && exposures_[windows[last]] <= 0) --last;
    const double before = level_search(sums, windows, limits_).reference_level(found.at);
    found_.push_back(
        {.change = {.first = windows[first], .end = windows[last] + 1, .before = before, .nats = found.nats},
         .rises = sums.sum(found.at.first, found.at.end).level() > before,
         .compared = found.at.compared});
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
    for (const found_stretch& one : joined) made.push_back(with_levels(one, joined));
    return made;
  }

  // A drift is found as steps in the same direction.
  static bool is_one(const found_stretch& a, const found_stretch& b) {
    if (a.rises != b.rises) return false;
    return a.change.end == b.change.first || (b.change.first < a.change.end && b.change.end >= a.change.end);
  }

  [[nodiscard]] level_change with_levels(const found_stretch& found, const std::vector<found_stretch>& joined) const {
    level_change of = found.change;
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
    if (found.compared == reference::others) {
      of.before = windows_before_it >= least_reference ? before.level() : others.level();
    }
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
  std::size_t searches_ = 0;
};

}  // namespace

bool differs(const count_sums::part& in, const count_sums::part& out, const scan_limits& limits) {
  const double observed = in.count * out.exposure;
  const double expected = out.count * in.exposure;
  if (in.exposure <= 0 || std::abs(observed - expected) < limits.count * out.exposure) return false;
  if (observed < limits.ratio * expected && expected < limits.ratio * observed) return false;
  return out.exposure > 0 && std::abs(in.level() - out.level()) >= limits.level;
}

std::size_t comparisons(std::size_t windows) {
  std::size_t made = 0;
  if (windows >= least_windows) for_each_stretch(windows, [&](const stretch&) { ++made; });
  return made;
}

std::vector<level_change> scan_levels(std::span<const double> counts, std::span<const double> exposures,
                                      const scan_limits& limits) {
  if (counts.size() < least_windows) return {};
  return level_scanner(counts, exposures, limits).scan();
}

std::vector<level_change> compare_levels(std::span<const double> counts, std::span<const double> exposures,
                                         std::size_t boundary, const scan_limits& limits) {
  count_sums sums;
  sums.assign(counts, exposures);
  const std::size_t windows = sums.windows();
  const count_sums::part before = sums.sum(0, boundary);
  const count_sums::part after = sums.sum(boundary, windows);
  if (!differs(after, before, limits) || !differs(before, after, limits)) return {};
  level_change made{.first = boundary, .end = windows, .before = before.level(), .inside = after.level(), .nats = 0};
  const dispersion noise(sums, blocks_without_stretch, edges_of_burst, boundary);
  if (noise.known()) {
    // of the two, that which may differ more by chance
    const auto estimate = std::max(noise.factor(boundary, windows, before.exposure, limits.factor),
                                   noise.factor(windows - boundary, windows, after.exposure, limits.factor),
                                   [](const auto& a, const auto& b) { return a.factor < b.factor; });
    made.nats = nats_of(log_likelihood_ratio(after, before, estimate.factor), estimate.freedom);
  } else {
    made.nats = log_likelihood_ratio(after, before, limits.factor);
  }
  return made.nats >= limits.nats ? std::vector{made} : std::vector<level_change>();
}

}  // namespace gpuhist::report::changes
