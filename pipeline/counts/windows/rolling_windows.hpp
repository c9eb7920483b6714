// Rolling windows: takes note of panes where text is cut, takes their counts where they are merged, and gives out the
// windows that have closed, in their order, once all of their text was merged.
//
//     cutter ──► window_cutter ──► events, in the order of the text ──┐
//     rolling_counts::merge ─────► counts of the panes ───────────────┴──► next(): windows and verdicts
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/segment.hpp"
#include "pipeline/counts/windows/pane_sum.hpp"
#include "pipeline/counts/windows/window_cutter.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/counts/windows/window_shape.hpp"

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

/// All members are thread-safe and call nobody but `changed`. Text is cut in the order of the stream.
class rolling_windows {
 public:
  using record = std::variant<closed_window, window_verdict>;

  /// `rows`: how the rows to be merged are folded. `changed` is called after whatever may have brought windows nearer,
  /// by any thread, perhaps with the locks of its caller held.
  rolling_windows(const window_shape& shape, const row_folding& rows, std::function<void()> changed);

  [[nodiscard]] const window_shape& shape() const { return shape_; }

  // ---- where text is cut -------------------------------------------------------------------------------------------

  /// Whether cut() wants the name of this input.
  [[nodiscard]] bool is_new(input_id input) const;

  /// As window_cutter::cut(); the text came now.
  void cut(std::span<const std::byte> text, const text_owner& owner, const source_name& name,
           std::vector<pane_part>& parts);

  void conclude(const text_owner& frame, bool verified);

  /// Nothing more comes of a group of frames, which is damaged.
  void abandon(input_id input, group_id group);

  void break_off(input_id input, const std::string& error);
  void end_input(input_id input);
  void end();

  /// Closes the windows of time that are over by now.
  void pass_time();

  /// How long until the next pane of time is over; nothing where panes are not of time.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> until_border() const;

  // ---- where counts are merged -------------------------------------------------------------------------------------

  /// One row of a pane's text.
  void merge(pane_id pane, std::uint64_t bytes, std::span<const std::uint32_t> row);

  /// Whether there is so much for next() that no more should be merged before.
  [[nodiscard]] bool is_backed_up() const;

  // ---- where windows are told --------------------------------------------------------------------------------------

  /// The next window or verdict; nothing where there is none yet.
  std::optional<record> next();

  /// Whether windows have closed, text of which was not merged.
  [[nodiscard]] bool is_waiting() const;

  /// What was not merged yet never will be: windows are told with what they have, as incomplete, with this error.
  /// Heeded once.
  void give_up(const std::string& error);

  /// Nobody asks for next() any more.
  void discard();

 private:
  struct pane_counts {
    std::uint64_t merged = 0;  // bytes
    gpu::tally counts{};
  };

  struct stream_panes {
    pane_sum sum;
    std::deque<bool> is_short{};
    std::size_t shorts = 0;
  };

  template <typename Task>
  void have_cutter(Task task);
  void note(window_event what);
  [[nodiscard]] bool is_ready(const window_event& front) const;
  std::optional<record> take(window_event& front);
  void add_pane(const pane_finished& what);
  closed_window close(window_finished& what);
  void end_run(stream_id stream);
  [[nodiscard]] window_time now() const;

  const window_shape shape_;
  const row_folding rows_;
  const std::function<void()> changed_;
  const std::chrono::steady_clock::time_point began_;
  const window_time began_at_;  // by the clock on the wall, which may be set meanwhile

  mutable std::mutex mutex_;  // of all below
  std::deque<window_event> events_;
  std::unordered_map<pane_id, pane_counts> panes_;  // not summed up yet
  std::map<stream_id, stream_panes> streams_;
  // '\n' of each stream before its panes; nothing after a pane that was not counted completely
  std::unordered_map<stream_id, std::optional<std::uint64_t>> lines_before_;
  std::optional<std::string> given_up_;
  bool discarded_ = false;
  window_cutter cutter_;
};

}  // namespace gpuhist::pipeline
