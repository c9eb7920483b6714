#include "report/changes/incidents.hpp"

#include "report/changes/dispersion.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace gpuhist::report::changes {
namespace {

using series = difference::series;

std::size_t gap(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

// Of a kind that is not explained by others.
constexpr double least_nats = 10;

// Series that change whenever the mix of kinds does.
bool is_supporting(const difference& of) { return of.of == series::length || of.of == series::class_share; }

bool is_same_incident(const change& a, const difference& b) {
  const std::size_t common_first = std::max(a.first, b.first);
  const std::size_t common_end = std::min(a.end, b.end);
  if (common_end <= common_first) return false;
  const std::size_t common = common_end - common_first;
  const std::size_t shorter = std::min(a.end - a.first, b.end - b.first);
  if (gap(a.first, b.first) <= std::max<std::size_t>(1, shorter / 4)) return true;
  const std::size_t both = std::max(a.end, b.end) - std::min(a.first, b.first);
  // A supporting difference is seen later, or in a part of the stretch.
  return is_supporting(b) ? 3 * common >= both : 2 * common >= both;
}

// Lines in the stretch of a change, and in the windows that it is compared with.
struct line_split {
  double inside = 0;
  double before = 0;
};

class explained_kinds {
 public:
  explained_kinds(const log_stream& stream, const change& of) : stream_(stream), change_(of) {
    for (std::size_t i = 0; i < stream.windows.size(); ++i) add(rest_, i, stream.windows[i].lines);
  }

  // The kind with the greatest movement of lines first: all others together moved as much, in the other direction.
  void drop(std::vector<difference>& differences, double least_ratio) {
    std::vector<difference*> kinds;
    for (difference& one : differences) {
      if (one.of == series::kind) kinds.push_back(&one);
    }
    std::ranges::sort(kinds, [](const difference* a, const difference* b) {
      return std::tuple(-moved(*a), a->index, a->first) < std::tuple(-moved(*b), b->index, b->first);
    });
    std::vector<std::size_t> dropped;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const line_split lines = lines_of(kinds[i]->index);
      if (i > 0 && !differs(lines, least_ratio)) {
        dropped.push_back(kinds[i]->index);
      } else {
        rest_.inside -= lines.inside;
        rest_.before -= lines.before;
      }
    }
    std::erase_if(differences, [&](const difference& one) {
      return one.of == series::kind && std::ranges::find(dropped, one.index) != dropped.end();
    });
  }

 private:
  static double moved(const difference& of) {
    return std::abs(of.inside - of.before) * static_cast<double>(of.end - of.first);
  }

  [[nodiscard]] bool differs(const line_split& of, double least_ratio) const {
    const double inside = of.inside * rest_.before;
    const double before = of.before * rest_.inside;
    if (inside < least_ratio * before && before < least_ratio * inside) return false;
    return log_likelihood_ratio({.count = of.inside, .exposure = rest_.inside},
                                {.count = of.before, .exposure = rest_.before}, 1) >= least_nats;
  }

  [[nodiscard]] line_split lines_of(std::size_t kind) const {
    line_split sum;
    for (const kind_window& window : stream_.kinds[kind].windows) add(sum, window.window, window.lines);
    return sum;
  }

  void add(line_split& to, std::size_t window, std::uint64_t lines) const {
    const auto more = static_cast<double>(lines);
    if (window >= change_.first && window < change_.end) {
      to.inside += more;
    } else if (window < change_.first || change_.first < 3) {
      to.before += more;
    }
  }

  const log_stream& stream_;
  const change& change_;
  line_split rest_;  // of all kinds but those that differ
};

}  // namespace

std::vector<change> incidents(const log_stream& stream, std::size_t index, std::vector<difference> found,
                              double least_ratio) {
  std::ranges::sort(found, [](const difference& a, const difference& b) {
    return std::tuple(-a.evidence, a.of, a.index, a.first) < std::tuple(-b.evidence, b.of, b.index, b.first);
  });
  std::vector<change> made;
  for (difference& next : found) {
    auto at = std::ranges::find_if(made, [&](const change& one) { return is_same_incident(one, next); });
    if (at == made.end()) {
      at = made.insert(made.end(), {.stream = index,
                                    .first = next.first,
                                    .end = next.end,
                                    .lasts = next.end == stream.windows.size(),
                                    .evidence = next.evidence});
    }
    at->differences.push_back(next);
  }
  for (change& one : made) explained_kinds(stream, one).drop(one.differences, least_ratio);
  return made;
}

}  // namespace gpuhist::report::changes
