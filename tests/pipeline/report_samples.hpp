// Sample reports made from texts, and helpers with which the tests of the report formats read what was rendered.
#pragma once

#include "config/scheme.hpp"
#include "report/formats/report.hpp"
#include "tests/support/texts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::test {

inline gpu::tally count(const report::run_report& shape, std::string_view text) {
  gpu::tally result(shape.partition.classes);
  for (const char c : text) ++result.counts[shape.partition.class_of[static_cast<unsigned char>(c)]];
  return result;
}

inline report::run_report empty_report(const std::vector<std::string>& schemes) {
  report::run_report result;
  std::vector<config::scheme> found;
  for (const std::string& each : schemes) found.push_back(config::find_scheme(each));
  result.partition = pipeline::coarsest_partition(found);
  for (const auto& each : found) result.schemes.push_back(pipeline::view_through(each, result.partition));
  result.verified = gpu::tally(result.partition.classes);
  result.unverified = gpu::tally(result.partition.classes);
  result.complete = true;
  return result;
}

inline void add_input(report::run_report& to, const std::string& name, std::string_view verified,
                      std::string_view unverified = "", const std::string& error = "") {
  pipeline::input_report input;
  input.name = name;
  input.format = "raw";
  input.complete = error.empty();
  input.error = error;
  if (!error.empty()) input.error_kind = pipeline::failure_kind::damaged;
  input.verified = count(to, verified);
  input.unverified = count(to, unverified);
  to.verified += input.verified;
  to.unverified += input.unverified;
  to.complete = to.complete && input.complete;
  to.inputs.push_back(std::move(input));
}

inline report::run_report report_of(const std::vector<std::string>& schemes, std::string_view text) {
  report::run_report result = empty_report(schemes);
  add_input(result, "input", text);
  return result;
}

inline pipeline::run_stats some_stats() {
  pipeline::run_stats stats;
  stats.engine = "host";
  stats.engine_reason = "no CUDA device";
  stats.counting.kernel = "ranges/AVX3";
  stats.counting.workers = 2;
  stats.classes = stats.counted_classes = 8;
  stats.schemes = {"letters", "classes"};
  stats.inputs = 3;
  stats.reading = {{"pread in ranges of 256 KiB by 2 threads", 2}, {"pipe of 1 MiB, straight into the slots", 1}};
  stats.max_in_flight = 6;
  stats.decompression = "not compressed";
  stats.stages = {{"read", 1000, 0.5, 0.25, 1}, {"count", 1000, 0.75, 0.125, 2}};
  stats.limited_by = "read: busy 50 % of the time";
  stats.would_help = "giving files by name";
  stats.slots_over_time = {.free_share = 0.625,
                           .filling_share = 0.125,
                           .counting_share = 0.25,
                           .none_free_share = 0.125,
                           .step_seconds = 0.25,
                           .in_use = {0, 0.5, 1, 0.25}};
  stats.peak_memory = std::uint64_t{14} << 20U;
  stats.memory_limit = std::uint64_t{1} << 30U;
  stats.seconds = 1.0;
  stats.threads = 2;
  stats.slots = 16;
  stats.slot_bytes = 262144;
  stats.chunks = 4;
  stats.bytes = 1000;
  return stats;
}

/// All that a format writes, in one text.
inline std::string rendered(report::renderer render, const report::run_report& shown,
                            const report::render_target& target = {}) {
  std::string text;
  render(shown, target, [&](std::string_view piece) { text += piece; });
  return text;
}

inline std::string render_table(const report::run_report& shown, const report::render_target& target) {
  return rendered(report::render_table, shown, target);
}
inline std::string render_json(const report::run_report& shown, const report::render_target& target) {
  return rendered(report::render_json, shown, target);
}
inline std::string render_jsonl(const report::run_report& shown, const report::render_target& target) {
  return rendered(report::render_jsonl, shown, target);
}
inline std::string render_csv(const report::run_report& shown, const report::render_target& target) {
  return rendered(report::render_csv, shown, target);
}
inline std::string render_prometheus(const report::run_report& shown, const report::render_target& target) {
  return rendered(report::render_prometheus, shown, target);
}

/// Changes one of the inputs.
template <typename Change>
void change_input(report::run_report& changed, std::size_t number, Change change) {
  pipeline::input_report input = changed.inputs[number];
  change(input);
  changed.inputs.replace(number, std::move(input));
}

/// The one line that begins with this.
inline std::string line_with(const std::string& text, const std::string& start) {
  std::string found;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with(start)) continue;
    CHECK(found.empty());
    found = line;
  }
  return found;
}

}  // namespace gpuhist::test
