// The counts of a run as a value, at its end or at any moment during it.
#pragma once

#include "gpu/tally.hpp"
#include "io/skipped_kind.hpp"
#include "pipeline/counts/input_reports.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Names in trees and archives that are not read, all for the same cause.
struct skipped_names {
  io::skipped_kind kind = io::skipped_kind::unknown;
  std::string cause;        ///< the cause, in the singular: "FIFO"; empty if an older result does not contain it
  std::uint64_t count = 0;  ///< number of names
  std::string first;        ///< the first of them, raw bytes; empty if read back from a result
  std::uint64_t bytes = 0;  ///< that archives hold for them
};

/// Adds `more` to the entry with the same cause, or inserts it. Entries are sorted by cause.
void add_skipped(std::vector<skipped_names>& to, const skipped_names& more);

/// The counts of a run. During the run, the counts of every input are those of a prefix of its text.
struct run_counts {
  bool complete = false;  ///< every byte of every input was counted and verified
  gpu::partition partition;
  gpu::tally verified;                 ///< the totals
  gpu::tally unverified;               ///< snapshots print them as "provisional"
  bool counted_unverified = false;     ///< --count-unverified: `verified` includes the unverified bytes
  std::optional<utf8_report> utf8{};   ///< --utf8: of all inputs, verified or not
  input_reports inputs;                ///< in the order in which they were given or found
  std::vector<skipped_names> skipped;  ///< in trees and archives, sorted by cause
  double elapsed_seconds = 0;          ///< snapshots: since the first read
};

}  // namespace gpuhist::pipeline
