#include "pipeline/driver.hpp"

#include "gpu/engines.hpp"
#include "pipeline/collector.hpp"
#include "pipeline/feeder.hpp"
#include "pipeline/inputs/input_failure.hpp"
#include "pipeline/ring.hpp"
#include "pipeline/rolling_counts.hpp"
#include "pipeline/statistics/process_usage.hpp"
#include "pipeline/stop_signals.hpp"
#include "pipeline/telling.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
namespace {

using clock = std::chrono::steady_clock;

// One run. The io_context, run by the calling thread, reads streams, watches signals and writes snapshots; the pool
// reads files, decodes and, for the host engine, counts. Nothing in either blocks on the other.
class driver {
 public:
  driver(const plan& what, const run_hooks& hooks);
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;
  ~driver();

  outcome run();

 private:
  asio::awaitable<void> feed_and_settle();
  [[nodiscard]] run_progress progress() const;
  [[nodiscard]] std::optional<double> share_read() const;
  void make_ring();
  void make_sink();
  void count_before_long();
  void end_by_hook();
  void remark_later(const std::string& what);
  void remark_loss() const;
  void note_fatal(const std::exception_ptr& error);
  void finish();
  [[nodiscard]] report make_report(report::kind what) const;
  [[nodiscard]] run_stats make_stats() const;
  [[nodiscard]] double elapsed() const;

  plan plan_;                          // with as many slots as memory could be page-locked for ...
  const std::uint32_t slots_planned_;  // ... of these
  const run_hooks& hooks_;
  feed_notes notes_;
  std::stop_source stop_;
  asio::io_context context_{1};
  asio::thread_pool pool_;
  std::unique_ptr<ring> ring_;  // outlives the engine, which knows its memory
  gpu::engine_choice engine_;
  std::unique_ptr<rolling_counts> counts_;
  std::unique_ptr<collector> collector_;
  std::unique_ptr<io::stream_sink> sink_;  // null: nothing is handed on
  std::unique_ptr<feeder> feeder_;
  telling telling_;
  asio::steady_timer age_timer_;
  bool age_is_watched_ = false;
  stop_signals signals_;
  std::exception_ptr fatal_;
  clock::time_point began_;
  double seconds_ = 0;
  bool ended_by_hook_ = false;
  bool leaves_device_ = false;  // as it is, for the end of the process
};

driver::driver(const plan& what, const run_hooks& hooks)
    : plan_(what),
      slots_planned_(what.buffers.slots),
      hooks_(hooks),
      pool_(what.threads),
      telling_(context_, plan_, hooks),
      age_timer_(context_),
      signals_(context_, hooks.watch_signals, stop_) {
  engine_ = hooks.make_engine(what.engine,
                              {.counted = what.partition,
                               .run = [this](std::function<void()> task) { asio::post(pool_, std::move(task)); },
                               .threads = what.threads,
                               .streams = what.streams,
                               .devices = what.devices,
                               .all_devices = what.all_devices,
                               .kernel = what.kernel,
                               .max_chunk = what.buffers.chunk_bytes,
                               .max_extents = what.buffers.max_extents,
                               .max_copy = what.buffers.copy_bytes,
                               .share_read = [this] { return share_read(); },
                               .cores_are_wanted = [this] { return notes_.decompress.now_in_flight >= plan_.threads; },
                               .forecast = what.forecast});
  make_ring();
  gpu::engine& engine = *engine_.taken;
  counts_ = std::make_unique<rolling_counts>(what.partition, engine.row_partition(), std::vector<std::string>{});
  if (what.windows) counts_->add_windows(*what.windows, [this] { telling_.note_windows_changed(); });
  collector_ = std::make_unique<collector>(*ring_, engine, *counts_, stop_, pool_.get_executor(),
                                           [this] { telling_.note_merged(); });
  make_sink();
  if (sink_) collector_->go_on_behind_loss([this] { asio::post(context_, [this] { remark_loss(); }); });
  feeder_ = std::make_unique<feeder>(
      plan_, feeder::executors{.pool = pool_.get_executor(), .streams = context_.get_executor()}, *ring_, *collector_,
      *counts_, notes_, [this](const std::string& what) { remark_later(what); }, sink_.get(), stop_.get_token());
}

// Fewer slots where the machine cannot page-lock as many; what works with slots of its own gives way with them.
void driver::make_ring() {
  constexpr std::uint32_t fewest_slots = 2;
  buffer_plan& buffers = plan_.buffers;
  for (;;) {
    ring_ = std::make_unique<ring>(ring_shape{.slots = buffers.slots,
                                              .chunk_bytes = buffers.chunk_bytes,
                                              .max_extents = buffers.max_extents,
                                              .row_classes = engine_.taken->row_partition().classes,
                                              .populated = buffers.populated_slots},
                                   pool_.get_executor());
    try {
      return engine_.taken->register_memory(ring_->memory(), ring_->memory_owner());
    } catch (const gpu::memory_shortage&) {
      if (buffers.slots <= fewest_slots) throw;
      ring_.reset();  // first: there is little memory
    }
    buffers.slots = std::max(fewest_slots, buffers.slots / 2);
    buffers.decoders = std::min(buffers.decoders, buffers.slots - 1);
  }
}

void driver::make_sink() {
  if (plan_.hands_on == config::handed_on::nothing) return;
  try {
    sink_ = std::make_unique<io::stream_sink>(context_.get_executor(), io::descriptor::borrowed(STDOUT_FILENO),
                                              plan_.buffers.pipe_bytes,
                                              io::stream_sink::events{.written = [this] { count_before_long(); },
                                                                      .failed = [this] { stop_.request_stop(); }});
  } catch (const std::system_error& error) {
    throw destination_error(error.code(), "cannot write standard output");
  }
}

// On any thread; hooks are called on one.
void driver::remark_later(const std::string& what) {
  if (hooks_.remark) asio::post(context_, [this, what] { hooks_.remark(what); });
}

// At once: a stage may run for days.
void driver::remark_loss() const {
  if (!hooks_.remark) return;
  hooks_.remark("counting has failed: " + failure_text(collector_->loss_reason()) +
                "; what comes is handed on and not counted");
}

// What was handed on is counted when it is this old, also where its slot is not full by then.
void driver::count_before_long() {
  constexpr std::chrono::milliseconds oldest{100};
  if (std::exchange(age_is_watched_, true)) return;
  age_timer_.expires_after(oldest);
  age_timer_.async_wait([this](const boost::system::error_code& error) {
    age_is_watched_ = false;
    if (!error) feeder_->flush();
  });
}

// The threads end before what they use: the pool's, then the engine's own.
driver::~driver() {
  pool_.join();
  if (leaves_device_) {
    [[maybe_unused]] const auto* left = engine_.taken.release();  // its lanes wait for jobs that do not come
  } else {
    engine_.taken.reset();
  }
}

outcome driver::run() {
  began_ = clock::now();
  ring_->begin_history();
  const auto keep_running = asio::make_work_guard(context_);
  telling_.start({.counts = *counts_,
                  .collected = *collector_,
                  .feeding = *feeder_,
                  .make_report = [this](report::kind what) { return make_report(what); },
                  .progress = [this] { return progress(); },
                  .end_by_hook = [this] { end_by_hook(); },
                  .failure = [this](const std::exception_ptr& error) { note_fatal(error); }});
  const std::stop_callback cancel_on_stop(stop_.get_token(), [this] {
    if (sink_) asio::post(context_, [this] { sink_->cancel(); });  // a consumer that stalls does not hold up the end
  });
  context_.poll();  // a signal that came while the engine was made: nothing is read then
  asio::co_spawn(pool_, feed_and_settle(), [this](const std::exception_ptr& error) {
    asio::post(context_, [this, error] {
      note_fatal(error);
      finish();
    });
  });
  context_.run();
  pool_.join();
  if (fatal_) std::rethrow_exception(fatal_);

  const gpu::engine_stats counting = engine_.taken->stats();
  outcome done{.result = make_report(report::kind::result),
               .signal = signals_.received(),
               .ended_by_hook = ended_by_hook_,
               .engine_failure = {},
               .hand_on_fault = sink_ ? sink_->fault() : std::nullopt,
               .not_handed_on = sink_ ? sink_->left_over() : 0,
               .engine_warning = counting.warning,
               .end_at_once = counting.still_waking || counting.device_lost};
  telling_.tell_inputs_left(done.result);
  if (done.hand_on_fault) done.result.complete = false;
  leaves_device_ = hooks_.process_ends && !counting.device.empty();
  done.end_at_once = done.end_at_once || leaves_device_;
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
  return done;
}

asio::awaitable<void> driver::feed_and_settle() {
  std::exception_ptr error;
  try {
    co_await feeder_->feed_all();
  } catch (...) {
    error = std::current_exception();
  }
  if (rolling_windows* const windows = counts_->windows()) windows->end();
  co_await collector_->settled();  // in any case: what was submitted must come back before its memory goes
  seconds_ = elapsed();
  if (error) std::rethrow_exception(error);
}

void driver::end_by_hook() {
  ended_by_hook_ = true;
  stop_.request_stop();
}

// Cancelled waits are how snapshots, progress and status end; everything else ends the run.
void driver::note_fatal(const std::exception_ptr& error) {
  if (!error || fatal_) return;
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& e) {
    if (e.code() == asio::error::operation_aborted || e.code() == asio::experimental::channel_errc::channel_closed) {
      return;
    }
    fatal_ = error;
  } catch (...) {
    fatal_ = error;
  }
  telling_.discard_windows();
  stop_.request_stop();
}

void driver::finish() {
  if (sink_) sink_->close();
  try {
    if (!fatal_) telling_.tell_last();
  } catch (...) {
    note_fatal(std::current_exception());
  }
  signals_.ignore();
  telling_.cancel();
  age_timer_.cancel();
  context_.stop();
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

report driver::make_report(report::kind what) const {
  report out;
  counts_->write_to(out);
  out.what = what;
  out.schemes = plan_.schemes;
  out.byte_counts = plan_.byte_counts;
  out.measuring = plan_.measuring;
  out.ignore_case = plan_.ignore_case;
  out.totals_only = plan_.totals_only;
  out.elapsed_seconds = elapsed();
  if (what == report::kind::result) {
    out.skipped = feeder_->skipped();
    if (plan_.stats) out.stats = make_stats();
    if (plan_.count_unverified) {
      out.verified += out.unverified;
      out.counted_unverified = out.unverified.bytes() > 0;
      out.inputs.count_unverified();
    }
  }
  return out;
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
                  .hands_on = sink_ != nullptr,
                  .seconds = seconds_,
                  .stopped = stop_.stop_requested(),
                  .threads = plan_.threads,
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
  for (const scheme_view& each : plan_.schemes) stats.schemes.push_back(each.scheme.name);
  add_stages(stats, notes_);
  return stats;
}

}  // namespace

outcome run(const plan& what, const run_hooks& hooks) { return driver(what, hooks).run(); }

}  // namespace gpuhist::pipeline
