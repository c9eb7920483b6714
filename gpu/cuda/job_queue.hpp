// The one queue from which the lanes of all devices of an engine pull, and what becomes of jobs when devices fail.
#pragma once

#include "gpu/cuda/device_fault.hpp"
#include "gpu/engine.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>

namespace gpuhist::gpu::cuda {

/// Holds at most the jobs that their submitter has slots for. All members may be called from any thread.
class job_queue {
 public:
  /// So many devices will pull. Before the first of them does.
  void expect_devices(std::size_t devices);

  /// Where no device is left, the job is answered at once with the failure of the last. Throws where there is no memory
  /// for a pointer; the job is not taken then.
  void push(counting_job& job);

  /// Whoever took jobs and leaves some wakes somebody else for them.
  void pass_on();

  /// Waits for a job; null once a stop is requested and the queue is empty, and once the caller's device has failed.
  counting_job* pop(const std::stop_token& stop, const device_fault& of_caller);

  /// A job if there is one, else null.
  counting_job* try_pop();

  /// The next job, if there is one and it is wanted; else null.
  counting_job* try_pop_if(const std::function<bool(const counting_job&)>& wanted);

  /// A device has failed, for the reason given, and its lanes pull no more. Once a device. With the last one, the jobs
  /// that wait are answered with its failure.
  void lose_device(const std::exception_ptr& why);

  /// Whether a device is left to count what is pushed.
  [[nodiscard]] bool has_devices() const;

 private:
  counting_job* take();

  mutable std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<counting_job*> jobs_;
  std::size_t devices_ = 0;
  std::exception_ptr failure_;  // of the last device
};

}  // namespace gpuhist::gpu::cuda
