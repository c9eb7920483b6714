// The one queue from which all lanes of an engine pull, and what ended the engine's work if something did.
#pragma once

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
  void push(counting_job& job);

  /// Whoever took jobs and leaves some wakes somebody else for them.
  void pass_on();

  /// Waits for a job; null once a stop is requested and the queue is empty.
  counting_job* pop(const std::stop_token& stop);

  /// A job if there is one, else null.
  counting_job* try_pop();

  /// The next job, if there is one and it is wanted; else null.
  counting_job* try_pop_if(const std::function<bool(const counting_job&)>& wanted);

  /// A CUDA error usually ends all work on the device: the first one is kept, and every later job fails with it.
  void fail(const std::exception_ptr& why);

  /// What fail() was first told; null while all is well.
  [[nodiscard]] std::exception_ptr failure() const;

 private:
  counting_job* take();

  mutable std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<counting_job*> jobs_;
  std::exception_ptr failure_;
};

}  // namespace gpuhist::gpu::cuda
