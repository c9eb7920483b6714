#include "pipeline/flow/decoding/shared_work.hpp"

#include <algorithm>

namespace gpuhist::pipeline {

// Work for one thread of the pool. Deletes itself.
class shared_work::job final : public async::work_item {
 public:
  explicit job(std::shared_ptr<shared_work> of) : of_(std::move(of)) {}
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  virtual ~job() = default;

  void run() noexcept override {
    {
      locked lock(of_->mutex_);
      --of_->waiting_jobs_;
      of_->run_one(lock);
      if (!of_->closed_ && of_->ready_pieces() > of_->waiting_jobs_) {
        ++of_->waiting_jobs_;
        lock.unlock();
        return of_->pool_.post(*this);
      }
      --of_->jobs_;
    }
    delete this;
  }

 private:
  const std::shared_ptr<shared_work> of_;
};

void shared_work::close() noexcept {
  locked lock(mutex_);
  closed_ = true;
  changed_.wait(lock, [this] { return running_ == 0; });
}

void shared_work::post_jobs() noexcept {
  if (closed_) return;
  for (const std::size_t wanted = ready_pieces(); jobs_ < max_jobs_ && waiting_jobs_ < wanted;) {
    auto* const added = new (std::nothrow) job(shared_from_this());
    if (added == nullptr) return;
    ++jobs_;
    ++waiting_jobs_;
    pool_.post(*added);
  }
}

bool shared_work::run_one(locked& lock) noexcept {
  if (closed_ || ready_pieces() == 0) return false;
  ++running_;
  do_oldest_piece(lock);
  --running_;
  changed_.notify_all();
  return true;
}

void shared_work::help_or_wait(locked& lock) {
  if (!run_one(lock)) changed_.wait(lock);
}

}  // namespace gpuhist::pipeline
