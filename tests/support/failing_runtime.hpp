// A CUDA runtime whose n-th call fails, wrapped around another.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace gpuhist::gpu::cuda {

/// Which call fails, and what came of it. Outlives the runtime; thread-safe.
class planned_failure {
 public:
  enum class kind {
    once,   ///< that call alone
    sticky  ///< that call and all after it on the same device, as after an error of a kernel
  };

  /// `call` counts from 1.
  planned_failure(unsigned call, kind what, result code) : call_(call), what_(what), code_(code) {}

  /// To be asked by each call, with the device it reaches, no_device for none: the planned code, or 0.
  result next(const char* name, int device);
  static constexpr int no_device = -1;

  /// The CUDA function that failed first; empty where the plan was not reached.
  [[nodiscard]] std::string failed_call() const;

  /// Calls so far.
  [[nodiscard]] unsigned calls() const;

  /// Calls that reached the device after it had failed: all of the thread that was told of it, and of each other thread
  /// those after the first, which it may have been about to make.
  [[nodiscard]] unsigned calls_after_failure() const;

  /// Called when the call fails, on the thread that makes it. To be set before the runtime is used; may be empty.
  std::function<void()> on_failure;

 private:
  const unsigned call_;
  const kind what_;
  const result code_;
  mutable std::mutex mutex_;
  unsigned calls_ = 0;
  std::string failed_call_;
  int failed_device_ = no_device;
  std::set<std::thread::id> informed_;  // threads that know that it failed
  unsigned calls_after_failure_ = 0;
};

/// Calls that give something back do so even when they fail, as CUDA's do. A failed call does nothing else.
std::unique_ptr<runtime> make_failing_runtime(std::unique_ptr<runtime> inner, std::shared_ptr<planned_failure> plan);

}  // namespace gpuhist::gpu::cuda
