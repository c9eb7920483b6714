#include "pipeline/flow/driver.hpp"
#include "io/failure.hpp"
#include "io/stream_sink.hpp"

#include "async/event_loop.hpp"
#include "async/task_group.hpp"
#include "async/worker_pool.hpp"
#include "gpu/engines.hpp"
#include "gpu/host/process_limits.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/feeder.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/run_notifier.hpp"
#include "pipeline/flow/statistics/run_stats.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t share_of_waiting = 8;  // of the memory limit, for counts of members that wait for a verdict

// One run. The calling thread runs the event loop, which reads streams and writes snapshots. The pool
// reads files, decodes and, for the host engine, counts. Neither blocks on the other.
//
// Every run ends in one way. The first failure requests a stop. The feeder ends all work that it began, the engine
// returns all submitted chunks, the tasks of the event loop end, and then the threads end.
class driver {
 public:
  driver(const run_plan& plan, const run_hooks& hooks);
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;
  ~driver();

  outcome run();

 private:
  void prepare();
  void make_pool();
  void make_engine();
  void make_ring();
  void make_sink();
  void make_feed();
  void feed();
  void begin();
  async::task<> feed_and_settle();
  template <typename Condition>
  void run_loop_until(Condition holds) noexcept;
  void finish() noexcept;
  outcome make_outcome();
  [[nodiscard]] bool may_hang(const gpu::engine_stats& counting) const;
  [[nodiscard]] bool ends_at_once() const noexcept;

  [[nodiscard]] run_progress progress() const;
  async::task<> flush_forwarded();
  void end_by_hook();
  void notify(const std::string& text) const;
  void notify_later(const std::string& text);
  void notify_loss() noexcept;
  void note_failure(const std::exception_ptr& error) noexcept;
  [[nodiscard]] run_counts snapshot() const;
  [[nodiscard]] run_counts make_result() const;
  [[nodiscard]] run_stats make_stats() const;
  [[nodiscard]] double elapsed() const;

  run_plan plan_;                      // its slots and threads are reduced to those that the system allows
  const std::uint32_t slots_planned_;  // before the reduction
  const unsigned threads_planned_;     // before the reduction
  const run_hooks& hooks_;
  feed_notes notes_;
  std::stop_source stop_;
  async::first_failure failures_;
  async::event_loop loop_;
  std::optional<async::worker_pool> pool_;
  std::unique_ptr<ring> ring_;  // outlives the engine, which has registered its memory
  gpu::engine_choice engine_;
  std::unique_ptr<rolling_counts> counts_;
  std::unique_ptr<collector> collector_;
  std::unique_ptr<io::stream_sink> sink_;  // null: nothing is forwarded
  std::shared_ptr<text_feed> feed_;
  run_notifier notifier_;
  async::wakeup forwarded_;  // notified after bytes were forwarded
  async::alarm age_alarm_;
  std::shared_ptr<void> attached_;  // what run_hooks::attach has returned
  clock::time_point began_;
  double seconds_ = 0;
  bool feeding_has_ended_ = false;
  bool is_stopped_ = false;
  bool ended_by_hook_ = false;
  bool leaves_device_ = false;  // the engine is not destroyed, because the process exits
};

std::string remedy_of_shortage(bool is_fed) {
  return is_fed ? "; try fewer --streams" : "; try fewer --slots, a smaller --chunk-size or fewer --streams";
}

driver::driver(const run_plan& plan, const run_hooks& hooks)
    : plan_(plan),
      slots_planned_(plan.buffers.slots),
      threads_planned_(plan.threads),
      hooks_(hooks),
      failures_(stop_),
      notifier_(loop_, plan_, hooks),
      age_alarm_(loop_),
      attached_(hooks.attach ? hooks.attach(loop_) : nullptr) {}

void driver::prepare() {
  make_pool();
  try {
    make_engine();
    make_ring();
  } catch (const gpu::memory_shortage& shortage) {
    throw gpu::memory_shortage(shortage.what() + remedy_of_shortage(plan_.is_fed));
  }
  gpu::engine& engine = *engine_.taken;
  counts_ =
      std::make_unique<rolling_counts>(plan_.partition, engine.layout(), std::vector<std::string>{}, plan_.spilled_to);
  counts_->limit_waiting(plan_.buffers.memory_limit / share_of_waiting);
  if (hooks_.inputs_completed) counts_->record_completions();
  if (plan_.windows) counts_->add_windows(*plan_.windows, [this] { notifier_.note_windows_changed(); });
  collector_ = std::make_unique<collector>(*ring_, engine, *counts_, stop_, [this] {
    feed_->note_merged();
    notifier_.note_merged();
  });
  make_sink();
  make_feed();
}

// If the system limits the threads of the process, the run uses fewer.
void driver::make_pool() {
  pool_.emplace(plan_.threads);
  plan_.threads = pool_->size();
  plan_.readers = std::min(plan_.readers, plan_.threads);
  if (plan_.threads == threads_planned_) return;
  notify("warning: only " + std::to_string(plan_.threads) + " of " + std::to_string(threads_planned_) +
         " threads could be started; raise the limit on processes (ulimit -u) or of the container (pids.max)");
}

void driver::make_engine() {
  engine_ =
      hooks_.make_engine(plan_.engine, {.counted = plan_.partition,
                                        .pairs = plan_.pairs,
                                        .run = [this](std::function<void()> task) { pool_->post(std::move(task)); },
                                        .threads = plan_.threads,
                                        .streams = plan_.streams,
                                        .decoder_memory = plan_.device_memory,
                                        .devices = plan_.devices,
                                        .all_devices = plan_.all_devices,
                                        .kernel = plan_.kernel,
                                        .max_chunk = plan_.buffers.chunk_bytes,
                                        .max_extents = plan_.buffers.max_extents,
                                        .max_copy = plan_.buffers.copy_bytes,
                                        .load = {.bytes_read = &notes_.read.bytes,
                                                 .bytes_in_all = plan_.source_bytes,
                                                 .busy_decoders = &notes_.decompress.now_in_flight},
                                        .joins_waker = plan_.joins_waker,
                                        .forecast = plan_.forecast});
}

// If the machine cannot page-lock the planned slots, the run uses fewer slots, and fewer decoders, which need a slot
// each.
void driver::make_ring() {
  constexpr std::uint32_t min_slots = 2;
  buffer_plan& buffers = plan_.buffers;
  for (;;) {
    ring_ =
        std::make_unique<ring>(ring_shape{.slots = buffers.slots,
                                          .chunk_bytes = buffers.chunk_bytes,
                                          .max_extents = buffers.max_extents,
                                          .row_columns = static_cast<std::uint32_t>(engine_.taken->layout().columns()),
                                          .feeds_link = plan_.forecast.cuda});
    try {
      return engine_.taken->register_memory(ring_->memory(), ring_->memory_owner());
    } catch (const gpu::memory_shortage&) {
      if (buffers.slots <= min_slots) throw;
      ring_.reset();  // before the next ring is made, because memory is short
    }
    buffers.slots = std::max(min_slots, buffers.slots / 2);
    buffers.decoders = std::min(buffers.decoders, buffers.slots - 1);
  }
}

void driver::make_sink() {
  if (!plan_.passes_through) return;
  try {
    sink_ = std::make_unique<io::stream_sink>(loop_, io::descriptor::borrowed(plan_.pass_through_descriptor),
                                              plan_.buffers.pipe_bytes,
                                              io::stream_sink::events{.written = [this] { forwarded_.notify(); },
                                                                      .failed = [this] { stop_.request_stop(); }});
  } catch (const std::system_error& error) {
    throw io::destination_error(error.code(), "cannot write " + name_of_sink(plan_));
  }
}

void driver::make_feed() {
  if (hooks_.make_feed) {
    feed_ = hooks_.make_feed({.slots = *ring_,
                              .collected = *collector_,
                              .counts = *counts_,
                              .notes = notes_,
                              .pool = *pool_,
                              .streams = loop_,
                              .failures = failures_,
                              .stop = stop_,
                              .plan = plan_,
                              .snapshot = [this] { return snapshot(); },
                              .observer = hooks_.observer});
    return;
  }
  feed_ = std::make_shared<feeder>(
      plan_, feeder::executors{.pool = *pool_, .streams = loop_}, *ring_, *collector_, *counts_, notes_, failures_,
      [this](const std::string& text) { notify_later(text); },
      feeder::outlets{.sink = sink_.get(), .observer = hooks_.observer}, *engine_.taken, stop_.get_token());
}

// Any thread may call it. The hook is called on the thread of the loop.
void driver::notify_later(const std::string& text) {
  const auto call = std::make_shared<async::deferred_call>(loop_, [this, text] {
    try {
      notify(text);
    } catch (...) {
      note_failure(std::current_exception());
    }
  });
  call->post();
}

void driver::notify(const std::string& text) const {
  if (hooks_.notice) hooks_.notice(text);
}

// At once, because a pipeline may run for days.
void driver::notify_loss() noexcept {
  try {
    notify("counting failed: " + failure_text(collector_->loss_reason()) +
           "; later input is forwarded, but not counted");
  } catch (...) {
    note_failure(std::current_exception());
  }
}

// Forwarded bytes are counted after 100 ms even if their slot is not full.
async::task<> driver::flush_forwarded() {
  constexpr std::chrono::milliseconds oldest{100};
  for (;;) {
    co_await forwarded_.wait();
    age_alarm_.set(oldest);
    co_await age_alarm_.wait();
    feed_->flush();
  }
}

// Threads end before the objects that they use: the threads of the pool, then those of the engine.
driver::~driver() {
  if (pool_) pool_->join();
  if (leaves_device_) {
    [[maybe_unused]] const auto* leaked = engine_.taken.release();  // its lanes wait for jobs until the process exits
  } else {
    engine_.taken.reset();
  }
}

outcome driver::run() {
  std::exception_ptr failure;
  try {
    prepare();
    feed();
    failures_.rethrow();
    return make_outcome();
  } catch (...) {
    failure = std::current_exception();
  }
  if (ends_at_once()) throw unclean_end(failure);
  std::rethrow_exception(failure);
}

// All work that it begins has ended when it returns. Failures are kept in failures_.
void driver::feed() {
  began_ = clock::now();
  ring_->begin_history();
  async::posted_call end_of_feeding(loop_, [this] { feeding_has_ended_ = true; });
  async::posted_call loss(loop_, [this] { notify_loss(); });
  async::posted_call stopped(loop_, [this] {
    if (sink_) sink_->cancel();  // so that a stalled consumer does not delay the end
  });
  if (sink_) collector_->continue_after_loss([&loss] { loss.post(); });
  const std::stop_callback cancel_on_stop(stop_.get_token(), [&stopped]() noexcept { stopped.post(); });
  std::optional<std::stop_callback<std::function<void()>>> stop_of_caller;
  stop_of_caller.emplace(hooks_.stop, [this] { stop_.request_stop(); });
  try {
    begin();
    async::spawn(*pool_, feed_and_settle(), [this, &end_of_feeding](const std::exception_ptr& error) noexcept {
      failures_.note(error);
      end_of_feeding.post();
    });
  } catch (...) {
    note_failure(std::current_exception());
    feeding_has_ended_ = true;
  }
  run_loop_until([this] { return feeding_has_ended_; });
  finish();
  run_loop_until([this] { return !loop_.has_tasks(); });
  pool_->join();
  stop_of_caller.reset();  // waits for a request in progress, so nothing is posted afterwards
  run_loop_until([&] { return !end_of_feeding.is_posted() && !loss.is_posted() && !stopped.is_posted(); });
}

// Starts the loops that report during the run.
void driver::begin() {
  notifier_.start({.counts = *counts_,
                   .collected = *collector_,
                   .feeding = *feed_,
                   .snapshot = [this] { return snapshot(); },
                   .progress = [this] { return progress(); },
                   .end_by_hook = [this] { end_by_hook(); },
                   .failure = [this](const std::exception_ptr& error) { note_failure(error); }});
  if (sink_) {
    async::spawn(loop_, flush_forwarded(), [this](const std::exception_ptr& error) noexcept { note_failure(error); });
  }
  loop_.poll();  // handles a stop that was requested while the engine was made, before anything is read
}

// An exception of a handler ends the run. The loop continues, because other tasks depend on it.
template <typename Condition>
void driver::run_loop_until(Condition holds) noexcept {
  for (;;) {
    try {
      return loop_.run_until(holds);
    } catch (...) {
      note_failure(std::current_exception());
    }
  }
}

async::task<> driver::feed_and_settle() {
  try {
    co_await feed_->feed_all();
    if (rolling_windows* const windows = counts_->windows()) windows->end();
  } catch (...) {
    failures_.note(std::current_exception());
  }
  co_await collector_->settled();  // in any case: submitted chunks must return before their memory is freed
  seconds_ = elapsed();
}

void driver::end_by_hook() {
  ended_by_hook_ = true;
  stop_.request_stop();
}

// The loops for snapshots, progress and status end with async::wait_ended. Every other exception ends the run.
void driver::note_failure(const std::exception_ptr& error) noexcept {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const async::wait_ended&) {
    return;
  } catch (...) {
    failures_.note(std::current_exception());
  }
  try {
    notifier_.discard_windows();
  } catch (...) {  // only the first failure is reported
    failures_.note(std::current_exception());
  }
}

void driver::finish() noexcept {
  try {
    if (sink_) sink_->close();
    if (!failures_.get()) notifier_.publish_remaining();
  } catch (...) {
    note_failure(std::current_exception());
  }
  is_stopped_ = hooks_.stop.stop_requested();
  attached_.reset();
  notifier_.cancel();
  forwarded_.close();
  age_alarm_.cancel();
}

outcome driver::make_outcome() {
  const gpu::engine_stats counting = engine_.taken->stats();
  outcome made{.result = make_result(),
               .stats = plan_.stats ? std::optional(make_stats()) : std::nullopt,
               .is_stopped = is_stopped_,
               .ended_by_hook = ended_by_hook_,
               .engine_failure = {},
               .pass_through_error = sink_ ? sink_->fault() : std::nullopt,
               .not_passed_through = sink_ ? sink_->unwritten_bytes() : 0,
               .empty_trees = feed_->empty_trees(),
               .engine_warning = counting.warning,
               .end_at_once = may_hang(counting)};
  notifier_.notify_remaining_inputs(made.result);
  if (made.pass_through_error) made.result.complete = false;
  if (const auto reason = collector_->loss_reason(); reason && sink_) {
    made.result.complete = false;
    made.engine_cause = reason;
    made.engine_failure = "counting failed: " + failure_text(reason) + "; later input was forwarded, but not counted";
  } else if (const auto lost = collector_->lost()) {
    made.result.complete = false;
    made.engine_cause = lost->reason;
    made.engine_failure = counts_->name_of(lost->input) + ": not counted from offset " + std::to_string(lost->offset) +
                          " on: " + failure_text(lost->reason);
  } else if (const auto failure = collector_->failure()) {
    made.result.complete = false;
    made.engine_cause = failure;
    made.engine_failure = "the run was stopped: " + failure_text(failure);
  }
  leaves_device_ = hooks_.process_exits && !counting.device.empty();
  made.end_at_once = made.end_at_once || leaves_device_;
  return made;
}

// Whether the end of the engine may wait for a device without limit.
bool driver::may_hang(const gpu::engine_stats& counting) const {
  return (counting.still_waking && !plan_.joins_waker) || counting.device_lost;
}

// If it cannot be determined, true: ending at once does no harm.
bool driver::ends_at_once() const noexcept {
  if (!engine_.taken) return false;
  try {
    return may_hang(engine_.taken->stats());
  } catch (...) {
    return true;
  }
}

run_progress driver::progress() const {
  return {.source_bytes = notes_.read.bytes, .text_bytes = counts_->merged_bytes(), .seconds = elapsed()};
}

double driver::elapsed() const { return std::chrono::duration<double>(clock::now() - began_).count(); }

run_counts driver::snapshot() const {
  run_counts now = counts_->counts();
  now.elapsed_seconds = elapsed();
  return now;
}

run_counts driver::make_result() const {
  run_counts result = snapshot();
  result.skipped = feed_->skipped();
  if (plan_.count_unverified) {
    result.verified += result.unverified;
    result.counted_unverified = result.unverified.bytes() > 0;
    result.inputs.count_unverified();
  }
  return result;
}

run_stats driver::make_stats() const {
  const auto ended = began_ + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds_));
  run_stats stats{.engine = std::string(engine_.taken->name()),
                  .engine_reason = engine_.reason,
                  .counting = engine_.taken->stats(),
                  .classes = plan_.partition.classes,
                  .counted_classes = engine_.taken->layout().counted.classes,
                  .inputs = counts_->inputs(),
                  .disk_bytes = disk_bytes_read(),
                  .in_order_for = plan_.in_order_for,
                  .passes_through = sink_ != nullptr,
                  .seconds = seconds_,
                  .stopped = stop_.stop_requested(),
                  .threads = plan_.threads,
                  .threads_planned = threads_planned_,
                  .cores = gpu::host::available_cores(),
                  .slots = plan_.buffers.slots,
                  .slot_bytes = plan_.buffers.chunk_bytes,
                  .slot_waiting_seconds = ring_->waiting_seconds(),
                  .consumer_waiting_seconds = sink_ ? sink_->waited().count() : 0,
                  .slots_over_time = ring_->history(ended),
                  .chunks = collector_->merged_chunks(),
                  .bytes = counts_->merged_bytes(),
                  .peak_memory = peak_resident_bytes(),
                  .memory_limit = plan_.buffers.memory_limit + plan_.buffers.beyond_limit};
  if (stats.engine_reason.empty()) stats.engine_reason = stats.counting.note;
  if (stats.slots < slots_planned_) {
    stats.engine_reason += (stats.engine_reason.empty() ? "" : "; ") + std::string("memory could be page-locked for ") +
                           std::to_string(stats.slots) + " of " + std::to_string(slots_planned_) + " slots";
  }
  if (!notes_.device_note.empty()) {
    stats.engine_reason += (stats.engine_reason.empty() ? "" : "; ") + notes_.device_note;
  }
  add_stages(stats, notes_);
  return stats;
}

}  // namespace

outcome run(const run_plan& plan, const run_hooks& hooks) { return driver(plan, hooks).run(); }

}  // namespace gpuhist::pipeline
