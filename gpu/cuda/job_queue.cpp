#include "gpu/cuda/job_queue.hpp"

#include <utility>

namespace gpuhist::gpu::cuda {

void job_queue::expect_devices(std::size_t devices) {
  const std::lock_guard lock(mutex_);
  devices_ = devices;
}

// Waking a thread costs as much as copying a small chunk. If jobs already wait, a thread was woken for them.
void job_queue::push(counting_job& job) {
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

void job_queue::wake_next() {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return;
  }
  arrived_.notify_one();
}

counting_job* job_queue::pop(const std::stop_token& stop, const device_fault& fault_of_caller) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, stop, [&] { return !jobs_.empty() || fault_of_caller.why(); });
  return fault_of_caller.why() ? nullptr : take();
}

counting_job* job_queue::try_pop() {
  const std::lock_guard lock(mutex_);
  return take();
}

counting_job* job_queue::try_pop_if(const std::function<bool(const counting_job&)>& accepts) {
  const std::lock_guard lock(mutex_);
  return !jobs_.empty() && accepts(*jobs_.front()) ? take() : nullptr;
}

counting_job* job_queue::take() {
  if (jobs_.empty()) return nullptr;
  counting_job* job = jobs_.front();
  jobs_.pop_front();
  return job;
}

void job_queue::lose_device(const std::exception_ptr& why) {
  bool was_last = false;
  {
    const std::lock_guard lock(mutex_);
    was_last = --devices_ == 0;
    if (was_last) failure_ = why;
  }
  arrived_.notify_all();  // its lanes end; lanes of other devices take the jobs for which one of its lanes was woken
  if (!was_last) return;
  while (counting_job* const job = try_pop()) job->on_complete(*job, why);  // push() adds no more jobs
}

bool job_queue::has_devices() const {
  const std::lock_guard lock(mutex_);
  return devices_ > 0;
}

}  // namespace gpuhist::gpu::cuda
