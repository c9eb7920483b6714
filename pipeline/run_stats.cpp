#include "pipeline/run_stats.hpp"

#include <algorithm>
#include <cmath>

namespace gpuhist::pipeline {
namespace {

// How much of the run a stage was at work, with all of its workers.
double share(const stage_stats& stage, double seconds) {
  return seconds > 0 ? stage.busy_seconds / (seconds * std::max(1U, stage.workers)) : 0;
}

std::string percent(double share) { return std::to_string(std::lround(std::min(share, 1.0) * 100)) + " %"; }

std::string limiting_stage(const run_stats& stats, double source_waiting_share, double slot_waiting_share) {
  if (stats.bytes == 0) return "nothing: there was no text";
  if (source_waiting_share > 0.5)
    return "the source: reading waited for it " + percent(source_waiting_share) + " of the time";
  const auto busiest = std::max_element(
      stats.stages.begin(), stats.stages.end(),
      [&](const stage_stats& a, const stage_stats& b) { return share(a, stats.seconds) < share(b, stats.seconds); });
  std::string words = busiest->name + ": busy " + percent(share(*busiest, stats.seconds)) + " of the time";
  if (busiest->workers > 1) words += " on " + std::to_string(busiest->workers) + " workers";
  if (slot_waiting_share > 0.1) words += "; reading waited for free slots " + percent(slot_waiting_share);
  return words;
}

}  // namespace

void add_stages(run_stats& stats, const stage_clock& read, const stage_clock& decompress, double slot_waiting_seconds) {
  const bool from_stream = read.waiting_nanoseconds > 0;
  stats.stages.push_back({.name = "read",
                          .bytes = read.bytes,
                          .busy_seconds = read.busy_seconds(),
                          .waiting_seconds = read.waiting_seconds(),
                          .workers = from_stream || decompress.bytes > 0 ? 1 : stats.threads});
  if (decompress.bytes > 0) {
    stats.stages.push_back({.name = "decompress",
                            .bytes = decompress.bytes,
                            .busy_seconds = decompress.busy_seconds(),
                            .waiting_seconds = decompress.waiting_seconds(),
                            .workers = 1});
  }
  if (const auto& timeline = stats.counting.timeline) {
    stats.stages.push_back({.name = "copy to device",
                            .bytes = stats.counting.bytes,
                            .busy_seconds = timeline->copy_busy_seconds,
                            .waiting_seconds = timeline->span_seconds - timeline->copy_busy_seconds,
                            .workers = timeline->devices});
  }
  stats.stages.push_back(
      {.name = "count",
       .bytes = stats.counting.bytes,
       .busy_seconds = stats.counting.busy_seconds,
       .waiting_seconds = 0,
       .workers = stats.counting.timeline ? stats.counting.timeline->devices : stats.counting.workers});
  const double seconds = std::max(stats.seconds, 1e-9);
  stats.limited_by = limiting_stage(stats, read.waiting_seconds() / seconds, slot_waiting_seconds / seconds);
}

}  // namespace gpuhist::pipeline
