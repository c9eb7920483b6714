#include "pipeline/flow/statistics/limits.hpp"

#include "config/size.hpp"
#include "config/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

using config::fixed;
using config::number_of;

constexpr double majority_of_time = 0.5;

// If inputs are smaller on average, opening them takes longer than reading them.
constexpr std::uint64_t small_input = std::uint64_t{64} * 1024;
constexpr std::uint64_t many_inputs = 16;

// One link carries less than the cores count, unless they count by tables; then this much text pays for the start of a
// device.
constexpr std::uint64_t enough_for_device = std::uint64_t{32} << 30U;

std::string percent(double share) { return std::to_string(std::lround(std::clamp(share, 0.0, 1.0) * 100)) + " %"; }

bool starts_with(const stage_stats& stage, std::string_view name) { return stage.name.starts_with(name); }

// The share of the time of the whole run.
double share_of_run(const run_stats& stats, double seconds) { return stats.seconds > 0 ? seconds / stats.seconds : 0; }

const stage_stats* stage_named(const run_stats& stats, std::string_view name) {
  const auto found = std::ranges::find(stats.stages, name, &stage_stats::name);
  return found == stats.stages.end() ? nullptr : &*found;
}

// The share of the time in which the threads of the pool were busy, with any stage.
double pool_share(const run_stats& stats) {
  double busy = 0;
  for (const stage_stats& each : stats.stages) busy += each.on_pool ? each.busy_seconds : 0;
  return share_of_run(stats, busy) / std::max(1U, stats.threads);
}

// How close a stage was to being the limit: its own busy share; for the busiest stage on the pool, at least the share
// of the pool.
double pressure(const run_stats& stats, const stage_stats& stage) {
  const double own = busy_share(stage, stats.seconds);
  if (!stage.on_pool) return own;
  const auto most = std::ranges::max_element(
      stats.stages, {}, [](const stage_stats& each) { return each.on_pool ? each.busy_seconds : -1.0; });
  return &*most == &stage ? std::max(own, pool_share(stats)) : own;
}

std::optional<verdict> no_text(const run_stats& stats) {
  if (stats.bytes > 0) return std::nullopt;
  return verdict{"nothing: there was no text", "nothing"};
}

std::optional<verdict> device_start(const run_stats& stats) {
  const double startup = stats.counting.startup_seconds;
  if (stats.counting.device.empty() || startup <= stats.seconds) return std::nullopt;
  return verdict{
      "start-up: the device took " + fixed(startup, 3) + " s to start, counting " + fixed(stats.seconds, 3) + " s",
      "more text in one run, or --engine host for little text"};
}

// Checked before the source: while the consumer is slow, reading waits, too.
std::optional<verdict> slow_consumer(const run_stats& stats) {
  const double waiting = share_of_run(stats, stats.consumer_waiting_seconds);
  if (waiting <= majority_of_time) return std::nullopt;
  return verdict{"the consumer: standard output accepted no data " + percent(waiting) + " of the time",
                 "a faster consumer: gpuhist waited for it"};
}

std::optional<verdict> slow_source(const run_stats& stats) {
  const stage_stats* reading = stage_named(stats, "read");
  const double waiting = reading == nullptr ? 0 : share_of_run(stats, reading->waiting_seconds);
  if (waiting <= majority_of_time) return std::nullopt;
  return verdict{"the source: reading waited for it " + percent(waiting) + " of the time",
                 "a faster writer: gpuhist waited for it"};
}

std::optional<verdict> many_small_inputs(const run_stats& stats) {
  if (stats.inputs < many_inputs || stats.bytes / stats.inputs >= small_input) return std::nullopt;
  if (pool_share(stats) > majority_of_time) return std::nullopt;
  return verdict{"opening inputs: " + number_of(stats.inputs, "input") + " of " +
                     config::format_size(stats.bytes / stats.inputs) + " on average are opened, read and closed",
                 "fewer and larger inputs, for example by `cat`"};
}

std::optional<verdict> too_little_text(const run_stats& stats) {
  if (stats.chunks > 1 || stats.counting.decoded.groups > 0) return std::nullopt;
  return verdict{"start-up: all of the text fits into one slot of " + config::format_size(stats.slot_bytes),
                 "more text in one run: all inputs of one run share its start-up"};
}

std::string help_for_decompression(const run_stats& stats, const stage_stats& decoding) {
  if (!stats.in_order_for.empty()) {
    return "faster cores: " + std::string(stats.in_order_for) +
           " needs the text in order, so frames are decoded in sequence; without it independent frames (as "
           "pzstd writes them) are decoded in parallel";
  }
  if (decoding.workers < 2 && stats.threads > 1) {
    return "an archive of independent frames (as pzstd writes them), or more archives in one run: one frame is decoded "
           "by one thread";
  }
  if (stats.threads < stats.cores) return "more --threads (" + number_of(stats.cores, "core") + ")";
  return "more or faster cores for decompression";
}

std::string help_for_reading(const run_stats& stats, const stage_stats& reading) {
  if (stats.passes_through)
    return "a run without --pass-through: forwarded input is read once, in order, by one thread";
  if (!reading.on_pool) return "giving files by name instead of through a pipe: files are read by all threads";
  if (stats.disk_bytes > reading.bytes / 2) {
    return "a faster disk: " + percent(static_cast<double>(stats.disk_bytes) / static_cast<double>(reading.bytes)) +
           " of the bytes came from it, not from the page cache";
  }
  if (stats.threads < stats.cores) return "more --threads (" + number_of(stats.cores, "core") + ")";
  return "more cores: the bytes came from the page cache at the speed of its memory";
}

std::string help_for_counting(const run_stats& stats, const stage_stats& counting) {
  if (!counting.on_pool) return "more devices (--devices)";
  if (stats.threads < stats.cores) return "more --threads (" + number_of(stats.cores, "core") + ")";
  if (!stats.counting.kernel.starts_with("tables")) return "more cores";
  return (stats.bytes < enough_for_device ? "" : "a GPU (--engine cuda), or ") +
         std::string("schemes with fewer buckets: ") + std::to_string(stats.counted_classes) +
         " classes are too many for SIMD comparisons";
}

std::string help_for(const run_stats& stats, const stage_stats& stage) {
  if (stage.name == "read") return help_for_reading(stats, stage);
  if (stage.name == "decompress") return help_for_decompression(stats, stage);
  if (starts_with(stage, "decode"))
    return "more frames at once: smaller ones, more archives in one run, or a higher --memory-limit";
  if (starts_with(stage, "copy")) return "a faster link, or more devices with a link each (--devices)";
  return help_for_counting(stats, stage);
}

std::string described(const run_stats& stats, const stage_stats& stage) {
  const double own = busy_share(stage, stats.seconds);
  std::string words = stage.name + ": busy " + percent(own) + " of the time";
  if (starts_with(stage, "copy")) words = "the link: copies were in flight " + percent(own) + " of the time";
  if (stage.workers > 1) words += " on " + number_of(stage.workers, "thread");
  const double pool = pool_share(stats);
  if (stage.on_pool && pool > own + 0.05)
    words += "; the pool of " + number_of(stats.threads, "thread") + " " + percent(pool);
  return words;
}

const stage_stats* under_most_pressure(const run_stats& stats) {
  const auto most =
      std::ranges::max_element(stats.stages, {}, [&](const stage_stats& each) { return pressure(stats, each); });
  return most == stats.stages.end() ? nullptr : &*most;
}

std::optional<verdict> a_stage(const run_stats& stats) {
  const stage_stats* most = under_most_pressure(stats);
  if (most == nullptr || pressure(stats, *most) <= majority_of_time) return std::nullopt;
  return verdict{described(stats, *most), help_for(stats, *most)};
}

// No stage was busy, and no slot was used twice: only start and end of the run remain.
std::optional<verdict> hardly_more_text(const run_stats& stats) {
  if (stats.chunks > stats.slots || stats.counting.decoded.groups > 0) return std::nullopt;
  return verdict{"start-up: all of the text fits into the " + std::to_string(stats.slots) + " slots",
                 "more text in one run: all inputs of one run share its start-up"};
}

std::optional<verdict> too_few_slots(const run_stats& stats) {
  const double waiting = share_of_run(stats, stats.slot_waiting_seconds);
  if (waiting <= 0.3) return std::nullopt;
  return verdict{"slots: reading waited for a free one " + percent(waiting) +
                     " of the time, and no stage was busy more than half of it",
                 "more --slots (there were " + std::to_string(stats.slots) + ")"};
}

verdict nothing_in_particular(const run_stats& stats) {
  const stage_stats* most = under_most_pressure(stats);
  std::string words = "no single stage";
  if (most != nullptr) words += ": the busiest is " + described(stats, *most);
  return {words, "an idle machine: the remaining time is synchronization and waiting for a core"};
}

// In the order of evaluation: the first rule with a result decides.
constexpr std::array rules = {no_text,         slow_consumer, slow_source,      device_start, many_small_inputs,
                              too_little_text, a_stage,       hardly_more_text, too_few_slots};

}  // namespace

verdict judge(const run_stats& stats) {
  std::optional<verdict> found;
  for (const auto& rule : rules) {
    found = rule(stats);
    if (found) break;
  }
  if (!found) found = nothing_in_particular(stats);
  if (stats.stopped) {
    found->limited_by = "being stopped after " + fixed(stats.seconds, 3) + " s; until then " + found->limited_by;
  }
  return *found;
}

}  // namespace gpuhist::pipeline
