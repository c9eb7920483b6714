// The way of the text of one input, or of one group of it, to counting. Whatever reads, decodes or receives text passes
// it here, so that the order of these steps stands once:
//
//     room in a slot ──► output, observer ──► commit ──► added up ──► verdict on the frame
//
// Text is observed before it is committed: an input may finish as soon as its text is merged. It is added up after the
// commit: text that was not committed is not expected. If a step fails, held_reservation gives the room back, and the
// frame has no verdict.
#pragma once

#include "async/task.hpp"
#include "async/task_group.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/text_taps.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Used by one coroutine or thread at a time.
class text_track {
 public:
  /// What text is passed to. Borrows all.
  struct destination {
    rolling_counts& counts;
    text_taps* taps = nullptr;  ///< null: text is only counted
    bool is_written = false;    ///< the source has written the text to the sink of the taps
  };

  /// `of`: the owner of the first text. Text of frame 0 is verified. `bytes`: text before it that belongs to the input.
  text_track(const destination& to, const text_owner& of, std::uint64_t bytes = 0)
      : to_(to), owner_(of), bytes_(bytes) {}

  /// Of the next text.
  [[nodiscard]] const text_owner& owner() const { return owner_; }

  /// Of all text so far, in bytes.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Of the text of the current frame so far, in bytes.
  [[nodiscard]] std::uint64_t frame_bytes() const { return frame_bytes_; }

  [[nodiscard]] bool is_observed() const { return to_.taps != nullptr; }

  /// The next text is at the front of the room: it is observed, committed and added up.
  async::task<> take(held_reservation room, std::size_t filled);

  /// As take(), for text that is copied into slots of the cutter. Waits for slots.
  async::task<> put(cutter& cut, std::span<const std::byte> text);

  /// The steps of take(), for callers that wait for slots or for the taps in another way. Precondition of observe():
  /// is_observed().
  [[nodiscard]] async::task<> observe(std::span<const std::byte> text) const;
  [[nodiscard]] async::task<> observe(std::span<const text_value> values, std::vector<bool>& kept) const {
    return to_.taps->observe(owner_, values, kept);
  }
  void commit(held_reservation& room, std::size_t filled) {
    room.commit(filled, owner_);
    add(filled);
  }

  /// Text that was committed or merged elsewhere.
  void add(std::uint64_t bytes) {
    bytes_ += bytes;
    if (owner_.frame != 0) frame_bytes_ += bytes;
  }

  /// Of the next text; 0: it is verified.
  void set_frame(frame_id next) { owner_.frame = next; }

  /// The current frame is verified, and ends. `cut`: of its text; null: its text may be in several.
  async::task<> end_frame(cutter* cut);

  /// The current frame is damaged, and ends: text is missing after it.
  async::task<> lose_frame(const std::string& cause);

  /// The text is that of the next group of the input, from this frame on. The group must be closed.
  void open_group(frame_id first) {
    owner_.group = to_.counts.open_group(owner_.input);
    owner_.frame = first;
  }

  /// The text of the group begins, or has ended, for the taps (text_taps).
  void begin_group() const {
    if (is_observed()) to_.taps->begin_group(owner_);
  }
  async::task<> end_group(bool whole) const;

  /// All text that there is was taken; more may follow. Not for groups.
  void note_idle() const {
    if (is_observed()) to_.taps->note_idle(owner_.input);
  }

  /// Text is missing before the next one, which begins a unit. Not for groups.
  [[nodiscard]] async::task<> note_gap() const;

  /// No more text is observed. Not for groups.
  [[nodiscard]] async::task<> end_observing(input_observer::ending how) const;

  /// Completes when all groups before it have ended for the taps.
  async::task<> wait_for_turn() const;

  /// Nothing more will be committed. Sets group_end::text_bytes.
  void close_group(group_end end) {
    end.text_bytes = bytes_;
    to_.counts.close_group(owner_.input, owner_.group, std::move(end));
  }

  /// The input ends in the counts. Not for groups.
  void finish() { to_.counts.finish(owner_.input, bytes_); }
  void fail(const input_failure& failure) { to_.counts.fail(owner_.input, bytes_, failure); }
  void end(const std::optional<input_failure>& failure) { failure ? fail(*failure) : finish(); }

 private:
  void begin_frame() {
    ++owner_.frame;
    frame_bytes_ = 0;
  }

  destination to_;
  text_owner owner_;
  std::uint64_t bytes_;
  std::uint64_t frame_bytes_ = 0;
};

/// The failure of an input whose reading an error ends at offset `reached`. An error that the input did not cause is
/// noted in `failures`, which ends the run; the input is then stopped.
input_failure failure_of_input(const std::exception_ptr& error, std::uint64_t reached, async::first_failure& failures);

}  // namespace gpuhist::pipeline
