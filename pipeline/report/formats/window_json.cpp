#include "pipeline/report/formats/window_json.hpp"

#include "pipeline/report/formats/report_json_parts.hpp"
#include "pipeline/report/formats/text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

void add_source(json& to, const std::string& key, const source_name& name) {
  if (!name) return;
  to[key] = *name;
  if (!is_utf8(*name)) to[key + "_base64"] = base64(*name);
}

}  // namespace

std::string iso_8601(window_time time) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(time);
  const std::time_t since_epoch = system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&since_epoch, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const auto rest = static_cast<long>(duration_cast<microseconds>(time - whole).count());
  std::array<char, 32> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06ldZ", rest);
  return std::string(text.data(), size) + fraction.data();
}

std::string window_line(const report& frame, std::string_view run, const closed_window& window,
                        const measures::byte_counts* baseline) {
  const window_head& head = window.head;
  json out = beginning_of("window", run);
  out["index"] = head.index;
  add_source(out, "source", head.source);
  add_source(out, "last_source", head.last_source);
  out["first_offset"] = head.first_offset;
  out["end_offset"] = head.end_offset;
  if (!run.empty()) {
    out["start_time"] = iso_8601(head.start);
    out["end_time"] = iso_8601(head.end);
  }
  out["closed_by"] = name_of(head.end_reason);
  out["complete"] = head.end_reason != window_end::error;
  if (!head.error.empty()) out["error"] = head.error;
  out["verified"] = head.verified;
  if (frame.ignore_case) out["ignore_case"] = true;
  out["bytes"] = window.counts.bytes();
  add_counts(out, frame, window.counts);
  if (!frame.measuring.asked.empty()) {
    out["measures"] =
        measures_as_json(measures::take_measures(frame.measuring, measures::counts_of(window.counts), baseline));
  }
  return as_line(out);
}

std::string verdict_line(std::string_view run, const window_verdict& verdict, const source_name& source) {
  json out = beginning_of("verdict", run);
  add_source(out, "source", source);
  out["first_index"] = verdict.first;
  out["last_index"] = verdict.last;
  out["verified"] = verdict.verified;
  return as_line(out);
}

}  // namespace gpuhist::pipeline
