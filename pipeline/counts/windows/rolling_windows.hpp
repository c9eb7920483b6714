// Rolling windows. Text is divided into panes where it is cut, and their counts are added where they are merged. Closed
// windows are returned in their order once all of their text is merged.
//
//     cutter ──► window_cutter ──► events, in the order of the text ──┐
//     rolling_counts::merge ─────► counts of the panes ───────────────┴──► next(): windows and verdicts
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/segment.hpp"
#include "pipeline/counts/windows/panes.hpp"
#include "pipeline/counts/windows/window_cutter.hpp"
#include "pipeline/counts/windows/window_events.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {

/// All members are thread-safe and call no function of other objects but `changed`. Text is cut in the order of the
/// stream.
class rolling_windows {
 public:
  using record = std::variant<closed_window, window_verdict>;

  /// Panes that are merged and not taken by next(). As many make waking the thread that takes them rare.
  static constexpr std::size_t max_panes_merged = 1024;

  /// `rows` folds the merged rows. `changed` is called after new events: any thread calls it, and locks of the caller
  /// may be held.
  rolling_windows(const window_shape& shape, const row_folding& rows, std::function<void()> changed);

  [[nodiscard]] const window_shape& shape() const { return shape_; }

  // ---- for cutters -------------------------------------------------------------------------------------------------

  /// Whether cut() needs the name of this input.
  [[nodiscard]] bool is_new(input_id input) const;

  // As the members of window_cutter, at the present time.
  void cut(std::span<const std::byte> text, const text_owner& owner, const source_name& name,
           std::vector<pane_slice>& slices);
  void cut_slices(std::span<const planned_slice> text, const text_owner& owner, const source_name& name,
                  std::vector<pane_slice>& slices);
  [[nodiscard]] std::uint64_t missing_in_pane(input_id input) const;
  void conclude(const text_owner& frame, bool verified);
  void abandon(input_id input, group_id group);
  pane_id break_off(input_id input, const std::string& error);
  void end_input(input_id input);
  void end();
  void pass_time();

  /// The time until pass_time() is due; nothing if panes are not of time.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> until_border() const;

  // ---- for what observes text before it is cut ---------------------------------------------------------------------

  /// The next text of an input in parts, none of which is in several panes: their ends.
  [[nodiscard]] std::vector<std::size_t> pane_ends(std::span<const std::byte> text, input_id input) const;

  /// What was found in the next so many bytes of an input, which are cut later. It is counted where they end.
  void note_observed(input_id input, std::uint64_t bytes, observed_numbers found);

  // ---- for merging -------------------------------------------------------------------------------------------------

  /// Adds one row of a pane's text, and the pair that it makes with the byte before it, which may be in another pane.
  void merge(pane_id pane, std::uint64_t bytes, std::span<const std::uint32_t> row,
             const std::optional<byte_pair>& seam = {});

  /// Whether so many panes wait for next() that no more must be merged before it is called.
  [[nodiscard]] bool is_backed_up() const;

  // ---- for reports -------------------------------------------------------------------------------------------------

  /// The next window or verdict; nothing if there is none yet.
  std::optional<record> next();

  /// How many events have been noted, and how many of these next() has passed.
  struct event_count {
    std::uint64_t noted = 0;
    std::uint64_t passed = 0;
  };
  [[nodiscard]] event_count events() const;

  /// Whether the next closed window or pane waits for text to be merged.
  [[nodiscard]] bool is_waiting() const;

  /// No more text will be merged. next() returns the remaining windows with the counts they have; those without all of
  /// their text get this error. Later calls are ignored.
  void give_up(const std::string& error);

  /// next() will not be called any more: events and counts are dropped.
  void discard();

 private:
  struct pane_counts {
    std::uint64_t merged = 0;  // bytes
    gpu::tally counts{};
    observed_numbers observed{};
  };

  // Text that is not cut yet.
  struct observed_text {
    std::uint64_t bytes = 0;
    observed_numbers found{};
  };

  struct stream_panes {
    pane_sum sum;
    observed_numbers observed{};                 // of all panes
    std::deque<observed_numbers> observed_in{};  // by pane
    std::deque<bool> is_incomplete{};            // by pane: not all of its text was merged
    std::size_t incomplete = 0;                  // panes
  };

  template <typename Task>
  void run_and_notify(Task task);
  void note(window_event event);
  [[nodiscard]] bool is_ready(const window_event& front) const;
  std::optional<record> take(window_event& front);
  void add_observed(input_id input, std::span<const pane_slice> text);
  void add_pane(const pane_finished& finished);
  closed_window close(window_finished& finished);
  void end_run(stream_id stream);
  [[nodiscard]] window_time now() const;

  const window_shape shape_;
  const row_folding rows_;
  const std::function<void()> changed_;
  const std::chrono::steady_clock::time_point began_;
  const window_time began_at_;  // by the system clock, read once because it may be set during the run

  mutable std::mutex mutex_;  // of all below
  std::deque<window_event> events_;
  std::uint64_t passed_ = 0;                        // events that were in events_
  std::unordered_map<pane_id, pane_counts> panes_;  // not in streams_ yet
  std::map<input_id, std::deque<observed_text>> observed_;
  std::map<stream_id, stream_panes> streams_;
  // '\n' of each stream before its panes; nothing after a pane that was not counted completely
  std::unordered_map<stream_id, std::optional<std::uint64_t>> lines_before_;
  std::optional<std::string> given_up_;
  bool discarded_ = false;
  window_cutter cutter_;
};

}  // namespace gpuhist::pipeline
