// The size and step of windows. A window is a sequence of panes. A pane is the largest unit of which windows and steps
// are multiples. So every byte is counted once, however many windows contain it.
//
//     window 6, step 4:   | 0 . 1 . 2 |       | ...      panes of 2 bytes: 3 per window,
//                                 | 2 . 3 . 4 |          2 per step
#pragma once

#include <cstdint>

namespace gpuhist::pipeline {

/// The unit in which panes are measured.
enum class pane_unit : std::uint8_t {
  bytes,         ///< of text
  lines,         ///< each ends after its last newline
  milliseconds,  ///< of arrival
};

/// The largest number of panes of a window: all of them are held in memory.
inline constexpr std::uint32_t max_panes = 4096;

struct window_shape {
  pane_unit unit = pane_unit::bytes;
  std::uint64_t pane = 1;          ///< its size in the unit; 1 or more
  std::uint32_t window_panes = 1;  ///< 1 to max_panes
  std::uint32_t step_panes = 1;    ///< 1 to window_panes
  bool per_input = false;    ///< every input has its own windows; else windows continue from one input to the next
  bool interleaved = false;  ///< text of several inputs alternates, as of files that are followed
  bool numbered_by_input = false;  ///< with per_input: the windows of each input are numbered from 0

  /// The smallest number of bytes of a pane that did not end at the end of its input.
  [[nodiscard]] std::uint64_t min_pane_bytes() const { return unit == pane_unit::milliseconds ? 0 : pane; }
};

}  // namespace gpuhist::pipeline
