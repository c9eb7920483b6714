// Events of windows, in the order of the text: panes end, windows close, verdicts follow.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/segment.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace gpuhist::pipeline {

/// The name of an input, raw bytes. Null: no input yet.
using source_name = std::shared_ptr<const std::string>;

using window_time = std::chrono::system_clock::time_point;

/// Why a window has closed.
enum class window_end : std::uint8_t {
  full,   ///< it has its full size
  input,  ///< its input, or the last input, has ended
  error,  ///< text is missing after it
};

/// "full", "end" or "error".
std::string_view name_of(window_end reason);

/// A window that has closed, without its counts.
struct window_head {
  std::uint64_t index = 0;         ///< from 0, over all inputs, in the order in which windows close; or by input
  source_name source{};            ///< the input of its first text; if it has no text, of the text before it
  source_name last_source{};       ///< the input of its last text, if it is another input; else null
  std::uint64_t first_offset = 0;  ///< in the text of its stream (the input, or all inputs in sequence)
  std::uint64_t end_offset = 0;    ///< one past its last byte
  window_time start{};             ///< windows of time: its begin; others: the arrival of its first text
  window_time end{};               ///< windows of time: its end; others: the arrival of its last text
  window_end end_reason = window_end::full;
  std::string error{};     ///< why text is missing; empty: none is
  bool verified = false;   ///< all of its text was verified when it closed; false: a verdict follows
  bool ends_line = false;  ///< its last byte is '\n'
};

/// Lines of a text, numbered from 1, both included.
struct line_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1;

  bool operator==(const line_range&) const = default;
};

/// Number of a stream of text with its own windows: an input (input_id), or all inputs in sequence.
using stream_id = std::uint32_t;

/// A window and the counts of its text, verified or not, over the partition of the plan.
struct closed_window {
  window_head head;
  gpu::tally counts;
  std::optional<line_range> lines{};  ///< of its stream; absent without text, and if text before it was not counted
  stream_id stream = 0;
  /// What the observer has found in lines whose end is in the window, if reports of inputs have it; without quantiles.
  observed_numbers observed{};
};

/// The verdict on windows that were not verified when they closed.
struct window_verdict {
  std::uint64_t first = 0;  ///< index of the first window
  std::uint64_t last = 0;   ///< index of the last window
  bool verified = false;    ///< false: some text of each window is damaged
  stream_id stream = 0;     ///< if windows are numbered by input

  bool operator==(const window_verdict&) const = default;
};

/// A pane has all of its text. It is appended to the panes of its stream.
struct pane_finished {
  stream_id stream = 0;
  pane_id pane = 0;
  std::uint64_t bytes = 0;
};

/// The panes of the stream make up a window. Afterwards the first `panes_dropped` of them are removed.
struct window_finished {
  stream_id stream = 0;
  window_head head;
  std::uint32_t panes_dropped = 0;
};

/// The remaining panes of the stream are in no further window.
struct run_finished {
  stream_id stream = 0;
};

/// No more text of a stream follows.
struct stream_finished {
  stream_id stream = 0;
};

using window_event = std::variant<pane_finished, window_finished, run_finished, stream_finished, window_verdict>;

}  // namespace gpuhist::pipeline
