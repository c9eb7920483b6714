// Ranges in the timeline of a profiler: one for each piece of work of a stage, by NVTX (docs/kernels.md). A build
// without the CUDA toolkit has none.
#pragma once

namespace gpuhist::gpu {

/// A range on the calling thread, from its construction to its destruction on the same thread. Without a profiler it
/// costs a few nanoseconds. Ranges of one thread are nested.
class stage_range {
 public:
  /// `name`: of the stage; a literal.
  explicit stage_range(const char* name) noexcept;
  stage_range(const stage_range&) = delete;
  stage_range& operator=(const stage_range&) = delete;
  ~stage_range();  // NOLINT(performance-trivially-destructible): a build with NVTX ends the range
};

}  // namespace gpuhist::gpu
