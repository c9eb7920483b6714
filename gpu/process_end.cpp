#include "gpu/process_end.hpp"

#include <atomic>
#include <utility>

namespace gpuhist::gpu {
namespace {

std::atomic<unsigned> detached_wakers{0};
std::atomic<bool> device_was_lost{false};

}  // namespace

bool must_end_at_once() noexcept { return detached_wakers > 0 || device_was_lost; }

void note_lost_device() noexcept { device_was_lost = true; }

detached_waker::detached_waker() noexcept { ++detached_wakers; }

detached_waker::detached_waker(detached_waker&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}

detached_waker::~detached_waker() {
  if (counts_) --detached_wakers;
}

}  // namespace gpuhist::gpu
