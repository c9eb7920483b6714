#include "pipeline/flow/statistics/occupancy.hpp"

#include <algorithm>

namespace gpuhist::pipeline {
namespace {

using std::chrono::nanoseconds;

nanoseconds times(std::size_t count, nanoseconds each) { return each * static_cast<nanoseconds::rep>(count); }

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void occupancy::move(phase from, phase to, time_point now) {
  advance(now);
  change(from, -1);
  change(to, 1);
}

void occupancy::change(phase changed, int by) {
  if (changed == phase::filling) filling_ += static_cast<std::uint64_t>(by);
  if (changed == phase::counting) counting_ += static_cast<std::uint64_t>(by);
}

void occupancy::advance(time_point now) {
  while (now - begin_ > times(bins, width_)) double_width();
  if (now > last_ && filling_ + counting_ == slots_) none_free_ += now - last_;
  while (last_ < now) {
    const auto at = static_cast<std::size_t>((last_ - begin_) / width_);
    const time_point until = std::min<time_point>(now, begin_ + times(at + 1, width_));
    const auto spent = static_cast<std::uint64_t>(nanoseconds(until - last_).count());
    bins_[at].filling += spent * filling_;
    bins_[at].counting += spent * counting_;
    last_ = until;
  }
}

void occupancy::double_width() {
  for (std::size_t i = 0; i < bins / 2; ++i) {
    bins_[i] = {.filling = bins_[2 * i].filling + bins_[2 * i + 1].filling,
                .counting = bins_[2 * i].counting + bins_[2 * i + 1].counting};
  }
  std::fill(bins_.begin() + bins / 2, bins_.end(), bin{});
  width_ *= 2;
}

slot_history occupancy::read(time_point end) const {
  occupancy whole = *this;
  whole.advance(end);
  const nanoseconds spent = whole.last_ - begin_;
  slot_history history{.step_seconds = std::chrono::duration<double>(whole.width_).count(), .in_use = {}};
  const auto slots = static_cast<double>(slots_);
  double filling = 0;
  double counting = 0;
  for (std::size_t i = 0; i < bins && times(i, whole.width_) < spent; ++i) {
    const auto step = static_cast<double>(std::min(whole.width_, spent - times(i, whole.width_)).count());
    const auto in_filling = static_cast<double>(whole.bins_[i].filling);
    const auto in_counting = static_cast<double>(whole.bins_[i].counting);
    history.in_use.push_back(share(in_filling + in_counting, slots * step));
    filling += in_filling;
    counting += in_counting;
  }
  const auto all = static_cast<double>(spent.count());
  history.filling_share = share(filling, slots * all);
  history.counting_share = share(counting, slots * all);
  history.free_share = 1 - history.filling_share - history.counting_share;
  history.none_free_share = share(static_cast<double>(whole.none_free_.count()), all);
  return history;
}

}  // namespace gpuhist::pipeline
