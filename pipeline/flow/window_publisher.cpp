#include "pipeline/flow/window_publisher.hpp"

#include "pipeline/counts/windows/window_shape.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

window_publisher::window_publisher(async::event_loop& loop, const run_hooks& hooks)
    : hooks_(hooks), border_alarm_(loop), flush_alarm_(loop) {}

void window_publisher::start(published_windows what, const std::function<void(async::task<>)>& keep_running) {
  if (!hooks_.window) return what.windows.discard();
  told_.emplace(std::move(what));
  keep_running(publish_as_they_close());
  keep_running(flush_what_closed());
  if (told_->windows.shape().unit == pane_unit::milliseconds) keep_running(pass_time());
}

void window_publisher::note_changed() {
  changed_.notify();
  closed_.notify();
}

// Who reads the windows slowly holds up what is merged, and with it all the rest.
async::task<> window_publisher::publish_as_they_close() {
  constexpr int at_once = 1024;  // before signals and streams have their turn on this thread
  for (;;) {
    co_await changed_.wait();
    int told = 0;
    while (told < at_once) {
      const auto next = told_->windows.next();
      if (!next) break;
      tell(*next);
      ++told;
    }
    if (told == at_once) changed_.notify();
    told_->collected.resume();
  }
}

void window_publisher::tell(const rolling_windows::record& what) {
  if (const auto* window = std::get_if<closed_window>(&what)) {
    if (hooks_.window(*window)) told_->end_by_hook();
  } else if (hooks_.verdict) {
    hooks_.verdict(std::get<window_verdict>(what));
  }
}

// A window that has closed is not to wait for the rest of a slot, which a slow stream may never fill.
async::task<> window_publisher::flush_what_closed() {
  constexpr std::chrono::milliseconds patience{10};  // a stream that is not slow fills its slots in less
  for (;;) {
    co_await closed_.wait();
    while (told_->windows.is_waiting()) {
      flush_alarm_.set(patience);
      co_await flush_alarm_.wait();
      told_->feeding.flush();
    }
  }
}

async::task<> window_publisher::pass_time() {
  for (;;) {
    border_alarm_.set(*told_->windows.until_border());
    co_await border_alarm_.wait();
    told_->windows.pass_time();
  }
}

void window_publisher::publish_remaining() {
  if (!told_) return;
  told_->windows.give_up("not all of it was counted");
  while (const auto next = told_->windows.next()) tell(*next);
}

void window_publisher::discard() {
  if (!told_) return;
  told_->windows.discard();
  told_->collected.resume();
}

void window_publisher::cancel() {
  border_alarm_.cancel();
  flush_alarm_.cancel();
  changed_.close();
  closed_.close();
}

}  // namespace gpuhist::pipeline
