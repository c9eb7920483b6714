#include "gpu/process_end.hpp"

#include <atomic>
#include <utility>

namespace gpuhist::gpu {
namespace {

// One for the whole process.
struct device_use {
  std::atomic<unsigned> detached_wakers{0};
  std::atomic<bool> has_lost_device{false};
};

// Trivially destructible, therefore valid in exit handlers.
device_use& use() noexcept {
  static device_use process_wide_use;
  return process_wide_use;
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
