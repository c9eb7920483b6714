// What a device failed with, shared by its lanes.
#pragma once

#include <exception>
#include <mutex>

namespace gpuhist::gpu::cuda {

/// Thread-safe.
class device_fault {
 public:
  /// A CUDA error usually ends all work on the device: the first one is kept. Returns whether this is it.
  bool note(const std::exception_ptr& why) {
    const std::lock_guard lock(mutex_);
    if (why_) return false;
    why_ = why;
    return true;
  }

  /// Null while all is well.
  [[nodiscard]] std::exception_ptr why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr why_;
};

}  // namespace gpuhist::gpu::cuda
