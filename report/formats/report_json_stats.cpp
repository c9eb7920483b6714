#include "report/formats/report_json_stats.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

json timeline_of(const gpu::device_timeline& timeline) {
  return {{"span_seconds", timeline.span_seconds},
          {"copy_busy_seconds", timeline.copy_busy_seconds},
          {"kernel_busy_seconds", timeline.kernel_busy_seconds},
          {"overlap_seconds", timeline.overlap_seconds}};
}

json decoded_of(const gpu::frame_decoder_stats& decoded) {
  return {{"groups", decoded.groups},
          {"frames", decoded.frames},
          {"compressed_bytes", decoded.compressed_bytes},
          {"text_bytes", decoded.text_bytes},
          {"rejected_groups", decoded.rejected_groups},
          {"busy_seconds", decoded.busy_seconds}};
}

json engine_of(const run_stats& stats) {
  const gpu::engine_stats& counting = stats.counting;
  json out = {{"name", stats.engine}};
  if (!stats.engine_reason.empty()) out["reason"] = stats.engine_reason;
  out["kernel"] = counting.kernel;
  if (!counting.device.empty()) out["device"] = counting.device;
  out["workers"] = counting.workers;
  out["startup_seconds"] = counting.startup_seconds;
  out["jobs"] = counting.jobs;
  out["bytes"] = counting.bytes;
  if (!counting.device.empty()) out["device_bytes"] = counting.device_bytes;
  out["busy_seconds"] = counting.busy_seconds;
  if (const auto& timeline = counting.timeline) out["timeline"] = timeline_of(*timeline);
  if (counting.decoded.lanes > 0) out["decoded_on_device"] = decoded_of(counting.decoded);
  if (!counting.warning.empty()) out["warning"] = counting.warning;
  return out;
}

json partition_of(const run_stats& stats) {
  return {{"classes", stats.classes}, {"counted_classes", stats.counted_classes}, {"schemes", stats.schemes}};
}

json reading_of(const run_stats& stats) {
  json manners = json::array();
  for (const input_manner& each : stats.reading)
    manners.push_back({{"how", each.description}, {"inputs", each.inputs}});
  return {{"inputs", stats.inputs},
          {"manners", std::move(manners)},
          {"most_in_flight", stats.max_in_flight},
          {"disk_bytes", stats.disk_bytes}};
}

json stages_of(const run_stats& stats) {
  json stages = json::array();
  for (const stage_stats& stage : stats.stages) {
    stages.push_back({{"name", stage.name},
                      {"bytes", stage.bytes},
                      {"busy_seconds", stage.busy_seconds},
                      {"waiting_seconds", stage.waiting_seconds},
                      {"workers", stage.workers},
                      {"busy_share", busy_share(stage, stats.seconds)}});
  }
  return stages;
}

json slots_of(const run_stats& stats) {
  const slot_history& history = stats.slots_over_time;
  return {{"waiting_seconds", stats.slot_waiting_seconds},
          {"free_share", history.free_share},
          {"filling_share", history.filling_share},
          {"counting_share", history.counting_share},
          {"none_free_share", history.none_free_share},
          {"step_seconds", history.step_seconds},
          {"in_use", history.in_use}};
}

}  // namespace

json stats_as_json(const run_stats& stats) {
  return {{"seconds", stats.seconds},
          {"bytes", stats.bytes},
          {"chunks", stats.chunks},
          {"threads", stats.threads},
          {"threads_planned", std::max(stats.threads, stats.threads_planned)},
          {"cores", stats.cores},
          {"slots", stats.slots},
          {"slot_bytes", stats.slot_bytes},
          {"engine", engine_of(stats)},
          {"partition", partition_of(stats)},
          {"reading", reading_of(stats)},
          {"decompression", stats.decompression},
          {"stages", stages_of(stats)},
          {"slots_over_time", slots_of(stats)},
          {"memory", {{"peak_bytes", stats.peak_memory}, {"limit_bytes", stats.memory_limit}}},
          {"stopped", stats.stopped},
          {"limited_by", stats.limited_by},
          {"would_help", stats.would_help}};
}

}  // namespace gpuhist::pipeline
