// The feed of a run whose bytes come from a program: any thread opens inputs and feeds them. fed_text puts the text
// into chunks, decoding/fed_decoder decodes compressed inputs.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/fed_decoder.hpp"
#include "pipeline/flow/fed_text.hpp"
#include "pipeline/flow/text_feed.hpp"
#include "pipeline/flow/text_taps.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Marks the time in which a thread runs a callback of the caller of a run. Calls from within it can then be refused,
/// which would else wait for the callback that makes them. Lives on the stack of the thread, around the callback.
class callback_scope {
 public:
  /// `run`: identifies the run.
  explicit callback_scope(const void* run) noexcept;
  callback_scope(const callback_scope&) = delete;
  callback_scope& operator=(const callback_scope&) = delete;
  ~callback_scope();

  /// Whether the calling thread is within a callback of this run.
  [[nodiscard]] static bool is_within(const void* run) noexcept;

 private:
  const void* const run_;
  const callback_scope* const outer_;
};

/// A call that the caller's contract forbids: an input that has ended, or that another thread is feeding.
class feed_misuse : public std::logic_error {
  using std::logic_error::logic_error;
};

/// Public members are thread-safe. They must not be called on the thread of the event loop or of the pool, except
/// cancel(), drop() and note_merged(). Those that may throw throw feed_closed once the run accepts no more text, and
/// feed_misuse within a callback of the run (callback_scope of this object). Members with an input throw feed_misuse if
/// the input has ended or is used by another thread at the moment. Those that wait stop waiting when the run is
/// stopped.
class fed_inputs final : public text_feed {
 public:
  /// `begun` is called once, when the run accepts text. Does not throw.
  fed_inputs(const fed_run& run, std::function<void()> begun);
  ~fed_inputs() override;

  /// Receives the text that the observer of the run keeps of an input, in order, on the thread that feeds or finishes
  /// the input. It is valid during the call. An exception ends the run.
  using kept_text = std::function<void(std::span<const std::byte>)>;

  /// `decoding`: of compressed bytes. Nothing: the bytes are the text. `on_kept`: may be empty; it is not called once
  /// the run is stopped, or the input is dropped.
  input_id open(std::string name, const std::optional<fed_decoding>& decoding = std::nullopt, kept_text on_kept = {});

  /// Feeds the next bytes of an input. Returns when they are no longer needed. Throws std::bad_alloc or text_lost if
  /// memory is short; the input has then failed. Damage of a compressed input does not throw.
  void feed(input_id input, std::span<const std::byte> bytes);

  /// Feeds the next values of an input that is not compressed. Returns whether each is kept.
  std::vector<bool> feed_values(input_id input, std::span<const text_value> values);

  /// As feed(), but the bytes may be read after this call. `release` is called once, on any thread, when they are no
  /// longer read, also if this throws.
  void feed_borrowed(input_id input, std::span<const std::byte> bytes, std::function<void()> release);

  /// Room for bytes that the caller writes: a slot, or memory of its own.
  struct lent_room {
    std::span<std::byte> bytes;
    slot* chunk = nullptr;                 ///< null: memory of its own
    std::shared_ptr<const void> memory{};  ///< keeps `bytes` valid after the run
  };

  /// Room for the next bytes of an input, as much as is wanted, but at most a slot. Until commit() or give_back(),
  /// other calls with this input throw feed_misuse. Does not wait.
  lent_room lend(input_id input, std::size_t wanted);

  /// The first `filled` bytes of the room are the next bytes of the input. If this throws, the room is dropped.
  void commit(input_id input, const lent_room& room, std::size_t filled);

  /// As commit() with no bytes, but never throws.
  void give_back(input_id input, const lent_room& room) noexcept;

  /// The input has ended. Of a compressed one, all bytes were fed.
  void finish(input_id input);

  /// The input has ended with a failure.
  void fail(input_id input, const input_failure& failure);

  /// The owner of the input has lost it without finish(): it fails as stopped. Does nothing if it has ended.
  void drop(input_id input) noexcept;

  /// Whether a compressed input has failed, so that further bytes are ignored.
  [[nodiscard]] bool has_failed(input_id input);

  /// The counts of all text that was fed before the call. Waits until it is merged.
  run_counts snapshot();

  /// Refuses further calls, waits for the end of those on other threads and for borrowed text, and finishes the inputs
  /// that are open. Then feed_all() completes. Throws feed_misuse, and changes nothing, if lent room was not committed
  /// and the run was not stopped. Does nothing after cancel().
  void end();

  /// As end(), but the run is stopped: open inputs are incomplete. Does not wait.
  void cancel() noexcept;

  /// Whether the run was stopped: by cancel() or by a failure.
  [[nodiscard]] bool is_stopped() const { return run_.stop.stop_requested(); }

  async::task<> feed_all() override;
  [[nodiscard]] std::vector<skipped_names> skipped() const override { return {}; }
  std::vector<cut_mark> flush() override { return {text_.seal_all()}; }
  void note_merged() override;

  /// The first exception of a `release`; null: none.
  [[nodiscard]] std::exception_ptr callback_failure() const;

 private:
  class activity;
  class input_use;
  class loan;

  struct open_input {
    text_track text;
    bool is_used = false;     // by a call
    bool has_lent = false;    // room that is not committed
    bool is_lost = false;     // some of its text, for lack of memory
    bool is_dropped = false;  // drop() was called
    std::unique_ptr<fed_decoder> decoder{};
    kept_text on_kept{};
  };

  void enter();
  void leave() noexcept;
  void close() noexcept;
  void finish_open_inputs() noexcept;
  async::task<> fail_open_inputs();
  void end_input(input_id input, open_input& ending, const std::optional<input_failure>& failure);
  static void end_counts(open_input& ending, const std::optional<input_failure>& failure);
  void end_text(input_id input, open_input& ending, const std::optional<input_failure>& failure);
  [[nodiscard]] std::unique_ptr<text_taps> make_taps();
  void deliver(input_id input, std::span<const std::byte> kept);
  void run_on_loop(async::task<> work);
  void forget_callback(open_input& ending) noexcept;
  [[nodiscard]] static std::optional<input_failure> failure_at_end(const open_input& ending);
  lent_room make_room(input_id input, std::size_t wanted, bool is_text);
  template <typename Function>
  void with_input(input_id input, bool takes_lent, const Function& function);
  void call(std::function<void()> release) noexcept;

  fed_run run_;
  const std::function<void()> begun_;
  const std::unique_ptr<text_taps> taps_;  // null: the text is not observed
  fed_text text_;
  decoder_memory decoder_memory_;

  mutable std::mutex mutex_;
  bool is_closed_ = false;
  bool is_ending_ = false;         // end() will set ended_
  std::exception_ptr stop_cause_;  // set when all calls have ended; null: none
  std::size_t active_ = 0;         // calls and loans that use the run
  std::condition_variable idle_;   // active_ is 0
  std::map<input_id, open_input> open_;
  std::size_t lent_ = 0;  // rooms
  std::exception_ptr callback_failure_;
  async::event ended_;  // closed and not active

  std::mutex merged_mutex_;
  std::condition_variable_any merged_;
};

}  // namespace gpuhist::pipeline
