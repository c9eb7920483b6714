#include "gpu/cuda/timeline.hpp"

#include <algorithm>
#include <iterator>

namespace gpuhist::gpu::cuda {

void timeline::covered::add(interval when) {
  seconds += std::max(0.0, when.end - std::max(when.begin, until));
  until = std::max(until, when.end);
}

void timeline::sweep::add(const piece& next) {
  (next.is_copy ? copies : kernels).add(next.when);
  either.add(next.when);
}

// Most pieces begin after all others.
void timeline::insert(const piece& next) {
  auto at = window_.end();
  while (at != window_.begin() && next.when.begin < std::prev(at)->when.begin) --at;
  window_.insert(at, next);
}

void timeline::add(interval copy, interval kernel) noexcept {
  const std::lock_guard lock(mutex_);
  first_ = any_ ? std::min(first_, copy.begin) : copy.begin;
  last_ = any_ ? std::max(last_, kernel.end) : kernel.end;
  any_ = true;
  kernel_seconds_ += kernel.end - kernel.begin;
  insert({.when = copy, .is_copy = true});
  insert({.when = kernel, .is_copy = false});
  while (window_.size() > window_pieces) {
    swept_.add(window_.front());
    window_.erase(window_.begin());
  }
}

device_timeline timeline::read() const {
  const std::lock_guard lock(mutex_);
  sweep all = swept_;
  for (const piece& next : window_) all.add(next);
  const double both = all.copies.seconds + all.kernels.seconds - all.either.seconds;
  return {.span_seconds = last_ - first_,
          .copy_busy_seconds = all.copies.seconds,
          .kernel_busy_seconds = all.kernels.seconds,
          .overlap_seconds = std::clamp(both, 0.0, std::min(all.copies.seconds, all.kernels.seconds))};
}

double timeline::kernel_seconds() const {
  const std::lock_guard lock(mutex_);
  return kernel_seconds_;
}

}  // namespace gpuhist::gpu::cuda
