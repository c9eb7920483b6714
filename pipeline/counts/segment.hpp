// The owner of a segment of a chunk: types shared by pipeline/counts and pipeline/flow.
#pragma once

#include "gpu/engine.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::pipeline {

/// Number of an input: inputs are numbered from 0 in the order in which they are opened.
using input_id = std::uint32_t;

/// Number of a group of consecutive frames of one input that one task decodes, or of a stretch of a plain file that one
/// task reads: from 1, in the order of the input. 0: the text is in no group, and is verified.
using group_id = std::uint64_t;

/// Number of a frame within its group, from 1. 0: the text is verified.
using frame_id = std::uint64_t;

/// Number of a pane of windows, from 1. 0: the run has no windows.
using pane_id = std::uint64_t;

/// The owner of a segment.
struct text_owner {
  input_id input = 0;
  group_id group = 0;
  frame_id frame = 0;
  std::uint64_t lost_before = 0;  ///< ranges of its group that were lost before it: no pair spans them

  bool operator==(const text_owner&) const = default;
};

/// The part of a chunk that belongs to one owner and one pane. The segments of a chunk are in the order of their bytes.
struct segment {
  text_owner owner;
  gpu::extent extent;
  pane_id pane = 0;
};

/// The bytes of a text, up to `end`, that belong to a pane.
struct pane_slice {
  std::size_t end = 0;
  pane_id pane = 0;

  bool operator==(const pane_slice&) const = default;
};

}  // namespace gpuhist::pipeline
