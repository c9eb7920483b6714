#include "pipeline/flow/window_publisher.hpp"

#include "pipeline/counts/windows/panes.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

window_publisher::window_publisher(async::event_loop& loop, const run_hooks& hooks)
    : hooks_(hooks), border_alarm_(loop), flush_alarm_(loop) {}

void window_publisher::start(published_windows run, const std::function<void(async::task<>)>& spawn) {
  if (!hooks_.window) return run.windows.discard();
  run_.emplace(std::move(run));
  spawn(publish_as_they_close());
  spawn(flush_closed());
  if (run_->windows.shape().unit == pane_unit::milliseconds) spawn(pass_time());
}

void window_publisher::note_changed() {
  changed_.notify();
  closed_.notify();
}

// A slow reader of the windows delays merging, and so the whole run.
async::task<> window_publisher::publish_as_they_close() {
  constexpr int batch = 1024;  // then other tasks of this thread run
  for (;;) {
    co_await changed_.wait();
    int published = 0;
    while (published < batch) {
      const auto next = run_->windows.next();
      if (!next) break;
      publish(*next);
      ++published;
    }
    if (published == batch) changed_.notify();
    run_->collected.resume();
  }
}

void window_publisher::publish(const rolling_windows::record& record) {
  if (const auto* window = std::get_if<closed_window>(&record)) {
    if (hooks_.window(*window)) run_->end_by_hook();
  } else if (hooks_.verdict) {
    hooks_.verdict(std::get<window_verdict>(record));
  }
}

// The text of a closed window may be in a slot that a slow stream never fills.
async::task<> window_publisher::flush_closed() {
  constexpr std::chrono::milliseconds patience{10};  // a fast stream fills its slots in less
  for (;;) {
    co_await closed_.wait();
    while (run_->windows.is_waiting()) {
      flush_alarm_.set(patience);
      co_await flush_alarm_.wait();
      run_->feeding.flush();
    }
  }
}

async::task<> window_publisher::pass_time() {
  for (;;) {
    border_alarm_.set(*run_->windows.until_border());
    co_await border_alarm_.wait();
    run_->windows.pass_time();
  }
}

void window_publisher::publish_ready() {
  if (!run_) return;
  while (const auto next = run_->windows.next()) publish(*next);
  run_->collected.resume();
}

void window_publisher::publish_remaining() {
  if (!run_) return;
  run_->windows.give_up("not all of its text was counted");
  while (const auto next = run_->windows.next()) publish(*next);
}

void window_publisher::discard() {
  if (!run_) return;
  run_->windows.discard();
  run_->collected.resume();
}

void window_publisher::cancel() {
  border_alarm_.cancel();
  flush_alarm_.cancel();
  changed_.close();
  closed_.close();
}

}  // namespace gpuhist::pipeline
