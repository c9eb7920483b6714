#include "pipeline/flow/statistics/run_stats.hpp"

#include "config/text.hpp"
#include "pipeline/flow/statistics/limits.hpp"

#include <sys/resource.h>
#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace gpuhist::pipeline {

std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

std::uint64_t disk_bytes_read() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  // glibc declares it in a union of types of one size
  return static_cast<std::uint64_t>(usage.ru_inblock) * 512;  // NOLINT(cppcoreguidelines-pro-type-union-access)
}

namespace {

using config::number_of;

// Inputs of a device are read by any thread, so that it gets many frames at once.
void add_reading(run_stats& stats, const feed_notes& fed) {
  const bool in_parallel = fed.files_in_parallel || stats.counting.decoded.lanes > 0;
  stats.stages.push_back({.name = "read",
                          .bytes = fed.read.bytes,
                          .busy_seconds = fed.read.busy_seconds(),
                          .waiting_seconds = fed.read.waiting_seconds(),
                          .workers = in_parallel ? stats.threads : 1,
                          .on_pool = in_parallel});
}

void add_decompressing(run_stats& stats, const feed_notes& fed) {
  if (fed.compressed_inputs == 0) return;
  stats.stages.push_back({.name = "decompress",
                          .bytes = fed.decompress.bytes,
                          .busy_seconds = fed.decompress.busy_seconds(),
                          .waiting_seconds = fed.decompress.waiting_seconds(),
                          .workers = static_cast<unsigned>(std::max<std::uint64_t>(1, fed.decompress.max_in_flight)),
                          .on_pool = true});
}

// The time for which chunks waited for a thread or for earlier chunks: the time in phase counting without the busy
// time.
double waiting_to_be_counted(const run_stats& stats, double busy) {
  return std::max(0.0, stats.slots_over_time.counting_share * stats.slots * stats.seconds - busy);
}

void add_host_counting(run_stats& stats, const std::string& name, double busy) {
  const gpu::engine_stats& counting = stats.counting;
  stats.stages.push_back({.name = name,
                          .bytes = counting.bytes - counting.device_bytes,
                          .busy_seconds = busy,
                          .waiting_seconds = waiting_to_be_counted(stats, busy),
                          .workers = counting.timeline ? stats.threads : counting.workers,
                          .on_pool = true});
}

void add_device(run_stats& stats, const gpu::device_timeline& timeline, const std::string& name) {
  const auto stage = [&](const std::string& stage_name, double busy) {
    return stage_stats{.name = stage_name,
                       .bytes = stats.counting.device_bytes - stats.counting.decoded.text_bytes,
                       .busy_seconds = busy,
                       .waiting_seconds = std::max(0.0, timeline.span_seconds - busy),
                       .workers = std::max(1U, timeline.devices)};
  };
  stats.stages.push_back(stage("copy to device", timeline.copy_busy_seconds));
  stats.stages.push_back(stage(name, timeline.kernel_busy_seconds));
}

void add_device_decoding(run_stats& stats) {
  const gpu::frame_decoder_stats& decoded = stats.counting.decoded;
  if (decoded.lanes == 0) return;
  stats.stages.push_back({.name = "decode on device",
                          .bytes = decoded.text_bytes,
                          .busy_seconds = decoded.busy_seconds,
                          .waiting_seconds = std::max(0.0, decoded.lanes * stats.seconds - decoded.busy_seconds),
                          .workers = decoded.lanes});
}

void add_counting(run_stats& stats) {
  const gpu::engine_stats& counting = stats.counting;
  add_device_decoding(stats);
  if (!counting.timeline) return add_host_counting(stats, "count", counting.busy_seconds);
  const bool shared = counting.device_bytes < counting.bytes;
  if (shared) {
    const double on_device = counting.timeline->kernel_busy_seconds;
    add_host_counting(stats, "count on host", std::max(0.0, counting.busy_seconds - on_device));
  }
  add_device(stats, *counting.timeline, shared ? "count on device" : "count");
}

// How parallel decoding was, from many frames at once to one frame after the other, and why.
std::string decompression_of(const feed_notes& fed) {
  if (fed.compressed_inputs == 0) return "not compressed";
  std::string words =
      number_of(fed.frames, "frame") + ", up to " + number_of(fed.decompress.max_in_flight, "decoder") + " at once";
  for (const input_manner& each : fed.decoding) {
    words += "; " + number_of(each.inputs, "input");
    words += " " + each.description;
  }
  return words;
}

}  // namespace

double busy_share(const stage_stats& stage, double seconds) {
  return seconds > 0 ? stage.busy_seconds / (seconds * std::max(1U, stage.workers)) : 0;
}

void add_stages(run_stats& stats, const feed_notes& fed) {
  stats.reading = fed.reading;
  stats.max_in_flight = fed.read.max_in_flight;
  stats.compressed_inputs = fed.compressed_inputs;
  stats.decompression = decompression_of(fed);
  add_reading(stats, fed);
  add_decompressing(stats, fed);
  add_counting(stats);
  const verdict judged = judge(stats);
  stats.limited_by = judged.limited_by;
  stats.would_help = judged.would_help;
}

}  // namespace gpuhist::pipeline
