// What a run tells about itself: stage by stage bytes, busy and waiting time, and which stage limited it.
#pragma once

#include "gpu/engine.hpp"
#include "pipeline/stage_clock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Seconds are summed over the threads (or lanes) of the stage.
struct stage_stats {
  std::string name;         ///< "read", "decompress", "copy", "count", "merge"
  std::uint64_t bytes = 0;  ///< that left the stage
  double busy_seconds = 0;
  double waiting_seconds = 0;
  unsigned workers = 1;  ///< how many of them can be busy at once
};

struct run_stats {
  std::string engine;         ///< "host" or "cuda"
  std::string engine_reason;  ///< why, where the choice was `auto`
  gpu::engine_stats counting;
  std::vector<stage_stats> stages;
  std::string limited_by;  ///< the stage that limited the run and why, in words
  double seconds = 0;      ///< from the first read to the last count
  unsigned threads = 0;
  unsigned slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;  ///< text counted, verified or not
};

/// Fills in `stages` and `limited_by` from what the stages before counting noted and from `counting`.
/// `slot_waiting_seconds`: how long the feeding waited for free slots.
void add_stages(run_stats& stats, const stage_clock& read, const stage_clock& decompress, double slot_waiting_seconds);

}  // namespace gpuhist::pipeline
