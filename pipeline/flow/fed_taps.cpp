// Where the text of fed inputs goes besides being counted: the members of fed_inputs that pass it.
#include "async/task_group.hpp"
#include "pipeline/flow/fed_inputs.hpp"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace gpuhist::pipeline {

std::unique_ptr<text_taps> fed_inputs::make_taps() {
  if (run_.observer == nullptr) return nullptr;
  const text_taps::targets to{.observer = run_.observer,
                              .kept = [this](input_id input, std::span<const std::byte> kept) { deliver(input, kept); },
                              .run_blocking = [this](async::task<> work) { run_on_loop(std::move(work)); }};
  return std::make_unique<text_taps>(to, run_.streams, run_.counts, run_.failures);
}

// The event loop may be within a callback that blocks: the wait ends when the run is stopped, and the task runs later.
void fed_inputs::run_on_loop(async::task<> work) {
  struct progress {
    std::mutex mutex;
    std::condition_variable_any changed;
    bool has_ended = false;
  };
  const auto now = std::make_shared<progress>();
  async::spawn(run_.streams, std::move(work), [now](const std::exception_ptr& /*none*/) noexcept {
    const std::scoped_lock lock(now->mutex);
    now->has_ended = true;
    now->changed.notify_all();
  });
  std::unique_lock lock(now->mutex);
  now->changed.wait(lock, run_.stop.get_token(), [&] { return now->has_ended; });
}

// The input is used by the calling thread, so its entry stays.
void fed_inputs::deliver(input_id input, std::span<const std::byte> kept) {
  if (is_stopped()) return;
  const kept_text* to = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    to = &open_.at(input).on_kept;
  }
  const callback_scope within(this);
  try {
    if (*to) (*to)(kept);
  } catch (...) {
    run_.failures.note(std::current_exception());
    throw feed_closed(nullptr);
  }
}

// What the function holds may call the counter when it is destroyed.
void fed_inputs::forget_callback(open_input& ending) noexcept {
  const callback_scope within(this);
  ending.on_kept = nullptr;
}

void fed_inputs::end_text(input_id input, open_input& ending, const std::optional<input_failure>& failure) {
  if (!taps_) return;
  const bool has_failed = failure || (ending.decoder && ending.decoder->has_failed());
  try {
    async::run_here(taps_->end(input, has_failed ? input_observer::ending::early : input_observer::ending::whole));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    run_.failures.note(std::current_exception());
  }
  forget_callback(ending);
}

}  // namespace gpuhist::pipeline
