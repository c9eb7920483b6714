#include "pipeline/flow/run_notifier.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using clock = std::chrono::steady_clock;

}  // namespace

run_notifier::run_notifier(async::event_loop& loop, const run_plan& plan, const run_hooks& hooks)
    : loop_(loop),
      plan_(plan),
      hooks_(hooks),
      windows_(loop, hooks),
      snapshot_alarm_(loop),
      progress_alarm_(loop),
      flush_alarm_(loop),
      kept_alarm_(loop),
      prefix_alarm_(loop),
      clock_alarm_(loop) {}

void run_notifier::start(notified_run run) {
  run_.emplace(std::move(run));
  if (plan_.snapshot_every && (hooks_.snapshot || hooks_.check_counts)) {
    if (const auto* interval = std::get_if<std::chrono::milliseconds>(&*plan_.snapshot_every)) {
      spawn(snapshots_by_time(*interval));
    } else {
      snapshot_due_at_ = std::get<std::uint64_t>(*plan_.snapshot_every);
      spawn(snapshots_by_size());
    }
  } else if (hooks_.check_counts) {
    spawn(snapshots_by_time(std::chrono::seconds(1)));
  }
  if (hooks_.progress) spawn(progress_by_time());
  if (hooks_.status_requests) spawn(status_by_request());
  if (hooks_.write_kept) spawn(kept_reports_by_time());
  if (hooks_.prefixes) spawn(prefixes_by_time());
  if (hooks_.check_clock) spawn(clock_by_time());
  if (hooks_.input_finished) spawn(inputs_as_they_finish());
  // windows precede their input; those that are not numbered by input may have text of later ones
  const bool completes_at_once = hooks_.inputs_completed && (!plan_.windows || plan_.windows->numbered_by_input);
  if (completes_at_once) spawn(inputs_as_they_complete());
  if (hooks_.input_finished || completes_at_once) spawn(flushes_by_time());
  if (rolling_windows* const windows = run_->counts.windows()) {
    windows_.start({.windows = *windows,
                    .collected = run_->collected,
                    .feeding = run_->feeding,
                    .end_by_hook = [this] { end_by_hook(); }},
                   [this](async::task<> task) { spawn(std::move(task)); });
  }
}

void run_notifier::spawn(async::task<> task) {
  async::spawn(loop_, std::move(task), [this](const std::exception_ptr& error) noexcept { run_->failure(error); });
}

void run_notifier::note_merged() {
  if (wants_snapshots()) merged_for_snapshots_.notify();
  if (hooks_.status_requests) merged_for_status_.notify();
  if (hooks_.input_finished) merged_for_inputs_.notify();
  if (hooks_.inputs_completed) merged_for_completions_.notify();
  if (plan_.windows) windows_.note_merged();
}

// Seals the slots that are filling, so that all bytes of a slow stream are counted, and waits until they are merged.
async::task<> run_notifier::flush_and_wait(async::wakeup& merged) {
  const std::vector<cut_mark> cut = run_->feeding.flush();
  while (!run_->collected.has_merged(cut)) co_await merged.wait();
}

async::task<> run_notifier::snapshots_by_time(std::chrono::milliseconds interval) {
  for (auto due = clock::now() + interval;; due += interval) {
    snapshot_alarm_.set(due);
    co_await snapshot_alarm_.wait();
    co_await flush_and_wait(merged_for_snapshots_);
    publish_snapshot();
    if (due + interval < clock::now()) due = clock::now();  // a slow reader gets fewer snapshots
  }
}

async::task<> run_notifier::snapshots_by_size() {
  for (;;) {
    co_await merged_for_snapshots_.wait();
    snapshot_if_due();
  }
}

void run_notifier::snapshot_if_due() {
  const std::uint64_t merged = run_->counts.merged_bytes();
  if (merged < snapshot_due_at_) return;
  const auto interval = std::get<std::uint64_t>(*plan_.snapshot_every);
  snapshot_due_at_ = (merged / interval + 1) * interval;
  publish_snapshot();
}

void run_notifier::publish_snapshot() {
  const run_counts now = run_->snapshot();
  if (plan_.snapshot_every && hooks_.snapshot) hooks_.snapshot(now);
  if (hooks_.check_counts && !ended_by_hook_ && hooks_.check_counts(now)) end_by_hook();
}

async::task<> run_notifier::progress_by_time() {
  const auto interval = hooks_.progress_interval;
  for (auto due = clock::now() + interval;; due = std::max(due + interval, clock::now())) {
    progress_alarm_.set(due);
    co_await progress_alarm_.wait();
    hooks_.progress(run_->progress());
  }
}

async::task<> run_notifier::status_by_request() {
  for (;;) {
    co_await hooks_.status_requests->wait();
    co_await flush_and_wait(merged_for_status_);
    hooks_.status(run_->progress());
    if (plan_.snapshot_on_request && hooks_.snapshot) hooks_.snapshot(run_->snapshot());
  }
}

async::task<> run_notifier::inputs_as_they_finish() {
  while (!ended_by_hook_) {
    co_await merged_for_inputs_.wait();
    notify_finished_inputs();
  }
}

async::task<> run_notifier::inputs_as_they_complete() {
  for (;;) {
    co_await merged_for_completions_.wait();
    notify_completed_inputs();
  }
}

// The end of an input may be in a slot that waits for more bytes of a stream.
async::task<> run_notifier::flushes_by_time() {
  constexpr std::chrono::milliseconds interval(100);
  for (;;) {
    flush_alarm_.set(interval);
    co_await flush_alarm_.wait();
    run_->feeding.flush();
  }
}

async::task<> run_notifier::kept_reports_by_time() {
  constexpr std::chrono::milliseconds interval(50);
  for (;;) {
    kept_alarm_.set(interval);
    co_await kept_alarm_.wait();
    hooks_.write_kept();
  }
}

async::task<> run_notifier::clock_by_time() {
  constexpr std::chrono::milliseconds interval(100);
  while (!ended_by_hook_) {
    clock_alarm_.set(interval);
    co_await clock_alarm_.wait();
    if (hooks_.check_clock()) end_by_hook();
  }
}

async::task<> run_notifier::prefixes_by_time() {
  for (;;) {
    prefix_alarm_.set(hooks_.prefix_interval);
    co_await prefix_alarm_.wait();
    notify_prefixes();
  }
}

void run_notifier::notify_prefixes() {
  const std::vector<input_prefix> found = run_->counts.prefixes();
  if (!found.empty()) hooks_.prefixes(found);
}

void run_notifier::notify_finished_inputs() {
  const std::size_t finished = run_->counts.inputs_in_order();
  for (; inputs_notified_ < finished && !ended_by_hook_; ++inputs_notified_) {
    input_report next = run_->counts.input_in_order(inputs_notified_);
    if (plan_.count_unverified) count_unverified(next);
    if (hooks_.input_finished(next)) end_by_hook();
  }
}

void run_notifier::notify_completed_inputs() {
  if (!windows_.is_used()) return notify_completed_inputs(run_->counts.completed());
  while (windows_are_published()) {
    const std::size_t completed = std::exchange(due_, std::nullopt)->completed;
    if (completed == completions_notified_) return;
    notify_completed_inputs(completed);
  }
}

// The events of an input are noted before its completion.
bool run_notifier::windows_are_published() {
  const rolling_windows& windows = *run_->counts.windows();
  if (!due_) {
    const std::size_t completed = run_->counts.completed();
    due_ = {.completed = completed, .events = windows.events().noted};
  }
  windows_.publish_ready();
  return windows.events().passed >= due_->events;
}

void run_notifier::notify_completed_inputs(std::size_t completed) {
  constexpr std::size_t most_at_once = 64;
  std::vector<completed_input> next;
  while (completions_notified_ < completed) {
    next.clear();
    for (; completions_notified_ < completed && next.size() < most_at_once; ++completions_notified_) {
      next.push_back(run_->counts.completed_input_at(completions_notified_));
      if (plan_.count_unverified) count_unverified(next.back().report);
    }
    hooks_.inputs_completed(next);
  }
}

void run_notifier::notify_incomplete_inputs() {
  std::vector<completed_input> remaining;
  for (input_report& each : run_->counts.incomplete_inputs()) {
    if (plan_.count_unverified) count_unverified(each);
    remaining.push_back({.how = {}, .report = std::move(each), .is_finished = false});
  }
  if (!remaining.empty()) hooks_.inputs_completed(remaining);
}

void run_notifier::end_by_hook() {
  ended_by_hook_ = true;
  run_->end_by_hook();
}

void run_notifier::notify_remaining_inputs(const run_counts& result) {
  if (hooks_.prefixes) notify_prefixes();
  if (hooks_.inputs_completed) {
    notify_completed_inputs();
    notify_incomplete_inputs();
  }
  if (!hooks_.input_finished || ended_by_hook_) return;
  for (; inputs_notified_ < result.inputs.size(); ++inputs_notified_)
    hooks_.input_finished(result.inputs[inputs_notified_]);
}

void run_notifier::publish_remaining() {
  windows_.publish_remaining();
  snapshot_if_due();  // a short run may end before its task ran on this thread
}

void run_notifier::cancel() {
  if (hooks_.status_requests) hooks_.status_requests->close();
  snapshot_alarm_.cancel();
  progress_alarm_.cancel();
  flush_alarm_.cancel();
  kept_alarm_.cancel();
  prefix_alarm_.cancel();
  clock_alarm_.cancel();
  merged_for_snapshots_.close();
  merged_for_status_.close();
  merged_for_inputs_.close();
  merged_for_completions_.close();
  windows_.cancel();
}

}  // namespace gpuhist::pipeline
