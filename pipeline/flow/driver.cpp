#include "pipeline/flow/driver.hpp"
#include "io/destination_error.hpp"
#include "io/stream_sink.hpp"

#include "async/event_loop.hpp"
#include "async/task_group.hpp"
#include "async/worker_pool.hpp"
#include "gpu/engines.hpp"
#include "pipeline/counts/input_failure.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/feeder.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/run_notifier.hpp"
#include "pipeline/flow/statistics/process_usage.hpp"
#include "pipeline/flow/stop_signals.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using clock = std::chrono::steady_clock;

// One run. The loop, run by the calling thread, reads streams, watches signals and writes snapshots; the pool reads
// files, decodes and, for the host engine, counts. Nothing in either blocks on the other.
//
// There is one way to end it, whatever happened: the first failure asks for a stop, the feeding ends everything that it
// began, what was submitted comes back, the loops of this thread end, and then the threads do.
class driver {
 public:
  driver(const run_plan& what, const run_hooks& hooks);
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
  void feed();
  void begin();
  async::task<> feed_and_settle();
  template <typename Condition>
  void run_loop_until(Condition holds) noexcept;
  void finish() noexcept;
  outcome make_outcome();
  [[nodiscard]] bool ends_at_once() const noexcept;

  [[nodiscard]] run_progress progress() const;
  [[nodiscard]] std::optional<double> share_read() const;
  async::task<> flush_what_ages();
  void end_by_hook();
  void remark(const std::string& what) const;
  void remark_later(const std::string& what);
  void remark_loss() noexcept;
  void note_failure(const std::exception_ptr& error) noexcept;
  [[nodiscard]] run_counts snapshot() const;
  [[nodiscard]] run_counts make_result() const;
  [[nodiscard]] run_stats make_stats() const;
  [[nodiscard]] double elapsed() const;

  run_plan plan_;                      // with as many slots as memory could be page-locked for ...
  const std::uint32_t slots_planned_;  // ... of these ...
  const unsigned threads_planned_;     // ... and as many threads as could be started of these
  const run_hooks& hooks_;
  feed_notes notes_;
  std::stop_source stop_;
  async::first_failure failures_;
  async::event_loop loop_;
  std::optional<async::worker_pool> pool_;
  std::unique_ptr<ring> ring_;  // outlives the engine, which knows its memory
  gpu::engine_choice engine_;
  std::unique_ptr<rolling_counts> counts_;
  std::unique_ptr<collector> collector_;
  std::unique_ptr<io::stream_sink> sink_;  // null: nothing is handed on
  std::unique_ptr<feeder> feeder_;
  run_notifier notifier_;
  async::wakeup written_;  // something was handed on
  async::alarm age_alarm_;
  stop_signals signals_;
  clock::time_point began_;
  double seconds_ = 0;
  bool feeding_has_ended_ = false;
  bool ended_by_hook_ = false;
  bool leaves_device_ = false;  // as it is, for the end of the process
};

driver::driver(const run_plan& what, const run_hooks& hooks)
    : plan_(what),
      slots_planned_(what.buffers.slots),
      threads_planned_(what.threads),
      hooks_(hooks),
      failures_(stop_),
      notifier_(loop_, plan_, hooks),
      age_alarm_(loop_),
      signals_(loop_.context(), hooks.watch_signals, stop_) {}

void driver::prepare() {
  make_pool();
  make_engine();
  make_ring();
  gpu::engine& engine = *engine_.taken;
  counts_ = std::make_unique<rolling_counts>(plan_.partition, engine.row_partition(), std::vector<std::string>{});
  if (plan_.windows) counts_->add_windows(*plan_.windows, [this] { notifier_.note_windows_changed(); });
  collector_ = std::make_unique<collector>(*ring_, engine, *counts_, stop_, [this] { notifier_.note_merged(); });
  make_sink();
  feeder_ = std::make_unique<feeder>(
      plan_, feeder::executors{.pool = *pool_, .streams = loop_}, *ring_, *collector_, *counts_, notes_, failures_,
      [this](const std::string& text) { remark_later(text); }, sink_.get(), stop_.get_token());
}

// Fewer threads where the system does not let the process have as many.
void driver::make_pool() {
  pool_.emplace(plan_.threads);
  plan_.threads = pool_->size();
  if (plan_.threads == threads_planned_) return;
  remark("warning: only " + std::to_string(plan_.threads) + " of " + std::to_string(threads_planned_) +
         " threads could be started; raise the limit on processes (ulimit -u) or of the container (pids.max)");
}

void driver::make_engine() {
  engine_ = hooks_.make_engine(plan_.engine,
                               {.counted = plan_.partition,
                                .run = [this](std::function<void()> task) { pool_->post(std::move(task)); },
                                .threads = plan_.threads,
                                .streams = plan_.streams,
                                .devices = plan_.devices,
                                .all_devices = plan_.all_devices,
                                .kernel = plan_.kernel,
                                .max_chunk = plan_.buffers.chunk_bytes,
                                .max_extents = plan_.buffers.max_extents,
                                .max_copy = plan_.buffers.copy_bytes,
                                .share_read = [this] { return share_read(); },
                                .cores_are_wanted = [this] { return notes_.decompress.now_in_flight >= plan_.threads; },
                                .forecast = plan_.forecast});
}

// Fewer slots where the machine cannot page-lock as many; what works with slots of its own gives way with them.
void driver::make_ring() {
  constexpr std::uint32_t min_slots = 2;
  buffer_plan& buffers = plan_.buffers;
  for (;;) {
    ring_ = std::make_unique<ring>(ring_shape{.slots = buffers.slots,
                                              .chunk_bytes = buffers.chunk_bytes,
                                              .max_extents = buffers.max_extents,
                                              .row_classes = engine_.taken->row_partition().classes,
                                              .populated = buffers.populated_slots});
    try {
      return engine_.taken->register_memory(ring_->memory(), ring_->memory_owner());
    } catch (const gpu::memory_shortage&) {
      if (buffers.slots <= min_slots) throw;
      ring_.reset();  // first: there is little memory
    }
    buffers.slots = std::max(min_slots, buffers.slots / 2);
    buffers.decoders = std::min(buffers.decoders, buffers.slots - 1);
  }
}

void driver::make_sink() {
  if (plan_.passes_through == config::pass_through_mode::nothing) return;
  try {
    sink_ = std::make_unique<io::stream_sink>(
        loop_, io::descriptor::borrowed(STDOUT_FILENO), plan_.buffers.pipe_bytes,
        io::stream_sink::events{.written = [this] { written_.notify(); }, .failed = [this] { stop_.request_stop(); }});
  } catch (const std::system_error& error) {
    throw io::destination_error(error.code(), "cannot write standard output");
  }
}

// On any thread; hooks are called on one.
void driver::remark_later(const std::string& what) {
  const auto call = std::make_shared<async::deferred_call>(loop_, [this, what] {
    try {
      remark(what);
    } catch (...) {
      note_failure(std::current_exception());
    }
  });
  call->post();
}

void driver::remark(const std::string& what) const {
  if (hooks_.remark) hooks_.remark(what);
}

// At once: a stage may run for days.
void driver::remark_loss() noexcept {
  try {
    remark("counting has failed: " + failure_text(collector_->loss_reason()) +
           "; what comes is handed on and not counted");
  } catch (...) {
    note_failure(std::current_exception());
  }
}

// What was handed on is counted when it is this old, also where its slot is not full by then.
async::task<> driver::flush_what_ages() {
  constexpr std::chrono::milliseconds oldest{100};
  for (;;) {
    co_await written_.wait();
    age_alarm_.set(oldest);
    co_await age_alarm_.wait();
    feeder_->flush();
  }
}

// The threads end before what they use: the pool's, then the engine's own.
driver::~driver() {
  if (pool_) pool_->join();
  if (leaves_device_) {
    [[maybe_unused]] const auto* left = engine_.taken.release();  // its lanes wait for jobs that do not come
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

// Ends everything that it begins, and keeps what went wrong.
void driver::feed() {
  began_ = clock::now();
  ring_->begin_history();
  async::posted_call end_of_feeding(loop_, [this] { feeding_has_ended_ = true; });
  async::posted_call loss(loop_, [this] { remark_loss(); });
  async::posted_call stopped(loop_, [this] {
    if (sink_) sink_->cancel();  // a consumer that stalls does not hold up the end
  });
  if (sink_) collector_->continue_after_loss([&loss] { loss.post(); });
  const std::stop_callback cancel_on_stop(stop_.get_token(), [&stopped]() noexcept { stopped.post(); });
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
  run_loop_until([&] { return !end_of_feeding.is_posted() && !loss.is_posted() && !stopped.is_posted(); });
}

// What is said while it lasts.
void driver::begin() {
  notifier_.start({.counts = *counts_,
                   .collected = *collector_,
                   .feeding = *feeder_,
                   .snapshot = [this] { return snapshot(); },
                   .progress = [this] { return progress(); },
                   .end_by_hook = [this] { end_by_hook(); },
                   .failure = [this](const std::exception_ptr& error) { note_failure(error); }});
  if (sink_) {
    async::spawn(loop_, flush_what_ages(), [this](const std::exception_ptr& error) noexcept { note_failure(error); });
  }
  loop_.poll();  // a signal that came while the engine was made: nothing is read then
}

// A handler that throws ends the run, not the loop, which others still wait for.
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
    co_await feeder_->feed_all();
    if (rolling_windows* const windows = counts_->windows()) windows->end();
  } catch (...) {
    failures_.note(std::current_exception());
  }
  co_await collector_->settled();  // in any case: what was submitted must come back before its memory goes
  seconds_ = elapsed();
}

void driver::end_by_hook() {
  ended_by_hook_ = true;
  stop_.request_stop();
}

// Cancelled waits are how snapshots, progress and status end; everything else ends the run.
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
  } catch (...) {  // the first failure is what is reported
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
  signals_.ignore();
  notifier_.cancel();
  written_.close();
  age_alarm_.cancel();
}

outcome driver::make_outcome() {
  const gpu::engine_stats counting = engine_.taken->stats();
  outcome done{.result = make_result(),
               .stats = plan_.stats ? std::optional(make_stats()) : std::nullopt,
               .signal = signals_.received(),
               .ended_by_hook = ended_by_hook_,
               .engine_failure = {},
               .pass_through_fault = sink_ ? sink_->fault() : std::nullopt,
               .not_passed_through = sink_ ? sink_->unwritten_bytes() : 0,
               .engine_warning = counting.warning,
               .end_at_once = counting.still_waking || counting.device_lost};
  notifier_.notify_remaining_inputs(done.result);
  if (done.pass_through_fault) done.result.complete = false;
  if (const auto reason = collector_->loss_reason(); reason && sink_) {
    done.result.complete = false;
    done.engine_failure =
        "counting failed: " + failure_text(reason) + "; what came after that was handed on, not counted";
  } else if (const auto lost = collector_->lost()) {
    done.result.complete = false;
    done.engine_failure = counts_->name_of(lost->input) + ": not counted from offset " + std::to_string(lost->offset) +
                          " on: " + failure_text(lost->reason);
  } else if (const auto failure = collector_->failure()) {
    done.result.complete = false;
    done.engine_failure = "the run was stopped: " + failure_text(failure);
  }
  leaves_device_ = hooks_.process_ends && !counting.device.empty();
  done.end_at_once = done.end_at_once || leaves_device_;
  return done;
}

// Where that cannot be found out, so: it does no harm.
bool driver::ends_at_once() const noexcept {
  if (!engine_.taken) return false;
  try {
    const gpu::engine_stats counting = engine_.taken->stats();
    return counting.still_waking || counting.device_lost;
  } catch (...) {
    return true;
  }
}

run_progress driver::progress() const {
  return {.source_bytes = notes_.read.bytes, .text_bytes = counts_->merged_bytes(), .seconds = elapsed()};
}

std::optional<double> driver::share_read() const {
  if (!plan_.source_bytes) return std::nullopt;
  const auto read = static_cast<double>(notes_.read.bytes);
  return read > 0 ? read / std::max(read, static_cast<double>(*plan_.source_bytes)) : 0;
}

double driver::elapsed() const { return std::chrono::duration<double>(clock::now() - began_).count(); }

run_counts driver::snapshot() const {
  run_counts now = counts_->counts();
  now.elapsed_seconds = elapsed();
  return now;
}

run_counts driver::make_result() const {
  run_counts result = snapshot();
  result.skipped = feeder_->skipped();
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
                  .counted_classes = engine_.taken->row_partition().classes,
                  .inputs = counts_->inputs(),
                  .disk_bytes = disk_bytes_read(),
                  .in_order_for = plan_.in_order_for,
                  .passes_through = sink_ != nullptr,
                  .seconds = seconds_,
                  .stopped = stop_.stop_requested(),
                  .threads = plan_.threads,
                  .threads_planned = threads_planned_,
                  .cores = std::max(1U, std::thread::hardware_concurrency()),
                  .slots = plan_.buffers.slots,
                  .slot_bytes = plan_.buffers.chunk_bytes,
                  .slot_waiting_seconds = ring_->waiting_seconds(),
                  .consumer_waiting_seconds = sink_ ? sink_->waited().count() : 0,
                  .slots_over_time = ring_->history(ended),
                  .chunks = collector_->merged_chunks(),
                  .bytes = counts_->merged_bytes(),
                  .peak_memory = peak_resident_bytes(),
                  .memory_limit = plan_.buffers.memory_limit};
  if (stats.engine_reason.empty()) stats.engine_reason = stats.counting.note;
  if (stats.slots < slots_planned_) {
    stats.engine_reason += (stats.engine_reason.empty() ? "" : "; ") + std::string("memory could be page-locked for ") +
                           std::to_string(stats.slots) + " of " + std::to_string(slots_planned_) + " slots";
  }
  add_stages(stats, notes_);
  return stats;
}

}  // namespace

outcome run(const run_plan& what, const run_hooks& hooks) { return driver(what, hooks).run(); }

}  // namespace gpuhist::pipeline
