// Where text goes before it is counted: to the output of --pass-through=text, to an observer, and to the validation of
// --utf8. Text that a program feeds (fed_text) goes to an observer only.
//
// Groups of frames of one input are decoded at the same time, and so is their text observed. Each group has a tap. The
// first one continues what all groups before it have observed; each of the others holds what it finds, until the tap
// before it has ended and is joined to it:
//
//     group 1: ended ──► group 2: first ──► group 3: holds ──► group 4: holds, has ended
//              joined             reports            waits for its turn if it is full
//
// So nothing is reported out of order, and a group waits only for groups before it.
//
// For an observer that awaits verdicts, a tap holds the text of a frame until the frame has ended.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "async/task_group.hpp"
#include "gpu/host/utf8_meter.hpp"
#include "io/stream_sink.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/spilled_bytes.hpp"
#include "pipeline/counts/text_observer.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// Where a tap holds the text of a frame that has not ended.
struct held_text_limits {
  std::size_t in_memory = std::size_t{1} << 20U;  ///< bytes for each tap; more are spilled
  spill_folder spilled_to{};
};

/// Thread-safe. The text of an input, or of a group, is passed in order, one call at a time; with a sink that forwards
/// all, that of all inputs.
class text_taps {
 public:
  /// What text is passed to. Borrows both.
  struct targets {
    io::stream_sink* sink = nullptr;    ///< receives the text, or what the observer keeps of it; null: none
    text_observer* observer = nullptr;  ///< null: none
    bool validates_utf8 = false;        ///< the text is validated, and the counts are noted in `counts`
    held_text_limits held{};            ///< for an observer that awaits verdicts
    // Of text that threads of a program pass.
    /// Receives what the observer keeps, on the thread that passes the text; empty: `sink` does.
    std::function<void(input_id, std::span<const std::byte>)> kept{};
    /// Runs a task on the thread of the run, and blocks until it has ended or the run is stopped; empty: the coroutine
    /// waits.
    std::function<void(async::task<>)> run_blocking{};
  };

  /// `streams`: the thread of the run. An exception of the observer's publish() is noted in `failures`.
  text_taps(const targets& to, async::event_loop& streams, rolling_counts& counts, async::first_failure& failures)
      : sink_(to.sink),
        observer_(to.observer),
        validates_utf8_(to.validates_utf8),
        held_(to.held),
        kept_(to.kept),
        run_blocking_(to.run_blocking),
        streams_(streams),
        counts_(counts),
        failures_(failures) {}

  /// Whether text must be passed at all.
  [[nodiscard]] bool is_used() const { return sink_ != nullptr || is_observed(); }

  [[nodiscard]] bool is_observed() const { return observer_ != nullptr || validates_utf8_; }

  /// Whether the sink receives the text as it is.
  [[nodiscard]] bool forwards_all() const { return sink_ != nullptr && !filters(); }

  /// Whether groups of one input may be passed at the same time.
  [[nodiscard]] bool takes_groups() const {
    return !forwards_all() && (observer_ == nullptr || observer_->divides()) && !observes_panes();
  }

  /// Whether inputs must be passed one after the other.
  [[nodiscard]] bool in_turn() const { return observer_ != nullptr && observer_->in_turn(); }

  /// Whether groups hold text in memory while groups before them are passed.
  [[nodiscard]] bool holds_text() const { return observer_ != nullptr && observer_->holds_text(); }

  /// The most groups of an input that should be passed at the same time if there are so many contexts for tasks.
  [[nodiscard]] std::size_t max_groups(std::size_t contexts) const;

  /// A group begins; groups of one input begin in order. Not needed for an input whose text is passed in order.
  void begin_group(const text_owner& owner);

  /// All text of a group was passed. `whole`: false: text of the input is missing after it, and what the groups after
  /// it pass is ignored. Completes when all that can be reported was.
  async::task<> end_group(text_owner owner, bool whole);

  /// Completes when all groups before it have ended.
  async::task<> wait_for_turn(text_owner owner);

  /// Passes the next text of an input or group, which its owner commits afterwards; text of frame 0 is verified.
  /// Completes when it was written, or may be reported later.
  async::task<> pass(const text_owner& owner, std::span<const std::byte> text);

  /// As pass(), for text that the sink has received: it receives only what the observer keeps.
  async::task<> observe(const text_owner& owner, std::span<const std::byte> text);

  /// As observe(), with the verdict on the text. It is not validated.
  async::task<> observe(const text_owner& owner, std::span<const std::byte> text, bool verified);

  /// As observe(), for text that a device has measured, from piece `from` on. Completes with the number of pieces that
  /// were taken. If these are fewer, wait_for_turn() must be awaited before the next call.
  async::task<std::size_t> observe(const text_owner& owner, const gpu::cuda::units::piece_rows& pieces,
                                   std::size_t from);

  /// As observe(), for values of an input that a program feeds. Appends to `kept` whether each is kept; if the run
  /// fails, not all of them are.
  async::task<> observe(const text_owner& owner, std::span<const text_value> values, std::vector<bool>& kept);

  /// Null: devices cannot measure text, because it is needed on the host.
  [[nodiscard]] const gpu::cuda::units::piece_classes* piece_classes() const {
    return observer_ != nullptr && sink_ == nullptr && !validates_utf8_ ? observer_->piece_classes() : nullptr;
  }

  /// Bytes in which held text is read back.
  static constexpr std::size_t piece_bytes = std::size_t{256} << 10U;

  [[nodiscard]] const held_text_limits& held_limits() const { return held_; }

  /// Whether note_verified() must be called.
  [[nodiscard]] bool awaits_verdicts() const { return observer_ != nullptr && observer_->awaits_verdicts(); }

  /// The text of the input or group that was passed so far is verified.
  async::task<> note_verified(text_owner owner);

  /// Text is missing before the next text of the input or group. Text after that of note_verified() is damaged.
  async::task<> note_gap(text_owner owner);

  /// All text of the input that there is was passed; more may follow.
  void note_idle(input_id input);

  /// The input has no more text, and its groups have ended.
  async::task<> end(input_id input, input_observer::ending how);

  /// Completes when no call of publish() is pending.
  async::task<> settle();

  /// As end() after a failure of observing: nothing more is observed, and nothing is passed.
  void discard(input_id input);

 private:
  // Of the text of a group, joined with that of all groups before it if it is the first; or of an input without groups.
  // Used by the thread that passes the text, and after the end of the group by the one that joins it.
  struct tap {
    group_id group = 0;
    std::unique_ptr<input_observer> observer{};         // null: none
    std::optional<gpu::host::utf8_meter> utf8_meter{};  // nothing: the text is not validated
    std::unique_ptr<spilled_bytes> held{};  // text without a verdict; null: text is observed when it is passed
    bool is_first = true;
    async::event turn{};             // set with `earlier`, or if the tap is ignored
    std::shared_ptr<tap> earlier{};  // under the mutex: ended, to be joined
    bool has_ended = false;          // under the mutex
    bool ends_text = false;          // under the mutex: text is missing after it
  };
  using tap_pointer = std::shared_ptr<tap>;

  // Under the mutex.
  struct input_taps {
    std::deque<tap_pointer> taps{};  // the first one in front
    bool is_cut = false;             // text is missing; no more taps are opened
    bool is_reported = false;        // the counts of the input wait for end_observing()

    // If the only tap has ended, it continues for this group: groups in sequence need one tap.
    bool try_continue(group_id group);
  };

  [[nodiscard]] bool filters() const { return observer_ != nullptr && observer_->filters(); }
  [[nodiscard]] tap_pointer find(const text_owner& owner);
  [[nodiscard]] tap_pointer make(const text_owner& owner, bool is_first);
  tap_pointer open(const text_owner& owner);
  void begin_observing(input_id input);
  void end_observing(input_id input, std::optional<observed_numbers> found);
  async::task<> end_taps(input_id input, input_observer::ending how);
  [[nodiscard]] tap_pointer last_of(input_id input);
  async::task<> join(input_id input, tap& later);
  async::task<> join_ended(input_id input, tap_pointer ended);
  [[nodiscard]] tap_pointer release(input_id input, const tap_pointer& ended);
  void cut(input_id input);
  /// Whether windows have what is found in their lines.
  [[nodiscard]] bool observes_panes() const {
    return observer_ != nullptr && observer_->reports_inputs() && counts_.windows() != nullptr;
  }
  async::task<> observe_panes(input_id input, tap& to, std::span<const std::byte> text, bool verified);
  async::task<> observe_now(input_id input, tap& to, std::span<const std::byte> text, bool verified);
  async::task<> release_held(input_id input, tap& from, bool verified);
  void validate(input_id input, tap& to, std::span<const std::byte> text);
  async::task<> flush(input_id input, tap& first);
  async::task<> publish();
  void publish_now() noexcept;

  io::stream_sink* const sink_;
  text_observer* const observer_;
  const bool validates_utf8_;
  const held_text_limits held_;
  const std::function<void(input_id, std::span<const std::byte>)> kept_;
  const std::function<void(async::task<>)> run_blocking_;
  async::event_loop& streams_;
  rolling_counts& counts_;
  async::first_failure& failures_;
  std::atomic<bool> has_failed_ = false;  // publishing; the run ends, and nothing more is observed
  std::mutex mutex_;
  std::map<input_id, input_taps> open_;  // under the mutex
  async::posted_call<std::function<void()>> publishing_{streams_, [this] { publish_now(); }};
};

}  // namespace gpuhist::pipeline
