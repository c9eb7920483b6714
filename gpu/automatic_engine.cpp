#include "gpu/automatic_engine.hpp"

#include "gpu/engines.hpp"
#include "gpu/job_check.hpp"
#include "gpu/process_end.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

namespace gpuhist::gpu {
namespace {

// Whether decompression could use all cores.
bool decoders_need_cores(const engine_request& request) {
  return request.load.busy_decoders != nullptr && *request.load.busy_decoders >= request.threads;
}

// If the size of the inputs is unknown, half as much may be left as was read. If more was read than expected, which is
// an estimate for trees, as much may be left as is in excess.
std::uint64_t bytes_left(const workload& load, std::uint64_t read) {
  if (!load.bytes_in_all) return read / 2;
  const std::uint64_t all = *load.bytes_in_all;
  return read <= all ? all - read : std::min(read / 2, read - all);
}

// From 0 to 1; nothing where the size of the inputs is not known.
std::optional<double> share_read(const workload& load) {
  if (load.bytes_read == nullptr || !load.bytes_in_all) return std::nullopt;
  const std::uint64_t read = *load.bytes_read;
  if (read == 0) return 0;
  return static_cast<double>(read) / static_cast<double>(read + bytes_left(load, read));
}

std::exception_ptr miscount_of(const counting_job& job, const row_layout& layout) {
  try {
    check_rows(job, layout, "cuda");
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

// State that the waking thread shares with the engine. The engine may be destroyed before the device is ready.
struct automatic_engine::awakening {
  std::mutex mutex;
  automatic_engine* waiting = nullptr;  // null: the engine was destroyed
};

// A copy of a job for the device: it refers to the same memory, and its completion is reported to the automatic engine.
struct automatic_engine::device_job {
  counting_job job;
  counting_job* original = nullptr;
  device_job* next = nullptr;  // in the list of unused jobs, or of jobs sent together
};

automatic_engine::automatic_engine(const engine_request& request, settings with)
    : request_(request), settings_(std::move(with)), host_(request) {}

automatic_engine::~automatic_engine() {
  if (waker_.joinable()) waker_.join();
  if (awakening_) {
    const std::scoped_lock lock(awakening_->mutex);
    awakening_->waiting = nullptr;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return host_tasks_ == 0; });
}

// Memory that is registered while a device is being woken would be forgotten: nothing is registered then.
void automatic_engine::register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) {
  if (engine* const device = woken_device()) return device->register_memory(memory, std::move(owner));
  const std::scoped_lock lock(mutex_);
  registrations_.push_back({memory, std::move(owner)});
}

engine* automatic_engine::woken_device() const {
  const std::scoped_lock lock(mutex_);
  return state_ == device_state::awake || state_ == device_state::decodes ? device_.get() : nullptr;
}

void automatic_engine::submit(counting_job& job) noexcept {
  const bool is_queued = queue(job);
  wake_if_cores_are_saturated();
  if (!is_queued) return count_now(job);
  feed_device();
  post_host_task();
}

// False if this thread has to count the job: the job requests it, or there is no memory to queue it.
bool automatic_engine::queue(counting_job& job) noexcept {
  const std::scoped_lock lock(mutex_);
  if (first_submit_ == std::chrono::steady_clock::time_point{}) first_submit_ = std::chrono::steady_clock::now();
  if (job.bytes_are_lent) return false;
  if (job.count_here && (state_ != device_state::awake || is_for_host(job))) return false;
  try {
    waiting_.push_back(&job);
  } catch (...) {
    return false;
  }
  waiting_bytes_ += job.bytes.size();
  return true;
}

bool automatic_engine::counts_here() const {
  const std::scoped_lock lock(mutex_);
  return state_ != device_state::awake;
}

bool automatic_engine::is_waking() const {
  const std::scoped_lock lock(mutex_);
  return state_ == device_state::waking;
}

counting_job* automatic_engine::take_waiting() {
  if (waiting_.empty()) return nullptr;
  counting_job* const job = waiting_.front();
  waiting_.pop_front();
  waiting_bytes_ -= job->bytes.size();
  return job;
}

// Posts one task per job; when the task runs, the device may already have taken the job. If the task cannot be posted,
// it runs here.
void automatic_engine::post_host_task() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return;
    ++host_tasks_;
  }
  try {
    request_.run([this] { count_one_on_host(); });
  } catch (...) {
    count_one_on_host();
  }
}

void automatic_engine::count_one_on_host() noexcept {
  counting_job* job = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    job = take_waiting();
  }
  end_host_task(job);
}

// Posts a task for this job, which is not in the queue, so no other task can complete it. This matters because the
// executor may be destroyed once every job is completed.
void automatic_engine::post_host_task_for(counting_job& job) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    ++host_tasks_;
  }
  try {
    request_.run([this, &job] { end_host_task(&job); });
  } catch (...) {
    end_host_task(&job);
  }
}

// Null: another thread or a device has the job.
void automatic_engine::end_host_task(counting_job* job) noexcept {
  std::exception_ptr failure = job != nullptr ? try_count(*job) : nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (--host_tasks_ == 0) changed_.notify_all();
  }
  if (job != nullptr)
    job->on_complete(*job, std::move(failure));  // last: once all jobs are completed, the engine may be destroyed
}

void automatic_engine::count_now(counting_job& job) noexcept {
  job.on_complete(job, try_count(job));  // last, as above
}

// Allocates nothing if the job is valid.
std::exception_ptr automatic_engine::try_count(const counting_job& job) noexcept {
  try {
    host_.count(job);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// True if more chunks wait than there are threads, or if counting takes core time that decompression could use.
bool automatic_engine::cores_are_saturated(std::chrono::duration<double> elapsed) const {
  if (waiting_.size() > request_.threads) return true;
  if (!decoders_need_cores(request_)) return false;
  return host_.busy_seconds() > settings_.counting_share * elapsed.count() * request_.threads;
}

// Extrapolates from the share of the input that was read; the part of it that waits is bounded. If the size of the
// input is unknown, it may be of any size.
bool automatic_engine::is_worthwhile(std::chrono::duration<double> elapsed) const {
  const std::optional<double> read = share_read(request_.load);
  if (!read) return true;
  return (1 - *read) * elapsed.count() > *read * std::chrono::duration<double>(settings_.worthwhile).count();
}

bool automatic_engine::begins_waking() {
  const std::scoped_lock lock(mutex_);
  if (state_ != device_state::asleep || !settings_.wake) return false;
  const auto elapsed = std::chrono::steady_clock::now() - first_submit_;
  if (elapsed < settings_.patience || !cores_are_saturated(elapsed) || !is_worthwhile(elapsed)) return false;
  state_ = device_state::waking;
  return true;
}

void automatic_engine::wake_if_cores_are_saturated() noexcept {
  try {
    if (begins_waking()) start_waking(device_state::awake);
  } catch (...) {
    could_not_wake(std::current_exception());
  }
}

frame_decoder* automatic_engine::decoder() {
  if (begins_waking_to_decode()) try_to_wake(device_state::decodes);
  engine* const device = woken_device();
  return device != nullptr ? device->decoder() : nullptr;
}

bool automatic_engine::await_decoder(std::uint64_t text_of_frame, const std::function<void()>& then) {
  if (request_.pairs || !settings_.wake || !is_long_frame(text_of_frame)) return false;
  bool begins = false;
  bool waits = false;
  {
    const std::scoped_lock lock(mutex_);
    if (state_ == device_state::failed) return false;
    begins = state_ == device_state::asleep;
    waits = begins || state_ == device_state::waking;
    if (waits) awaited_.push_back(then);
    if (begins) state_ = device_state::waking;
  }
  if (!waits) then();
  if (begins) try_to_wake(device_state::decodes);
  return true;
}

bool automatic_engine::is_long_frame(std::uint64_t text_bytes) const {
  const double threads = std::min(request_.threads, settings_.threads_of_frame);
  const double seconds = static_cast<double>(text_bytes) / (settings_.text_by_thread * threads);
  return seconds > std::chrono::duration<double>(settings_.worthwhile_frame).count();
}

// The state is `waking`.
void automatic_engine::try_to_wake(device_state as) noexcept {
  try {
    start_waking(as);
  } catch (...) {
    could_not_wake(std::current_exception());
  }
}

// Without the lock.
void automatic_engine::end_waits() noexcept {
  std::vector<std::function<void()>> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended.swap(awaited_);
  }
  for (const auto& then : ended) then();
}

bool automatic_engine::begins_waking_to_decode() {
  const std::scoped_lock lock(mutex_);
  if (state_ != device_state::asleep || !settings_.wake || request_.pairs || !pays_to_decode()) return false;
  state_ = device_state::waking;
  return true;
}

bool automatic_engine::pays_to_decode() const {
  const workload& load = request_.load;
  if (load.bytes_read == nullptr) return false;
  const auto left = static_cast<double>(bytes_left(load, *load.bytes_read));
  const double seconds = left / (settings_.decoded_by_thread * request_.threads);
  return seconds > std::chrono::duration<double>(settings_.worthwhile_decoding).count();
}

// Unless it is joined, the thread is detached, because creating a CUDA context cannot be interrupted and the run must
// not wait for it. The thread owns everything that it uses. Without a thread or memory for it, no device is woken.
void automatic_engine::start_waking(device_state as) {
  const auto begun = std::make_shared<awakening>();
  begun->waiting = this;
  auto task = [begun, alive = detached_waker(), wake = settings_.wake, registrations = registrations_, as] {
    std::unique_ptr<engine> device;
    std::exception_ptr failure;
    try {
      device = wake();
      for (const registration& each : registrations) device->register_memory(each.memory, each.owner);
      if (as == device_state::decodes) static_cast<void>(device->decoder());  // here, because it takes a while
    } catch (...) {
      failure = std::current_exception();
      device.reset();  // before the engine is notified: after that the process may end
    }
    const std::scoped_lock lock(begun->mutex);
    if (begun->waiting == nullptr) return;
    if (failure) {
      begun->waiting->could_not_wake(failure);
    } else {
      begun->waiting->woken(std::move(device), as);
    }
  };
  awakening_ = begun;
  try {
    std::thread waker(std::move(task));
    if (request_.joins_waker) {
      waker_ = std::move(waker);
    } else {
      waker.detach();
    }
  } catch (const std::system_error& error) {
    throw engine_error("no device was woken: a thread for that cannot be started: " + error.code().message() +
                       " (see ulimit -u, and pids.max of the control group)");
  }
}

void automatic_engine::woken(std::unique_ptr<engine> device, device_state as) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    device_ = std::move(device);
    state_ = as;
  }
  end_waits();
  feed_device();
}

void automatic_engine::could_not_wake(const std::exception_ptr& why) noexcept {
  note_why_not(why);
  end_waits();
}

void automatic_engine::note_why_not(const std::exception_ptr& why) noexcept {
  const std::scoped_lock lock(mutex_);
  state_ = device_state::failed;
  try {
    std::rethrow_exception(why);
  } catch (const lost_device&) {
    is_lost_ = true;
  } catch (...) {
    is_lost_ = false;
  }
  try {
    why_not_ = text_of(why);
  } catch (...) {
    why_not_.clear();  // note() then uses a fixed text
  }
}

// Submits waiting chunks to the device, enough for a whole copy at a time: chunk by chunk, waking the threads of the
// device would cost more than the device saves. If decompression needs the cores, the device gets every waiting chunk:
// chunks then arrive too slowly for that cost to matter.
void automatic_engine::feed_device() noexcept {
  while (device_job* sent = take_for_device()) {
    while (sent != nullptr) submit_to_device(*std::exchange(sent, sent->next));  // once completed, it may be reused
  }
}

void automatic_engine::submit_to_device(device_job& sent) noexcept {
  try {
    device_->submit(sent.job);
  } catch (...) {
    answered(sent, std::current_exception());
  }
}

// Chunks for which there is no memory stay with the host.
automatic_engine::device_job* automatic_engine::take_for_device() noexcept {
  const std::uint64_t enough = decoders_need_cores(request_) ? 1 : std::max(request_.max_copy, 1U);
  const std::scoped_lock lock(mutex_);
  if (state_ != device_state::awake || waiting_bytes_ < enough || on_device_ >= settings_.max_device_bytes) {
    return nullptr;
  }
  device_job* first = nullptr;
  device_job** end = &first;
  for (std::uint64_t bytes = 0; bytes < enough && !waiting_.empty() && !is_for_host(*waiting_.front());) {
    device_job* const sent = spare_device_job();
    if (sent == nullptr) break;
    counting_job* const job = take_waiting();
    bytes += job->bytes.size();
    on_device_ += job->bytes.size();
    sent->original = job;
    sent->job.bytes = job->bytes;
    sent->job.extents = job->extents;
    sent->job.rows = job->rows;
    *end = sent;
    end = &sent->next;
  }
  return first;
}

bool automatic_engine::is_for_host(const counting_job& job) const {
  return job.bytes.size() < std::uint64_t{settings_.min_extent} * job.extents.size();
}

// answered() returns it.
automatic_engine::device_job* automatic_engine::spare_device_job() noexcept {
  if (spare_ != nullptr) {
    device_job* const taken = std::exchange(spare_, spare_->next);
    taken->next = nullptr;
    return taken;
  }
  try {
    device_jobs_.push_back(std::make_unique<device_job>());
  } catch (...) {
    return nullptr;
  }
  device_job* const made = device_jobs_.back().get();
  made->job.on_complete = [this, made](counting_job&, std::exception_ptr failure) {
    answered(*made, std::move(failure));
  };
  return made;
}

void automatic_engine::return_device_job(device_job& unused) { unused.next = std::exchange(spare_, &unused); }

// After the failure of one of several devices, the others continue. After a wrong sum, no device is used any more: it
// is unknown which of them miscounted.
void automatic_engine::answered(device_job& answer, std::exception_ptr failure) noexcept {
  counting_job& job = *answer.original;
  bool goes_on = true;
  if (failure) {
    goes_on = device_->can_count();
  } else {
    failure = miscount_of(job, layout());
    goes_on = failure == nullptr;
  }
  {
    const std::scoped_lock lock(mutex_);
    on_device_ -= job.bytes.size();
    return_device_job(answer);
    if (failure) {
      note_failure(failure);
      if (!goes_on) state_ = device_state::failed;
    }
  }
  if (failure) return post_host_task_for(job);
  feed_device();
  job.on_complete(job, nullptr);
}

// Keeps each text once: all chunks of a device fail with the same error. Errors after the failure of the last device
// repeat its error and are ignored. With the lock.
void automatic_engine::note_failure(const std::exception_ptr& why) noexcept {
  if (state_ != device_state::awake) return;
  try {
    std::string text = text_of(why);
    if (std::ranges::find(failures_, text) == failures_.end()) failures_.push_back(std::move(text));
  } catch (...) {
    has_unreported_failure_ = true;
  }
}

// With the lock.
std::string automatic_engine::note() const {
  switch (state_) {
    case device_state::asleep:
      return "the cores were not saturated: no device was woken";
    case device_state::waking:
      return "a device was being woken when the run ended";
    case device_state::awake:
      return warning().empty() ? "a device was woken because the cores were saturated"
                               : "devices were woken, and one of them failed";
    case device_state::decodes:
      return "a device was woken to decode";
    case device_state::failed:
      break;
  }
  if (device_) return "a device was woken and failed";
  return why_not_.empty() ? "a device could not be woken" : why_not_;
}

// With the lock.
std::string automatic_engine::warning() const {
  std::string text;
  for (const std::string& each : failures_) text += each + "; ";
  if (text.empty() && has_unreported_failure_) text = "a device failed (no memory for its error message); ";
  return text.empty() ? text : text + "its chunks were counted again on the host";
}

engine_stats automatic_engine::stats() const {
  engine_stats all = host_.stats();
  const std::scoped_lock lock(mutex_);
  all.still_waking = state_ == device_state::waking;
  all.warning = warning();
  all.note = note();
  all.device_lost = is_lost_;
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
  all.decoded = device.decoded;
  if (!device.decoded.failure.empty()) {
    all.warning += (all.warning.empty() ? "" : "; ") + device.decoded.failure + "; its frames were decoded by the host";
  }
  all.device_lost = device.device_lost;
  return all;
}

}  // namespace gpuhist::gpu
