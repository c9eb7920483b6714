#include "gpu/cuda/job_queue.hpp"

namespace gpuhist::gpu::cuda {

// Waking a thread costs as much as copying a small chunk: where jobs wait already, somebody was woken for them.
void job_queue::push(counting_job& job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    if (jobs_.size() > 1) return;
  }
  arrived_.notify_one();
}

void job_queue::pass_on() {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return;
  }
  arrived_.notify_one();
}

counting_job* job_queue::pop(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, stop, [this] { return !jobs_.empty(); });
  return take();
}

counting_job* job_queue::try_pop() {
  const std::lock_guard lock(mutex_);
  return take();
}

counting_job* job_queue::try_pop_if(const std::function<bool(const counting_job&)>& wanted) {
  const std::lock_guard lock(mutex_);
  return !jobs_.empty() && wanted(*jobs_.front()) ? take() : nullptr;
}

counting_job* job_queue::take() {
  if (jobs_.empty()) return nullptr;
  counting_job* job = jobs_.front();
  jobs_.pop_front();
  return job;
}

void job_queue::fail(const std::exception_ptr& why) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = why;
}

std::exception_ptr job_queue::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace gpuhist::gpu::cuda
