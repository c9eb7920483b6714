// What windows were asked for. A window is a run of panes, the largest stretches that windows and steps are made of, so
// that every byte is counted once, whatever the number of windows it is in.
//
//     window 6, step 4:   | 0 . 1 . 2 |       | ...      panes of 2 bytes: 3 a window,
//                                 | 2 . 3 . 4 |          2 a step
#pragma once

#include <cstdint>

namespace gpuhist::pipeline {

/// What panes are measured in.
enum class pane_unit : std::uint8_t {
  bytes,         ///< of text
  lines,         ///< each ends behind its last newline
  milliseconds,  ///< of arrival
};

/// So many panes a window has at the most: all of them are held.
inline constexpr std::uint32_t max_panes = 4096;

struct window_shape {
  pane_unit unit = pane_unit::bytes;
  std::uint64_t pane = 1;          ///< of the unit; 1 or more
  std::uint32_t window_panes = 1;  ///< 1 to max_panes
  std::uint32_t step_panes = 1;    ///< 1 to window_panes
  bool per_input = false;          ///< every input has windows of its own; else they go on from one input to the next
  bool interleaved = false;        ///< text of several inputs comes by turns, as of files that are followed

  /// Bytes of text that a pane has at the least, where it is over for any other cause than the end of its input.
  [[nodiscard]] std::uint64_t min_pane_bytes() const { return unit == pane_unit::milliseconds ? 0 : pane; }
};

}  // namespace gpuhist::pipeline
