#include "report/units/event_watermark.hpp"

#include "report/units/group_table.hpp"

#include <algorithm>

namespace gpuhist::report::units {
namespace {

// In nanoseconds.
constexpr std::int64_t longest_tick = 1'000'000'000;       // longer: the process did not run
constexpr std::int64_t live_within = 3600 * longest_tick;  // of the clock: times are those of now
constexpr std::int64_t credible_within = std::int64_t{24} * 3600 * longest_tick;  // after the clock

}  // namespace

std::int64_t closing_windows::closed_before(std::int64_t watermark) const {
  return rounded_down(watermark - lateness, length);
}

// A division is saved for most lines.
void event_horizon::advance(std::int64_t time) {
  now_.latest = time;
  const std::int64_t watermark = std::min(time, now_.held_at);
  if (watermark == no_time) return;
  if (now_.closed_before != no_time && watermark - windows_.lateness < now_.closed_before + windows_.length) return;
  now_.closed_before = std::max(now_.closed_before, windows_.closed_before(watermark));
}

void event_watermark::open(std::uint64_t input) {
  const std::scoped_lock lock(mutex_);
  inputs_.try_emplace(input);
}

event_horizon event_watermark::begin(std::uint64_t input, std::int64_t clock) {
  const std::scoped_lock lock(mutex_);
  input_state& of = inputs_[input];
  of.is_idle = false;
  idle_for_ = 0;
  return {windows_,
          {.latest = of.latest,
           .held_at = held_by_others(input),
           .closed_before = closed_before_,
           .believed = clock + credible_within}};
}

void event_watermark::end(std::uint64_t input, const event_horizon& reached) {
  const std::scoped_lock lock(mutex_);
  inputs_[input].latest = reached.now().latest;
  closed_before_ = std::max(closed_before_, reached.now().closed_before);
}

void event_watermark::note_idle(std::uint64_t input, std::int64_t clock) {
  const std::scoped_lock lock(mutex_);
  input_state& of = inputs_[input];
  if (of.is_idle) return;
  of.is_idle = true;
  clock_when_idle_ = clock;
  idle_for_ = 0;
  settle();
}

void event_watermark::close(std::uint64_t input) {
  const std::scoped_lock lock(mutex_);
  const auto found = inputs_.find(input);
  if (found == inputs_.end()) return;
  latest_of_ended_ = std::max(latest_of_ended_, found->second.latest);
  inputs_.erase(found);
  if (!inputs_.empty()) settle();
}

void event_watermark::tick(std::int64_t elapsed) {
  const std::scoped_lock lock(mutex_);
  if (inputs_.empty() || !are_all_idle()) return;
  const bool has_stalled = elapsed > longest_tick;
  idle_for_ = has_stalled ? 0 : idle_for_ + elapsed;
  const std::int64_t latest = latest_of_all();
  if (latest == event_horizon::no_time) return;
  const std::int64_t bound = std::max(live_within, windows_.length + windows_.lateness);
  const bool is_live = latest >= clock_when_idle_ - bound && latest <= clock_when_idle_ + bound;
  if (is_live) advance(latest + idle_for_);
}

void event_watermark::close_all() {
  const std::scoped_lock lock(mutex_);
  closed_before_ = group_id::reported;  // later than any window
}

std::int64_t event_watermark::closed_before() const {
  const std::scoped_lock lock(mutex_);
  return closed_before_;
}

std::int64_t event_watermark::held_by_others(std::uint64_t input) const {
  std::int64_t lowest = event_horizon::no_limit;
  for (const auto& [other, of] : inputs_) {
    if (other != input && !of.is_idle) lowest = std::min(lowest, of.latest);
  }
  return lowest;
}

std::int64_t event_watermark::latest_of_all() const {
  std::int64_t latest = latest_of_ended_;
  for (const auto& [input, of] : inputs_) latest = std::max(latest, of.latest);
  return latest;
}

bool event_watermark::are_all_idle() const {
  return std::ranges::all_of(inputs_, [](const auto& each) { return each.second.is_idle; });
}

// An input holds the watermark back no more.
void event_watermark::settle() { advance(are_all_idle() ? latest_of_all() : held_by_others(no_input)); }

void event_watermark::advance(std::int64_t watermark) {
  if (watermark == event_horizon::no_time) return;
  closed_before_ = std::max(closed_before_, windows_.closed_before(watermark));
}

}  // namespace gpuhist::report::units
