// The statistics of a run: bytes, busy and waiting time by stage, how inputs were read, the use of the slots, and the
// stage that limited the run.
#pragma once

#include "gpu/engine.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/statistics/occupancy.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// The progress of a run.
struct run_progress {
  std::uint64_t source_bytes = 0;  ///< read from the inputs so far, as they are stored
  std::uint64_t text_bytes = 0;    ///< counted and merged so far
  double seconds = 0;              ///< since the first read
};

/// Peak resident bytes of this program; 0 if /proc does not report it. From VmHWM, because getrusage also counts the
/// program that ran in this process before its exec.
std::uint64_t peak_resident_bytes();

/// Bytes that were read from disks for this process, and from network filesystems that report it.
std::uint64_t disk_bytes_read();

/// Seconds are summed over the threads (or lanes) of the stage.
struct stage_stats {
  std::string name;         ///< "read", "decompress", "copy to device", "count"
  std::uint64_t bytes = 0;  ///< output of the stage
  double busy_seconds = 0;
  double waiting_seconds = 0;  ///< read: for the source; decompress: for blocks; count: chunks for a thread
  unsigned workers = 1;        ///< how many can be busy at once
  bool on_pool = false;        ///< its workers are the threads of the pool, shared with other stages
};

/// The share of the run in which the workers of a stage were busy, on average: 0 to 1, or slightly more by rounding.
double busy_share(const stage_stats& stage, double seconds);

struct run_stats {
  std::string engine{};         ///< "host", "cuda" or "auto"
  std::string engine_reason{};  ///< why this engine, if `auto` was asked for
  gpu::engine_stats counting{};
  std::uint16_t classes = 0;           ///< of the partition of the plan
  std::uint16_t counted_classes = 0;   ///< of the partition that the engine counts
  std::vector<std::string> schemes{};  ///< names; set by the caller of the run, for reports
  std::uint64_t inputs = 0;
  std::vector<input_manner> reading{};
  std::uint64_t max_in_flight = 0;  ///< most reads of files at once
  std::uint64_t disk_bytes = 0;     ///< read from disks; other bytes were in the page cache
  std::string decompression{};  ///< the parallelism of decoding, in words; "not compressed" without compressed inputs
  std::uint64_t compressed_inputs = 0;
  std::string_view in_order_for{};  ///< the option that requires decoding frames in sequence; empty: none
  bool passes_through = false;      ///< inputs are read once and in order, for --pass-through
  std::vector<stage_stats> stages{};
  std::string limited_by{};  ///< the stage that limited the run and why, in words
  std::string would_help{};  ///< the remedy, in words
  double seconds = 0;        ///< from the first read to the last count
  bool stopped = false;      ///< by a signal or failure before the end of the inputs
  unsigned threads = 0;
  unsigned threads_planned = 0;  ///< more than `threads` if the system refused some
  unsigned cores = 0;            ///< that the process may use
  unsigned slots = 0;
  std::uint64_t slot_bytes = 0;
  double slot_waiting_seconds = 0;      ///< time for which feeding waited for free slots
  double consumer_waiting_seconds = 0;  ///< time for which forwarding waited for standard output
  slot_history slots_over_time{};
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;         ///< text counted, verified or not
  std::uint64_t peak_memory = 0;   ///< resident bytes; 0 if the system does not report it
  std::uint64_t memory_limit = 0;  ///< bytes
};

/// Sets the members for reading and decompression from `fed`, and `stages`, `limited_by` and `would_help`.
/// Precondition: all others are set.
void add_stages(run_stats& stats, const feed_notes& fed);

}  // namespace gpuhist::pipeline
