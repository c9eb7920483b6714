// Divides text into panes, and reports when panes and the windows that they make up end. It gets the text in the order
// of its stream, but no counts.
//
// Text is counted before its frame is verified. So a window is reported as soon as it closes, with a flag: verified or
// not. An unverified window gets its verdict once all frames up to its end have theirs. Verdicts are in the order of
// the windows.
#pragma once

#include "pipeline/counts/segment.hpp"
#include "pipeline/counts/windows/panes.hpp"
#include "pipeline/counts/windows/window_events.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// A text that was divided where pane_planner says, or what is left of it after its last pane.
struct planned_slice {
  std::uint64_t bytes = 0;
  std::uint64_t units = 0;  ///< bytes or lines, as panes
  bool ends_line = false;   ///< its last byte is '\n'
};

/// Not thread-safe. Precondition: the times of the calls ascend.
class window_cutter {
 public:
  using sink = std::function<void(window_event)>;

  /// `events` is called from within the members below, in the order of the events. Windows of time begin at `now`.
  window_cutter(const window_shape& shape, window_time now, sink events);

  /// Whether the previous text was of another input. Then cut() needs the input's name.
  [[nodiscard]] bool is_new(input_id input) const { return !name_ || input != input_; }

  /// Appends the panes of a text of 1 byte or more that arrived at `now`. `name`: of the input; used if is_new().
  void cut(std::span<const std::byte> text, const text_owner& owner, const source_name& name, window_time now,
           std::vector<pane_slice>& slices);

  /// Bytes or lines that the open pane of the input's stream lacks; those of a pane if none is open. Panes are not of
  /// time.
  [[nodiscard]] std::uint64_t missing_in_pane(input_id input) const;

  /// As cut(), for a text whose slices are known, none of which is in several panes. Appends a pane for each slice with
  /// text. Throws std::logic_error if a slice is longer than what its pane lacks.
  void cut_slices(std::span<const planned_slice> text, const text_owner& owner, const source_name& name,
                  window_time now, std::vector<pane_slice>& slices);

  /// Closes the windows of time that have ended, with text or without.
  void pass_time(window_time now);

  /// The end of the open pane of time that ends first; window_time::max() if there is none.
  [[nodiscard]] window_time next_border() const;

  /// Takes the verdict on a frame. Precondition: all of its text was cut. A second verdict on a frame is ignored.
  void conclude(const text_owner& frame, bool verified);

  /// Frames of this group that have no verdict are damaged.
  void abandon(input_id input, group_id group);

  /// Text is missing after the last text in the stream of this input. Its open windows close. Returns the pane of the
  /// stream's next text, or one before it that has no text.
  pane_id break_off(input_id input, const std::string& error, window_time now);

  /// This input has no more text.
  void end_input(input_id input, window_time now);

  /// No input has more text.
  void end(window_time now);

 private:
  // The first pane of a window, or a candidate for it.
  struct pane_start {
    pane_id pane = 0;
    std::uint64_t offset = 0;
    window_time time{};
    source_name source{};  // the input of its first text; null: it has no text
  };

  struct stream {
    stream_id id = 0;
    std::uint64_t offset = 0;      // of the next text
    source_name source{};          // the input of the last text
    bool ends_line = false;        // the last text ends with '\n'
    std::uint64_t next_index = 0;  // with numbered_by_input
    std::optional<pane_start> open{};
    std::uint64_t remaining = 0;     // bytes or lines missing in the open pane
    window_time last{};              // open pane of time: its end; other panes: the arrival of the last text
    std::deque<pane_start> panes{};  // finished panes of windows that are not closed
  };

  struct frame {
    text_owner owner;
    pane_id first = 0;
    pane_id last = 0;
    std::optional<bool> verified{};
  };

  // Consecutive windows without a verdict. Each begins one step after the previous one.
  struct waiting_windows {
    stream_id stream = 0;     // with numbered_by_input
    std::uint64_t first = 0;  // index of the first window
    std::uint64_t count = 0;
    pane_id begin = 0;        // first pane of the first window
    pane_id end = 0;          // last pane of the first window
    bool is_damaged = false;  // known before the verdict: its first pane has text of a damaged frame
  };

  [[nodiscard]] stream_id stream_of(input_id input) const;
  stream& stream_for(input_id input, window_time now);
  stream& begin_text(const text_owner& owner, const source_name& name, window_time now);
  void add_to_pane(stream& current, const text_owner& owner, window_time now);
  void open_pane(stream& current, window_time now);
  void note_frame(const text_owner& owner, pane_id pane);
  std::size_t fill_pane(stream& current, std::span<const std::byte> text) const;
  void catch_up(stream& current, window_time now);
  void finish_pane(stream& current);
  void end_pane(stream& current);
  void end_run(stream& current, window_end reason, const std::string& error, window_time now);
  void close_window(stream& current, window_end reason, const std::string& error);
  [[nodiscard]] std::uint64_t& next_index(stream& of) { return shape_.numbered_by_input ? of.next_index : next_index_; }
  [[nodiscard]] static window_head head_of(const stream& current);
  void wait_for_verdict(const waiting_windows& window);
  void judge();
  void judge_before(pane_id frontier);
  void judge_damaged(pane_id last);
  void judge_oldest(std::uint64_t count, bool verified);
  void publish_verdict();

  const window_shape shape_;
  const sink events_;
  const window_time began_;
  const std::chrono::system_clock::duration pane_time_;

  std::map<stream_id, stream> streams_;
  input_id input_ = 0;  // of the last text
  source_name name_;    // of this input; null: there was no text
  pane_id next_pane_ = 1;
  std::uint64_t next_index_ = 0;

  std::deque<frame> frames_;               // in the order of their text, from the first frame without a verdict on
  std::deque<waiting_windows> waiting_;    // in the order of the windows
  pane_id damaged_through_ = 0;            // the last pane with text of a damaged frame
  std::optional<window_verdict> pending_;  // a verdict that may be extended by more windows
};

}  // namespace gpuhist::pipeline
