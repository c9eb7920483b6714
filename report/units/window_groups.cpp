#include "report/units/window_groups.hpp"

#include "report/units/group_result.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t share_of_window = 8;  // of the memory for groups: few windows are open

}  // namespace

window_groups::window_groups(const unit_plan& plan, group_table empty)
    : plan_(*plan.lines), empty_(std::move(empty)), others_(this->empty()) {}

// `share`: of the memory.
group_sum window_groups::empty(std::size_t share) const {
  group_sum::limits allowed = limits_of(plan_);
  allowed.in_memory /= share;
  return {empty_, allowed};
}

group_sum& window_groups::window_of(std::int64_t start) {
  const auto found = open_.find(start);
  if (found != open_.end()) return found->second;
  return open_.emplace(start, empty(share_of_window)).first->second;
}

// A reader may have added lines to a window that another one has closed meanwhile.
void window_groups::add(const group_table& more) {
  std::map<std::int64_t, group_table> by_window;
  for (std::size_t place = 0; place < more.size(); ++place) {
    std::int64_t window = more.at(place).window;
    if (window < taken_before_ && group_id::is_time(window)) window = group_id::late;
    by_window.try_emplace(window, more.without_groups()).first->second.add(more, place, window);
  }
  for (const auto& [window, groups] : by_window) {
    (group_id::is_time(window) ? window_of(window) : others_).add(groups);
  }
}

std::vector<window_sum> window_groups::take_closed(std::int64_t before, kept remainder) {
  taken_before_ = std::max(taken_before_, before);
  const auto end = open_.lower_bound(taken_before_);
  std::vector<window_sum> taken;
  for (auto each = open_.begin(); each != end; ++each) {
    each->second.for_each_part([&](const group_table& part) {
      group_table kept_groups = part.without_groups();
      const std::int64_t window = remainder == kept::window ? each->first : group_id::reported;
      for (std::size_t place = 0; place < part.size(); ++place) kept_groups.add(part, place, window);
      others_.add(kept_groups);
    });
    taken.push_back({.start = each->first, .groups = std::move(each->second)});
  }
  open_.erase(open_.begin(), end);
  return taken;
}

std::size_t window_groups::closed(std::int64_t before) const {
  return static_cast<std::size_t>(std::distance(open_.begin(), open_.lower_bound(before)));
}

group_sum window_groups::all() const {
  group_sum sum = empty();
  sum.add(others_);
  for (const auto& [start, groups] : open_) sum.add(groups);
  return sum;
}

}  // namespace gpuhist::report::units
