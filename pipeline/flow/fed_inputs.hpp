// The feed of a run whose text comes from a program: any thread opens inputs and feeds them.
//
//     small text:   copied into the slot that is filling, which all inputs share; the pool counts it when it is full
//     large text:   host engines count it where it lies, on the calling thread (feed) or on the pool (feed_borrowed)
//
// Both kinds are chunks of one cutter, so chunks are merged in the order in which they were fed.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/text_divider.hpp"
#include "pipeline/flow/text_feed.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// The run accepts no more text: it was finished or stopped.
class feed_closed : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the run accepts no more text"; }
};

/// A call that the caller's contract forbids: an input that has ended, or that another thread is feeding.
class feed_misuse : public std::logic_error {
  using std::logic_error::logic_error;
};

/// Public members are thread-safe. They must not be called on the thread of the event loop or of the pool, except
/// close() and note_merged(). All but these throw feed_closed after close(). Members with an input throw feed_misuse if
/// the input has ended or is used by another thread at the moment.
class fed_inputs final : public text_feed, private text_lender {
 public:
  /// `begun` is called once, when the run accepts text. Does not throw.
  fed_inputs(const feed_parts& parts, std::function<void()> begun);
  ~fed_inputs() override = default;

  input_id open(std::string name);

  /// Feeds the next text of an input. Returns when the text is no longer needed. Throws std::bad_alloc or text_lost if
  /// memory is short; the input has then failed.
  void feed(input_id input, std::span<const std::byte> text);

  /// As feed(), but the text may be read after this call. `release` is called once, on any thread, when it is no longer
  /// read, also if this throws.
  void feed_borrowed(input_id input, std::span<const std::byte> text, std::function<void()> release);

  /// Room for text that the caller writes: a slot, or memory of its own.
  struct lent_room {
    std::span<std::byte> bytes;
    slot* chunk = nullptr;                 ///< null: memory of its own
    std::shared_ptr<const void> memory{};  ///< keeps `bytes` valid after the run
  };

  /// 1 to `wanted` bytes of room for the next text of an input. Until commit() or give_back(), other calls with this
  /// input throw feed_misuse. Does not wait: if half of the slots are lent, or text must be divided in the order in
  /// which it is fed (windows), the room is allocated.
  lent_room lend(input_id input, std::size_t wanted);

  /// The first `filled` bytes of the room are the next text of the input. If the run has ended, the room is only
  /// dropped.
  void commit(input_id input, const lent_room& room, std::size_t filled);

  /// As commit() with no bytes, but never throws.
  void give_back(input_id input, const lent_room& room) noexcept;

  /// Whether lent room is neither committed nor given back.
  [[nodiscard]] bool has_lent_room() const;

  /// Whether the run was stopped: by cancel() or by a failure.
  [[nodiscard]] bool is_stopped() const { return parts_.stop.stop_requested(); }

  /// The input has ended.
  void finish(input_id input);

  /// The input has ended with a failure.
  void fail(input_id input, const input_failure& failure);

  /// The counts of all text that was fed before the call. Waits until it is merged.
  run_counts snapshot();

  /// No more text follows. feed_all() completes when all calls on other threads have returned and all borrowed text is
  /// released. It then ends the inputs that are open; if the run was stopped, as inputs that were stopped.
  void close() noexcept;

  /// As close(), and the run is stopped: open inputs are incomplete.
  void cancel() noexcept;

  async::task<> feed_all() override;
  [[nodiscard]] std::vector<skipped_names> skipped() const override { return {}; }
  std::vector<cut_mark> flush() override { return {cutter_.seal_all()}; }
  void note_merged() override;

  /// The first exception of a `release`; null: none.
  [[nodiscard]] std::exception_ptr callback_failure() const;

 private:
  class activity;
  class input_use;
  class loan;
  class borrowed_part;

  struct open_input {
    std::uint64_t fed = 0;  // bytes
    bool is_used = false;   // by a call
    bool has_lent = false;  // room that is not committed
  };

  struct lent_chunk {
    slot* chunk = nullptr;
    bool is_stored = false;  // its segments; else it will not be counted
  };

  void enter();
  void leave() noexcept;
  void release(std::span<const std::byte> /*text*/) noexcept override {}  // feed() returns after it
  std::size_t copy_part(const text_owner& owner, std::span<const std::byte> text);
  std::size_t count_part(const text_owner& owner, std::span<const std::byte> text);
  lent_chunk cut_lent(const text_owner& owner, std::span<const std::byte> text, text_lender& lender);
  reservation reserve(std::uint64_t wanted);
  template <typename Function>
  void with_input(input_id input, bool takes_lent, const Function& function);
  [[nodiscard]] slot* take_slot_to_lend();
  void commit_room(input_use& use, const lent_room& room, std::size_t filled);
  void feed_part_by_part(input_use& use, std::span<const std::byte> text);
  void lend_part_by_part(input_use& use, std::span<const std::byte> text, const std::shared_ptr<loan>& owner);
  void end_open_inputs();
  void call(const std::function<void()>& release) noexcept;

  feed_parts parts_;
  const std::function<void()> begun_;
  const std::unique_ptr<text_divider> divider_;  // null: no windows
  cutter cutter_;
  std::mutex reserving_;  // one caller at a time may reserve

  mutable std::mutex mutex_;
  bool is_closed_ = false;
  std::size_t active_ = 0;  // calls and loans that use the run
  std::map<input_id, open_input> open_;
  std::size_t lent_ = 0;        // rooms
  std::size_t lent_slots_ = 0;  // of these
  std::exception_ptr callback_failure_;
  async::event ended_;  // closed and not active

  std::mutex merged_mutex_;
  std::condition_variable merged_;
};

}  // namespace gpuhist::pipeline
