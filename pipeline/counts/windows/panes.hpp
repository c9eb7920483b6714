// The size and step of windows. A window is a sequence of panes. A pane is the largest unit of which windows and steps
// are multiples. So every byte is counted once, however many windows contain it.
//
//     window 6, step 4:   | 0 . 1 . 2 |       | ...      panes of 2 bytes: 3 per window,
//                                 | 2 . 3 . 4 |          2 per step
#pragma once

#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

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

/// The number of '\n'.
std::uint64_t count_newlines(std::span<const std::byte> text);

/// The number of bytes up to and including newline number `wanted` (from 1), or all bytes if there are fewer newlines.
/// Subtracts the newlines in these bytes from `wanted`.
std::size_t through_newline(std::span<const std::byte> text, std::uint64_t& wanted);

/// The sum of the panes of a sliding window. Counts are integers, so a pane is subtracted exactly.
class pane_sum {
 public:
  /// `no_text`: a tally of zeros, with the size of all others.
  explicit pane_sum(gpu::tally no_text) : sum_(std::move(no_text)) {}

  /// Appends a pane. A tally without classes counts no bytes.
  void add(gpu::tally pane);

  /// Removes the first `panes` panes. Precondition: there are as many.
  void drop(std::size_t panes);

  /// The sum of all panes.
  [[nodiscard]] const gpu::tally& sum() const { return sum_; }

 private:
  gpu::tally sum_;
  std::deque<gpu::tally> panes_;
};

/// Where panes end in text of which only the numbers of bytes and lines are known.
class pane_planner {
 public:
  /// `pane`: its size, in bytes or lines; 1 or more. `missing`: what the open pane lacks, 1 to `pane`.
  pane_planner(std::uint64_t pane, std::uint64_t missing) : pane_(pane), missing_(missing) {}

  /// The ends of panes in the next text of a stream: numbers of its bytes or lines, of which it has `units`, ascending.
  std::vector<std::uint32_t> next(std::uint32_t units) {
    std::vector<std::uint32_t> ends;
    std::uint64_t at = missing_;
    for (; at <= units; at += pane_) ends.push_back(static_cast<std::uint32_t>(at));
    missing_ = at - units;
    return ends;
  }

 private:
  const std::uint64_t pane_;
  std::uint64_t missing_;
};

}  // namespace gpuhist::pipeline
