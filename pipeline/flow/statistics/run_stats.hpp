// What a run tells about itself: stage by stage bytes, busy and waiting time, how inputs were read, what became of the
// slots, and which stage limited it.
#pragma once

#include "gpu/engine.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/statistics/occupancy.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Seconds are summed over the threads (or lanes) of the stage.
struct stage_stats {
  std::string name;         ///< "read", "decompress", "copy to device", "count"
  std::uint64_t bytes = 0;  ///< that left the stage
  double busy_seconds = 0;
  double waiting_seconds = 0;  ///< reading: for its source; decompressing: for blocks; counting: chunks for their turn
  unsigned workers = 1;        ///< how many of them can be busy at once
  bool on_pool = false;        ///< its workers are the threads that other such stages share
};

/// How much of the run a stage was at work, with all of its workers: from 0 to 1, or a little more by rounding.
double busy_share(const stage_stats& stage, double seconds);

struct run_stats {
  std::string engine{};         ///< "host", "cuda" or "auto"
  std::string engine_reason{};  ///< why, where the choice was `auto`
  gpu::engine_stats counting{};
  std::uint16_t classes = 0;           ///< of the partition that the schemes need
  std::uint16_t counted_classes = 0;   ///< of the one that the engine counts
  std::vector<std::string> schemes{};  ///< names, for the report: a run does not know them
  std::uint64_t inputs = 0;
  std::vector<input_manner> reading{};
  std::uint64_t max_in_flight = 0;  ///< reads of files at once
  std::uint64_t disk_bytes = 0;     ///< that the process caused to be read from a disk; the rest was in memory
  std::string decompression{};      ///< the rung of the ladder, in words; "not compressed" where nothing was
  std::uint64_t compressed_inputs = 0;
  std::string_view in_order_for{};  ///< the option for which frames are decoded one after the other; empty: none
  bool passes_through = false;      ///< inputs are read once, in order, for --pass-through
  std::vector<stage_stats> stages{};
  std::string limited_by{};  ///< the stage that limited the run and why, in words
  std::string would_help{};  ///< what would help against it, in words
  double seconds = 0;        ///< from the first read to the last count
  bool stopped = false;      ///< before the end of the inputs, by a signal or a failure
  unsigned threads = 0;
  unsigned threads_planned = 0;  ///< more than `threads` where the system refused some
  unsigned cores = 0;            ///< of the machine
  unsigned slots = 0;
  std::uint64_t slot_bytes = 0;
  double slot_waiting_seconds = 0;      ///< how long the feeding waited for free slots
  double consumer_waiting_seconds = 0;  ///< how long what is handed on waited for room in standard output
  slot_history slots_over_time{};
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;         ///< text counted, verified or not
  std::uint64_t peak_memory = 0;   ///< bytes resident at the most; 0 where the system does not say
  std::uint64_t memory_limit = 0;  ///< bytes
};

/// Fills in what the stages before counting noted, `stages`, `limited_by` and `would_help`. Precondition: all else is
/// filled in.
void add_stages(run_stats& stats, const feed_notes& fed);

}  // namespace gpuhist::pipeline
