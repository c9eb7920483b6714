#include "gpu/cuda/job_queue.hpp"

#include <utility>

namespace gpuhist::gpu::cuda {

template <class Job>
void basic_job_queue<Job>::expect_devices(std::size_t devices) {
  const std::lock_guard lock(mutex_);
  devices_ = devices;
}

// Waking a thread costs as much as copying a small chunk. If jobs already wait, a thread was woken for them.
template <class Job>
void basic_job_queue<Job>::push(Job& job) {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = failure_;
    if (!failure) {
      jobs_.push_back(&job);
      if (jobs_.size() > 1) return;
    }
  }
  if (failure) return job.on_complete(job, std::move(failure));
  arrived_.notify_one();
}

template <class Job>
void basic_job_queue<Job>::wake_next() {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return;
  }
  arrived_.notify_one();
}

template <class Job>
Job* basic_job_queue<Job>::pop(const std::stop_token& stop, const device_fault& fault_of_caller) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, stop, [&] { return !jobs_.empty() || fault_of_caller.why(); });
  return fault_of_caller.why() ? nullptr : take();
}

template <class Job>
Job* basic_job_queue<Job>::try_pop() {
  const std::lock_guard lock(mutex_);
  return take();
}

template <class Job>
Job* basic_job_queue<Job>::try_pop_if(const std::function<bool(const Job&)>& accepts) {
  const std::lock_guard lock(mutex_);
  return !jobs_.empty() && accepts(*jobs_.front()) ? take() : nullptr;
}

template <class Job>
Job* basic_job_queue<Job>::take() {
  if (jobs_.empty()) return nullptr;
  Job* job = jobs_.front();
  jobs_.pop_front();
  return job;
}

template <class Job>
void basic_job_queue<Job>::lose_device(const std::exception_ptr& why) {
  bool was_last = false;
  {
    const std::lock_guard lock(mutex_);
    was_last = --devices_ == 0;
    if (was_last) failure_ = why;
  }
  arrived_.notify_all();  // its lanes end; lanes of other devices take the jobs for which one of its lanes was woken
  if (!was_last) return;
  while (Job* const job = try_pop()) job->on_complete(*job, why);  // push() adds no more jobs
}

template <class Job>
bool basic_job_queue<Job>::has_devices() const {
  const std::lock_guard lock(mutex_);
  return devices_ > 0;
}

template class basic_job_queue<counting_job>;
template class basic_job_queue<frame_job>;

}  // namespace gpuhist::gpu::cuda
