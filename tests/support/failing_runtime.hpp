// A CUDA runtime that wraps another one and fails its n-th call.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace gpuhist::gpu::cuda {

/// Plans which call fails, and records what happened. Outlives the runtime; thread-safe.
class planned_failure {
 public:
  enum class kind {
    once,   ///< only that call
    sticky  ///< that call and all later ones on the same device, as after an error of a kernel
  };

  /// `call` counts from 1.
  planned_failure(unsigned call, kind duration, result code) : call_(call), duration_(duration), code_(code) {}

  /// Called before each CUDA call with the device that the call reaches, or no_device. Returns the planned code, or 0.
  result next(const char* name, int device);
  static constexpr int no_device = -1;

  /// The CUDA function that failed first; empty if the planned call was not reached.
  [[nodiscard]] std::string failed_call() const;

  /// Calls so far.
  [[nodiscard]] unsigned calls() const;

  /// Calls that reached the device after it had failed, made by threads that knew of the failure. A thread learns of
  /// the failure by the failing call or by its first call afterwards; neither is counted.
  [[nodiscard]] unsigned calls_after_failure() const;

  /// Called when the planned call fails, on the calling thread. To be set before the runtime is used; may be empty.
  std::function<void()> on_failure;

 private:
  const unsigned call_;
  const kind duration_;
  const result code_;
  mutable std::mutex mutex_;
  unsigned calls_ = 0;
  std::string failed_call_;
  int failed_device_ = no_device;
  std::set<std::thread::id> informed_;  // threads that know of the failure
  unsigned calls_after_failure_ = 0;
};

/// Calls that release something release it even if they fail, as CUDA's do. A failed call does nothing else.
std::unique_ptr<runtime> make_failing_runtime(std::unique_ptr<runtime> inner, std::shared_ptr<planned_failure> plan);

}  // namespace gpuhist::gpu::cuda
