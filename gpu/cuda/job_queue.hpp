// What the lanes of an engine share: the error of their device, and the queue from which the lanes of all devices take
// jobs. It completes waiting jobs when the last device fails.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/frame_decoder.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>

namespace gpuhist::gpu::cuda {

/// The error of a failed device, shared by its lanes. Thread-safe.
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

/// Its size is bounded by the slots of the submitter. All members may be called from any thread.
template <class Job>
class basic_job_queue {
 public:
  /// Sets the number of devices. Call it before any of them takes a job.
  void expect_devices(std::size_t devices);

  /// If all devices have failed, completes the job at once with the error of the last one. Throws if there is no memory
  /// for a pointer; the job is then not accepted.
  void push(Job& job);

  /// Wakes one waiting thread if jobs are left. A thread calls it after it has taken its jobs.
  void wake_next();

  /// Waits for a job. Null if a stop is requested and the queue is empty, or if the device of the caller has failed.
  Job* pop(const std::stop_token& stop, const device_fault& fault_of_caller);

  /// The next job; null if the queue is empty.
  Job* try_pop();

  /// The next job if `accepts` is true for it; null otherwise, or if the queue is empty.
  Job* try_pop_if(const std::function<bool(const Job&)>& accepts);

  /// Records that a device has failed with the error `why`; its lanes take no more jobs. Called once per device. When
  /// the last device fails, the waiting jobs are completed with its error.
  void lose_device(const std::exception_ptr& why);

  /// Whether any device has not failed.
  [[nodiscard]] bool has_devices() const;

 private:
  Job* take();

  mutable std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Job*> jobs_;
  std::size_t devices_ = 0;
  std::exception_ptr failure_;  // of the last device
};

using job_queue = basic_job_queue<counting_job>;
using frame_queue = basic_job_queue<frame_job>;

}  // namespace gpuhist::gpu::cuda
