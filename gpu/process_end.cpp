#include "gpu/process_end.hpp"

#include <atomic>
#include <utility>

namespace gpuhist::gpu {
namespace {

// Of the process, as its end is.
struct device_use {
  std::atomic<unsigned> detached_wakers{0};
  std::atomic<bool> has_lost_device{false};
};

// Needs no destruction: valid in exit handlers, too.
device_use& use() noexcept {
  static device_use of_process;
  return of_process;
}

}  // namespace

bool must_end_at_once() noexcept { return use().detached_wakers > 0 || use().has_lost_device; }

void note_lost_device() noexcept { use().has_lost_device = true; }

detached_waker::detached_waker() noexcept { ++use().detached_wakers; }

detached_waker::detached_waker(detached_waker&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}

detached_waker::~detached_waker() {
  if (counts_) --use().detached_wakers;
}

}  // namespace gpuhist::gpu
