#include "gpu/automatic_engine.hpp"

#include "gpu/job_check.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace gpuhist::gpu {
namespace {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown error";
  }
}

bool cores_are_wanted(const engine_request& request) { return request.cores_are_wanted && request.cores_are_wanted(); }

std::exception_ptr miscount_of(const counting_job& job, const partition& counted) {
  try {
    check_rows(job, counted.classes, "cuda");
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

// What the thread that wakes the device shares with the engine, which may be gone before the device is up.
struct automatic_engine::awakening {
  std::mutex mutex;
  automatic_engine* waiting = nullptr;  // null: nobody waits any more
  bool ended = false;
};

// A job as the device sees it: the same memory, answered to the automatic engine first.
struct automatic_engine::device_job {
  counting_job job;
  counting_job* original = nullptr;
};

automatic_engine::automatic_engine(const engine_request& request, settings how)
    : request_(request), how_(std::move(how)), host_(request) {}

automatic_engine::~automatic_engine() {
  if (awakening_) {
    const std::scoped_lock lock(awakening_->mutex);
    awakening_->waiting = nullptr;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return host_tasks_ == 0; });
}

void automatic_engine::register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) {
  registrations_.push_back({memory, std::move(owner)});
}

void automatic_engine::submit(counting_job& job) {
  bool is_counted_here = false;
  {
    const std::scoped_lock lock(mutex_);
    if (first_submit_ == std::chrono::steady_clock::time_point{}) first_submit_ = std::chrono::steady_clock::now();
    is_counted_here = job.count_here && (state_ != device_state::awake || is_for_host(job));
    if (!is_counted_here) {
      waiting_.push_back(&job);
      waiting_bytes_ += job.bytes.size();
    }
  }
  wake_if_cores_fall_short();
  if (is_counted_here) return host_.submit(job);
  feed_device();
  post_host_task();
}

bool automatic_engine::counts_here() const {
  const std::scoped_lock lock(mutex_);
  return state_ != device_state::awake;
}

counting_job* automatic_engine::take_waiting() {
  if (waiting_.empty()) return nullptr;
  counting_job* const job = waiting_.front();
  waiting_.pop_front();
  waiting_bytes_ -= job->bytes.size();
  return job;
}

// One task a job, although the device may have taken the job by the time it runs: whoever is free first counts it.
void automatic_engine::post_host_task() {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return;
    ++host_tasks_;
  }
  try {
    request_.run([this] { count_one_on_host(); });
  } catch (...) {
    counting_job* stranded = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      --host_tasks_;
      stranded = take_waiting();
    }
    if (stranded != nullptr) stranded->done(*stranded, std::current_exception());
  }
}

void automatic_engine::count_one_on_host() noexcept {
  counting_job* job = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    job = take_waiting();
  }
  std::exception_ptr failure;
  if (job != nullptr) {
    try {
      host_.count(*job);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    if (--host_tasks_ == 0) changed_.notify_all();
  }
  if (job != nullptr) job->done(*job, std::move(failure));  // last: once all jobs are answered, the engine may be gone
}

// When more chunks wait than there are threads, or when counting takes from decompression what it could use.
bool automatic_engine::cores_fall_short(std::chrono::duration<double> elapsed) const {
  if (waiting_.size() > request_.threads) return true;
  if (!cores_are_wanted(request_)) return false;
  return host_.busy_seconds() > how_.counting_share * elapsed.count() * request_.threads;
}

// Goes by what was read so far: what waits of it is bounded. Where nobody knows how much is to come, it may be any
// amount.
bool automatic_engine::is_worthwhile(std::chrono::duration<double> elapsed) const {
  const std::optional<double> read = request_.share_read ? request_.share_read() : std::nullopt;
  if (!read) return true;
  return (1 - *read) * elapsed.count() > *read * std::chrono::duration<double>(how_.worthwhile).count();
}

void automatic_engine::wake_if_cores_fall_short() {
  std::shared_ptr<awakening> begun;
  {
    const std::scoped_lock lock(mutex_);
    if (state_ != device_state::asleep || !how_.wake) return;
    const auto elapsed = std::chrono::steady_clock::now() - first_submit_;
    if (elapsed < how_.patience || !cores_fall_short(elapsed) || !is_worthwhile(elapsed)) return;
    state_ = device_state::waking;
    begun = awakening_ = std::make_shared<awakening>();
    begun->waiting = this;
  }
  // Detached, because creating a CUDA context cannot be interrupted and nobody is to wait for it. It holds what it
  // uses.
  std::thread([begun, wake = how_.wake, registrations = registrations_] {
    std::unique_ptr<engine> device;
    std::exception_ptr failure;
    try {
      device = wake();
      for (const registration& each : registrations) device->register_memory(each.memory, each.owner);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::scoped_lock lock(begun->mutex);
    begun->ended = true;
    if (begun->waiting == nullptr) return;
    if (failure) {
      begun->waiting->could_not_wake(failure);
    } else {
      begun->waiting->woken(std::move(device));
    }
  }).detach();
}

void automatic_engine::woken(std::unique_ptr<engine> device) {
  {
    const std::scoped_lock lock(mutex_);
    device_ = std::move(device);
    state_ = device_state::awake;
  }
  feed_device();
}

void automatic_engine::could_not_wake(const std::exception_ptr& why) {
  const std::scoped_lock lock(mutex_);
  state_ = device_state::failed;
  why_not_ = text_of(why);
}

// The device gets what the cores do not come to, a whole copy at a time: chunk by chunk, the waking of its threads
// would cost more than it counts. Where the cores have better to do it gets whatever there is: decompression is too
// slow for that to matter.
void automatic_engine::feed_device() {
  for (std::vector<device_job*> sent = take_for_device(); !sent.empty(); sent = take_for_device()) {
    for (device_job* each : sent) device_->submit(each->job);
  }
}

std::vector<automatic_engine::device_job*> automatic_engine::take_for_device() {
  std::vector<device_job*> taken;
  const std::uint64_t enough = cores_are_wanted(request_) ? 1 : std::max(request_.max_copy, 1U);
  const std::scoped_lock lock(mutex_);
  if (state_ != device_state::awake || waiting_bytes_ < enough || on_device_ >= how_.most_device_bytes) return taken;
  for (std::uint64_t bytes = 0; bytes < enough && !waiting_.empty() && !is_for_host(*waiting_.front());) {
    counting_job* const job = take_waiting();
    bytes += job->bytes.size();
    on_device_ += job->bytes.size();
    taken.push_back(prepare_for_device(*job));
  }
  return taken;
}

bool automatic_engine::is_for_host(const counting_job& job) const {
  return job.bytes.size() < std::uint64_t{how_.least_extent} * job.extents.size();
}

// Comes back in answered(). With the lock.
automatic_engine::device_job* automatic_engine::prepare_for_device(counting_job& job) {
  device_job* const sent = spare_device_job().release();
  sent->original = &job;
  sent->job.bytes = job.bytes;
  sent->job.extents = job.extents;
  sent->job.rows = job.rows;
  sent->job.done = [this, sent](counting_job&, std::exception_ptr failure) { answered(*sent, std::move(failure)); };
  return sent;
}

std::unique_ptr<automatic_engine::device_job> automatic_engine::spare_device_job() {
  if (spare_.empty()) return std::make_unique<device_job>();
  auto taken = std::move(spare_.back());
  spare_.pop_back();
  return taken;
}

// Where several devices count, those that are well go on. Whose a wrong sum was nobody knows: then none of them is
// trusted.
void automatic_engine::answered(device_job& of, std::exception_ptr failure) {
  counting_job& job = *of.original;
  bool goes_on = true;
  if (failure) {
    goes_on = device_->can_count();
  } else {
    failure = miscount_of(job, request_.counted);
    goes_on = failure == nullptr;
  }
  {
    const std::scoped_lock lock(mutex_);
    on_device_ -= job.bytes.size();
    spare_.emplace_back(&of);
    if (failure) {
      note_failure(text_of(failure));
      if (!goes_on) state_ = device_state::failed;
      waiting_.push_front(&job);
      waiting_bytes_ += job.bytes.size();
    }
  }
  if (failure) {
    post_host_task();
  } else {
    feed_device();
    job.done(job, nullptr);
  }
}

// Each failure once, however many chunks it is told of. After the last one all is the same story. With the lock.
void automatic_engine::note_failure(const std::string& text) {
  if (state_ != device_state::awake || std::ranges::find(failures_, text) != failures_.end()) return;
  failures_.push_back(text);
}

// With the lock.
std::string automatic_engine::note() const {
  switch (state_) {
    case device_state::asleep:
      return "the cores kept up: no device was woken";
    case device_state::waking:
      return "a device was being woken when the run ended";
    case device_state::awake:
      return failures_.empty() ? "a device joined in when the cores fell short"
                               : "of the devices that joined in, one failed";
    case device_state::failed:
      break;
  }
  return failures_.empty() ? why_not_ : "a device joined in and failed";
}

engine_stats automatic_engine::stats() const {
  engine_stats all = host_.stats();
  const std::scoped_lock lock(mutex_);
  all.still_waking = state_ == device_state::waking;
  for (const std::string& each : failures_) all.warning += each + "; ";
  if (!failures_.empty()) all.warning += "what was on it was counted again on the host";
  all.note = note();
  if (!device_) return all;
  const engine_stats device = device_->stats();
  all.kernel += " and " + device.kernel;
  all.device = device.device;
  if (!device.note.empty()) all.note += "; " + device.note;
  all.workers += device.workers;
  all.startup_seconds = device.startup_seconds;
  all.jobs += device.jobs;
  all.bytes += device.bytes;
  all.busy_seconds += device.busy_seconds;
  all.timeline = device.timeline;
  all.device_bytes = device.bytes;
  all.device_lost = device.device_lost;
  return all;
}

}  // namespace gpuhist::gpu
