// What --stats tells people: the engine and why, a line a stage, and the stage that limited the run.
#include "config/size.hpp"
#include "pipeline/report.hpp"
#include "pipeline/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace gpuhist::pipeline {
namespace {

template <typename... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 512> text{};  // only numbers are formatted: names are joined as strings
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

double rate(std::uint64_t bytes, double seconds) { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }

std::string line(const std::string& name, const std::string& text) {
  std::string padded = name;
  padded.resize(std::max<std::size_t>(padded.size(), 12), ' ');
  return padded + text + "\n";
}

std::string plural(std::uint64_t number, const std::string& noun) {
  return grouped(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string engine_lines(const run_stats& stats) {
  const gpu::engine_stats& counting = stats.counting;
  std::string engine = stats.engine;
  if (!counting.device.empty()) engine += " on " + printable(counting.device);
  if (!stats.engine_reason.empty()) engine += " (" + printable(stats.engine_reason) + ")";
  const std::string worker = stats.engine == "cuda" ? "stream" : "thread";
  return line("engine", engine) + line("kernel", counting.kernel + ", " + plural(counting.workers, worker) +
                                                     formatted(", ready after %.3f s", counting.startup_seconds));
}

std::string stage_lines(const run_stats& stats) {
  std::size_t names = 5;
  std::size_t numbers = 5;
  for (const stage_stats& each : stats.stages) {
    names = std::max(names, each.name.size());
    numbers = std::max(numbers, grouped(each.bytes).size());
  }
  const auto padded = [&](std::string name, const std::string& bytes) {
    name.resize(names, ' ');
    return name + "  " + std::string(numbers - bytes.size(), ' ') + bytes;
  };
  std::string text = padded("stage", "bytes") + "   busy s  waiting s  workers    busy\n";
  for (const stage_stats& each : stats.stages) {
    // of what its workers could have been busy in the whole time
    const double possible = stats.seconds * std::max(1U, each.workers);
    const double busy = possible > 0 ? 100 * each.busy_seconds / possible : 0;
    text += padded(each.name, grouped(each.bytes)) +
            formatted("  %7.3f  %9.3f  %7u  %5.1f %%\n", each.busy_seconds, each.waiting_seconds, each.workers, busy);
  }
  return text;
}

std::string timeline_line(const gpu::device_timeline& timeline) {
  return line("device",
              formatted("%.3f s: copies busy %.3f s, kernels busy %.3f s, both at once %.3f s", timeline.span_seconds,
                        timeline.copy_busy_seconds, timeline.kernel_busy_seconds, timeline.overlap_seconds));
}

}  // namespace

std::string render_stats(const run_stats& stats, const render_target& /*target*/) {
  std::string text = engine_lines(stats);
  text += line("text", plural(stats.bytes, "byte") + " in " + formatted("%.3f s", stats.seconds) +
                           formatted(" = %.2f GB/s", rate(stats.bytes, stats.seconds) / 1e9));
  text += line("chunks", plural(stats.chunks, "chunk") + " through " + plural(stats.slots, "slot") + " of " +
                             config::format_size(stats.slot_bytes) + ", " + plural(stats.threads, "thread"));
  text += stage_lines(stats);
  if (stats.counting.timeline) text += timeline_line(*stats.counting.timeline);
  return text + "limited by: " + stats.limited_by + "\n";
}

}  // namespace gpuhist::pipeline
