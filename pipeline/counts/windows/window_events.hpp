// What happens to windows, in the order of the text: panes end, windows close, verdicts come.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/segment.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace gpuhist::pipeline {

/// The name of an input, raw bytes; null: there is none yet.
using source_name = std::shared_ptr<const std::string>;

using window_time = std::chrono::system_clock::time_point;

/// Why a window has ended.
enum class window_end : std::uint8_t {
  full,   ///< it has all that was asked for
  input,  ///< its input, or the last of all, is over
  error,  ///< text is missing from here on
};

/// "full", "end" or "error".
std::string_view name_of(window_end why);

/// A window that has closed, without its counts.
struct window_head {
  std::uint64_t index = 0;         ///< from 0, over all inputs, in the order in which windows close
  source_name source{};            ///< the input of its first text; of a window without text, of the text before it
  source_name last_source{};       ///< the input of its last text, where that is another one; else null
  std::uint64_t first_offset = 0;  ///< of the text of its stream (the input, or all inputs one after the other)
  std::uint64_t end_offset = 0;    ///< one past its last byte
  window_time start{};             ///< of windows of time when it began; of others when its first text came
  window_time end{};               ///< likewise
  window_end why = window_end::full;
  std::string error{};     ///< what is wrong, where text is missing
  bool verified = false;   ///< when it closed, all of its text was; false: a verdict follows
  bool ends_line = false;  ///< its last byte is '\n'
};

/// Lines of a text, numbered from 1, both included.
struct line_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1;

  bool operator==(const line_range&) const = default;
};

/// A window and the counts of its text, verified or not, over the partition of the plan.
struct closed_window {
  window_head head;
  gpu::tally counts;
  std::optional<line_range> lines{};  ///< of its stream; absent without text, and if text before it was not counted
};

/// The verdict over windows that were not verified when they closed: those of the indices first to last.
struct window_verdict {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< inclusive
  bool verified = false;   ///< false: some of the text of each is damaged

  bool operator==(const window_verdict&) const = default;
};

/// A number for streams of text that have windows of their own.
using stream_id = std::uint32_t;

/// A pane has all of its text. It joins the panes of its stream.
struct pane_finished {
  stream_id stream = 0;
  pane_id pane = 0;
  std::uint64_t bytes = 0;
};

/// All panes that its stream has are a window. Then the first ones are let go.
struct window_finished {
  stream_id stream = 0;
  window_head head;
  std::uint32_t panes_dropped = 0;
};

/// The panes that its stream still has are in no further window.
struct run_finished {
  stream_id stream = 0;
};

/// No more text of a stream follows.
struct stream_finished {
  stream_id stream = 0;
};

using window_event = std::variant<pane_finished, window_finished, run_finished, stream_finished, window_verdict>;

}  // namespace gpuhist::pipeline
