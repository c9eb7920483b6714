// The text of --stats for people: the engine and why it was chosen, how inputs were read, one line per stage, the slots
// over time, and what limited the run.
#include "config/size.hpp"
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gpuhist::report {
namespace {

constexpr std::size_t label_width = 12;  // columns
constexpr std::size_t narrowest_sparkline = 8;

double rate(std::uint64_t bytes, double seconds) { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }

std::string line(const std::string& label, const std::string& text) {
  std::string padded = label;
  padded.resize(std::max(padded.size(), label_width), ' ');
  return padded + text + "\n";
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string engine_lines(const pipeline::run_stats& stats) {
  const gpu::engine_stats& counting = stats.counting;
  std::string engine = stats.engine;
  if (!counting.device.empty()) engine += " on " + printable(counting.device);
  if (!stats.engine_reason.empty()) engine += " (" + printable(stats.engine_reason) + ")";
  const std::string worker = stats.engine == "cuda" ? "stream" : stats.engine == "host" ? "thread" : "worker";
  return line("engine", engine) + line("kernel", counting.kernel + ", " + number_of(counting.workers, worker) +
                                                     ", ready after " + fixed(counting.startup_seconds, 3) + " s");
}

std::string partition_line(const pipeline::run_stats& stats) {
  std::string schemes;
  for (const std::string& each : stats.schemes) schemes += (schemes.empty() ? "" : ", ") + printable(each);
  std::string text = grouped(stats.classes) + (stats.classes == 1 ? " class of" : " classes of") +
                     " the 256 byte values for " + schemes;
  if (stats.counted_classes != stats.classes) text += ", folded from " + grouped(stats.counted_classes);
  return line("partition", text);
}

std::string reading_lines(const pipeline::run_stats& stats) {
  std::string text;
  for (const pipeline::input_manner& each : stats.reading) {
    text += line(text.empty() ? "inputs" : "", number_of(each.inputs, "input") + ": " + each.description);
  }
  if (stats.max_in_flight > 1) text += line("", "up to " + grouped(stats.max_in_flight) + " reads at once");
  return text + line("decompress", stats.decompression);
}

std::string device_decoding_line(const pipeline::run_stats& stats) {
  const gpu::frame_decoder_stats& decoded = stats.counting.decoded;
  if (decoded.lanes == 0) return "";
  std::string text = number_of(decoded.frames, "frame") + ", " + number_of(decoded.text_bytes, "byte") +
                     " of text from " + number_of(decoded.compressed_bytes, "byte") + " over the link";
  if (decoded.rejected_groups > 0) {
    text += "; " + number_of(decoded.rejected_groups, "group") + " of frames rejected, and decoded on the host";
  }
  return line("on device", text);
}

std::string slots_line(const pipeline::run_stats& stats, const render_target& target) {
  const pipeline::slot_history& history = stats.slots_over_time;
  const std::string shares = "  free " + percent(history.free_share) + ", filling " + percent(history.filling_share) +
                             ", counting " + percent(history.counting_share);
  const std::size_t taken = label_width + shares.size();
  const std::size_t room = target.width > taken ? target.width - taken : 0;
  return line("slots", sparkline(history.in_use, std::max(room, narrowest_sparkline), target.unicode) + shares);
}

std::string memory_line(const pipeline::run_stats& stats) {
  // part of the limit may be set aside for encoders
  const bool is_limited = stats.memory_limit < config::no_memory_limit / 2;
  const std::string peak = config::format_size(stats.peak_memory) + " at most, ";
  return line("memory",
              peak + (is_limited ? "of a limit of " + config::format_size(stats.memory_limit) : "without a limit"));
}

std::string stage_lines(const pipeline::run_stats& stats, const render_target& target) {
  std::vector<table_row> rows;
  for (const pipeline::stage_stats& each : stats.stages) {
    rows.push_back({each.name, grouped(each.bytes), fixed(each.busy_seconds, 3), fixed(each.waiting_seconds, 3),
                    grouped(each.workers), fixed(100 * pipeline::busy_share(each, stats.seconds), 1) + " %",
                    fixed(rate(each.bytes, each.busy_seconds) / 1e9, 2)});
  }
  const text_table table({{"stage", false},
                          {"bytes"},
                          {"busy s", true, 1},
                          {"waiting s", true, 2},
                          {"workers", true, 4},
                          {"busy"},
                          {"GB/s busy", true, 3}},
                         rows, target.width);
  return table_lines(table, rows, target.color);
}

std::string timeline_line(const gpu::device_timeline& timeline) {
  return line("device", fixed(timeline.span_seconds, 3) + " s: copies busy " + fixed(timeline.copy_busy_seconds, 3) +
                            " s, kernels busy " + fixed(timeline.kernel_busy_seconds, 3) + " s, both at once " +
                            fixed(timeline.overlap_seconds, 3) + " s");
}

std::string flow_lines(const pipeline::run_stats& stats) {
  return line("text", number_of(stats.bytes, "byte") + " in " + fixed(stats.seconds, 3) +
                          " s = " + fixed(rate(stats.bytes, stats.seconds) / 1e9, 2) + " GB/s") +
         line("chunks", number_of(stats.chunks, "chunk") + " through " + number_of(stats.slots, "slot") + " of " +
                            config::format_size(stats.slot_bytes) + ", " + number_of(stats.threads, "thread") +
                            (stats.threads < stats.threads_planned
                                 ? " (" + std::to_string(stats.threads_planned) + " were planned)"
                                 : ""));
}

}  // namespace

std::string render_stats(const pipeline::run_stats& stats, const render_target& target) {
  std::string text = engine_lines(stats) + partition_line(stats) + flow_lines(stats) + reading_lines(stats) +
                     device_decoding_line(stats) + slots_line(stats, target) + memory_line(stats);
  if (!stats.counting.warning.empty()) text += line("warning", printable(stats.counting.warning));
  text += stage_lines(stats, target);
  if (stats.counting.timeline) text += timeline_line(*stats.counting.timeline);
  return text + "limited by: " + stats.limited_by + "\nwould help: " + stats.would_help + "\n";
}

}  // namespace gpuhist::report
