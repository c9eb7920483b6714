// Divides the decoded text of groups of frames into slices, for windows. A slice has a row of counters of its own, the
// sum of the rows of its extents:
//
//     text      | frame 0          |gap| frame 1   |gap| frame 2             |    a group
//     cuts                  ^                            ^        ^
//     extents   | 0         | 1    |   | 2         |   |3| 4      | 5        |    one for each frame and cut
//     slices    | 0         | 1                         | 2      | 3        |    one more than cuts
#pragma once

#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/engine.hpp"
#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

/// The text of a frame; of a step (steps.hpp), its own. A frame that was rejected has none.
GPUHIST_HOST_DEVICE inline extent extent_of(const encoded_frame& frame, const decoded_frame& decoded) {
  const auto begin = static_cast<std::uint32_t>(frame.text_at) + decoded.carried;
  const bool has_text = decoded.is == verdict::decoded;
  return {begin, begin + (has_text ? static_cast<std::uint32_t>(decoded.text_bytes) - decoded.carried : 0U)};
}

/// A group of frames of a batch. It begins where the group before it ends.
struct group_range {
  std::uint32_t frame_end = 0;      ///< frames up to its end
  std::uint32_t slice_end = 0;      ///< slices up to its end: as many cuts, and one more for each group
  cut_unit unit = cut_unit::bytes;  ///< of its cuts
};

/// All pointers are of device memory, or all of host memory.
struct text_division {
  const group_range* groups = nullptr;
  std::uint32_t group_count = 0;
  std::uint32_t slice_count = 0;
  const std::uint32_t* cuts = nullptr;  ///< of all groups, in order; null: groups are not divided
  bool has_lines = false;               ///< some cuts are numbers of lines
  units::unit_launch lines{};           ///< the text and the extents of the frames, for the search for lines
  std::uint32_t* places = nullptr;      ///< written, for each cut: its place in the text
  extent* extents = nullptr;            ///< written: one for each frame and cut
  std::uint32_t* slice_ends = nullptr;  ///< written, for each slice: extents up to its end
  std::uint32_t* last_bytes = nullptr;  ///< written, for each slice: its last byte; 0: it has no text

  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t first_frame_of(std::uint32_t group) const {
    return group == 0 ? 0 : groups[group - 1].frame_end;
  }
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t first_slice_of(std::uint32_t group) const {
    return group == 0 ? 0 : groups[group - 1].slice_end;
  }
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t cut_count() const { return slice_count - group_count; }
};

/// The group of a cut: the first one with more cuts up to its end.
GPUHIST_HOST_DEVICE inline std::uint32_t group_of_cut(const text_division& division, std::uint32_t cut) {
  std::uint32_t low = 0;
  std::uint32_t high = division.group_count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (division.groups[middle].slice_end - (middle + 1) > cut) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Writes the extents and the slice_ends of a group. A rejected frame has no text; cuts that are then beyond the text
/// of the group get empty extents.
GPUHIST_HOST_DEVICE inline void divide_group(const text_division& division, std::uint32_t group) {
  const bool in_lines = division.groups[group].unit == cut_unit::lines;
  const std::uint32_t frame_end = division.groups[group].frame_end;
  const std::uint32_t cut_end = division.groups[group].slice_end - (group + 1);
  std::uint32_t slice = division.first_slice_of(group);
  std::uint32_t cut = slice - group;
  std::uint32_t frame = division.first_frame_of(group);
  std::uint32_t next = frame + cut;
  std::uint32_t text_before = 0;  // of the group, before the frame
  std::uint32_t end = 0;
  for (; frame < frame_end; ++frame) {
    const extent whole = division.lines.extents[frame];
    std::uint32_t begin = whole.begin;
    end = whole.end;
    for (; cut < cut_end; ++cut) {
      std::uint64_t at = division.cuts[cut];
      at = in_lines ? division.places[cut] : at + whole.begin - text_before;
      if (at > end) break;
      const auto place = static_cast<std::uint32_t>(at);
      division.extents[next++] = {begin, place};
      division.slice_ends[slice++] = next;
      begin = place;
    }
    division.extents[next++] = {begin, end};
    text_before += end - whole.begin;
  }
  for (; cut < cut_end; ++cut) {
    division.extents[next++] = {end, end};
    division.slice_ends[slice++] = next;
  }
  division.slice_ends[slice] = next;
}

/// The last byte of a slice, or 0.
GPUHIST_HOST_DEVICE inline std::uint32_t last_byte_of(const text_division& division, std::uint32_t slice) {
  const std::uint32_t first = slice == 0 ? 0 : division.slice_ends[slice - 1];
  for (std::uint32_t i = division.slice_ends[slice]; i > first; --i) {
    const extent each = division.extents[i - 1];
    if (each.end > each.begin) return division.lines.text[each.end - 1];
  }
  return 0;
}

}  // namespace gpuhist::gpu::cuda::zstd
