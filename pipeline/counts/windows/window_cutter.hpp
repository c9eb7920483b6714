// Says of every byte of text which pane it belongs to, and when panes, and the windows that they make up, are over. It
// sees text in the order of its stream, and nothing of its counts.
//
// Text is counted before its frame is verified: a window is told at once, and whether it was verified then. What was
// not gets its verdict once all frames up to its end have theirs, in the order of the windows.
#pragma once

#include "pipeline/counts/segment.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/counts/windows/window_shape.hpp"

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

/// The part of a text, up to `end`, that belongs to a pane.
struct pane_part {
  std::size_t end = 0;
  pane_id pane = 0;

  bool operator==(const pane_part&) const = default;
};

/// Of one caller at a time. Times never go back.
class window_cutter {
 public:
  using sink = std::function<void(window_event)>;

  /// `sink` takes what happens, in its order, within the calls below. Windows of time begin at `now`.
  window_cutter(const window_shape& shape, window_time now, sink events);

  /// Whether text of this input comes behind text of another one: cut() wants its name.
  [[nodiscard]] bool is_new(input_id input) const { return !name_ || input != input_; }

  /// Appends the panes of a text that came at `now`, 1 byte or more. `name`: of the input; heeded where is_new().
  void cut(std::span<const std::byte> text, const text_owner& owner, const source_name& name, window_time now,
           std::vector<pane_part>& parts);

  /// Windows of time close without text, too.
  void pass_time(window_time now);

  /// When the next pane of time is over, at the latest.
  [[nodiscard]] window_time next_border() const;

  /// The verdict over a frame of which all text was cut. Heeded once.
  void conclude(const text_owner& frame, bool verified);

  /// The frames of this group that have no verdict are damaged.
  void abandon(input_id input, group_id group);

  /// From here on text is missing in the stream of an input: its open windows close.
  void break_off(input_id input, const std::string& error, window_time now);

  /// No more text of this input will come.
  void end_input(input_id input, window_time now);

  /// No more text will come.
  void end(window_time now);

 private:
  // What a window has of the pane that it begins with.
  struct pane_start {
    pane_id pane = 0;
    std::uint64_t offset = 0;
    window_time time{};
    source_name source{};  // of its first text; null: it has none
  };

  struct stream {
    stream_id id = 0;
    std::uint64_t offset = 0;  // of the text to come
    source_name source{};      // of the last text
    bool ends_line = false;    // the last text ends with '\n'
    std::optional<pane_start> open{};
    std::uint64_t left = 0;          // of the open pane: bytes or lines
    window_time last{};              // of the open pane: when its last text came; of time: when it is over
    std::deque<pane_start> panes{};  // over, of windows that are not
  };

  struct frame {
    text_owner owner;
    pane_id first = 0;
    pane_id last = 0;
    std::optional<bool> verified{};
  };

  // Windows that wait for their verdict, each a step behind the one before.
  struct waiting_windows {
    std::uint64_t first = 0;  // index
    std::uint64_t count = 0;
    pane_id begin = 0;    // the first pane of the first one
    pane_id end = 0;      // its last one
    bool doomed = false;  // damaged in any case
  };

  [[nodiscard]] stream_id stream_of(input_id input) const;
  stream& stream_for(input_id input, window_time now);
  void open_pane(stream& of, window_time now);
  void note_frame(const text_owner& owner, pane_id pane);
  std::size_t take(stream& of, std::span<const std::byte> text) const;
  void catch_up(stream& of, window_time now);
  void put_pane_down(stream& of);
  void end_pane(stream& of);
  void end_run(stream& of, window_end why, const std::string& error, window_time now);
  void close_window(stream& of, window_end why, const std::string& error);
  [[nodiscard]] window_head head_of(const stream& of) const;
  void wait_for_verdict(const waiting_windows& one);
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
  source_name name_;
  pane_id next_pane_ = 1;
  std::uint64_t next_index_ = 0;

  std::deque<frame> frames_;             // in the order of their text, from the first one without a verdict on
  std::deque<waiting_windows> waiting_;  // in the order of the windows
  pane_id damaged_through_ = 0;          // the last pane with text of a damaged frame
  std::optional<window_verdict> said_;   // a verdict that may have more windows
};

}  // namespace gpuhist::pipeline
