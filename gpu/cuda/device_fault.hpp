// The error of a failed device, shared by its lanes.
#pragma once

#include <exception>
#include <mutex>

namespace gpuhist::gpu::cuda {

/// Thread-safe.
class device_fault {
 public:
  /// Keeps the first error: a CUDA error usually ends all work on the device. Returns whether this is the first.
  bool note(const std::exception_ptr& why) {
    const std::lock_guard lock(mutex_);
    if (why_) return false;
    why_ = why;
    return true;
  }

  /// Null while the device has not failed.
  [[nodiscard]] std::exception_ptr why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr why_;
};

}  // namespace gpuhist::gpu::cuda
