#include "pipeline/report/formats/report_json_parts.hpp"

#include "pipeline/report/formats/report_measures.hpp"
#include "pipeline/report/formats/text.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

json buckets_of(const report& what, const gpu::tally& counts) {
  json all = json::object();
  for (const scheme_view& view : what.schemes) {
    json one = json::object();
    const std::vector<std::uint64_t> folded = view.fold(counts);
    for (std::size_t i = 0; i < folded.size(); ++i) one[view.scheme.buckets[i]] = folded[i];
    all[view.scheme.name] = std::move(one);
  }
  return all;
}

json byte_counts_of(const report& what, const gpu::tally& counts) {
  json all = json::array();
  for (const std::uint8_t byte_class : what.partition.class_of) {
    all.push_back(counts.counts.empty() ? 0 : counts.counts[byte_class]);
  }
  return all;
}

std::string text_of(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

void add_counts(json& to, const report& what, const gpu::tally& counts) {
  to["lines"] = lines_in(counts, what.partition);
  to["buckets"] = buckets_of(what, counts);
  if (what.byte_counts && what.what == report::kind::result) to["byte_counts"] = byte_counts_of(what, counts);
}

namespace {

json measurement_as_json(const measures::measurement& taken) {
  json out = json::object();
  if (taken.found.value) {
    out["value"] = json_number(*taken.found.value);
  } else {
    out["value"] = nullptr;
    out["reason"] = taken.found.reason;
  }
  out["sample_size"] = taken.sample_size;
  if (taken.baseline_size) out["baseline_size"] = *taken.baseline_size;
  return out;
}

void add_measures(json& to, const report& what, const gpu::tally& counts) {
  if (what.measuring.asked.empty()) return;
  to["measures"] = measures_as_json(measurements_of(what, counts));
}

json counts_of(const report& what, const gpu::tally& counts) {
  json out = {{"bytes", counts.bytes()}};
  add_counts(out, what, counts);
  return out;
}

json named(const std::string& name) {
  json out = {{"name", name}};
  if (!is_utf8(name)) out["name_base64"] = base64(name);
  return out;
}

json prefix_of(const report& /*what*/, const input_report& input) {
  json out = named(input.name);
  out["format"] = input.format;
  out["prefix_bytes"] = input.verified.bytes() + input.unverified.bytes();
  out["bytes"] = input.verified.bytes();
  out["provisional_bytes"] = input.unverified.bytes();
  return out;
}

json lost_as_json(const input_report& input) {
  json all = json::array();
  for (const lost_range& each : input.lost_ranges) {
    all.push_back({{"compressed_begin", each.compressed_begin},
                   {"compressed_end", each.compressed_end},
                   {"text_offset", each.text_offset},
                   {"unverified_bytes", each.unverified_bytes},
                   {"error", each.cause}});
  }
  return all;
}

json skipped_as_json(const report& what) {
  json all = json::object();
  for (const skipped_names& each : what.skipped) all[std::string(cause_of(each))] = each.count;
  return all;
}

json skipped_bytes_as_json(const report& what) {
  json all = json::object();
  for (const skipped_names& each : what.skipped) {
    if (each.bytes > 0) all[std::string(cause_of(each))] = each.bytes;
  }
  return all;
}

json start_of(const report& what, std::string_view kind, std::string_view run) {
  json out = beginning_of(kind, run);
  if (what.what == report::kind::result) {
    out["complete"] = what.complete;
  } else {
    out["elapsed_seconds"] = what.elapsed_seconds;
  }
  if (what.ignore_case) out["ignore_case"] = true;
  out["bytes"] = what.verified.bytes();
  add_counts(out, what, what.verified);
  add_measures(out, what, what.verified);
  return out;
}

}  // namespace

json beginning_of(std::string_view kind, std::string_view run) {
  json out = {{"kind", kind}, {"schema", "gpuhist.result/1"}};
  if (!run.empty()) out["run"] = run;
  return out;
}

// A whole number as one: 3 lines are not 3.0.
json json_number(double value) {
  constexpr double exact_below = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < exact_below) return static_cast<std::int64_t>(value);
  return value;
}

json measures_as_json(const std::vector<measures::measurement>& taken) {
  json out = json::object();
  for (const measures::measurement& each : taken) out[std::string(each.what->name)] = measurement_as_json(each);
  return out;
}

json totals_as_json(const report& what, std::string_view run) {
  json out = start_of(what, "result", run);
  if (what.unverified.bytes() > 0) out["unverified"] = counts_of(what, what.unverified);
  if (what.counted_unverified) out["counted_unverified"] = true;
  if (const std::uint64_t skipped = skipped_in_all(what); skipped > 0) {
    out["skipped"] = skipped;
    out["skipped_by_cause"] = skipped_as_json(what);
    if (json held = skipped_bytes_as_json(what); !held.empty()) out["skipped_bytes_by_cause"] = std::move(held);
  }
  return out;
}

json input_as_json(const report& what, const input_report& input) {
  json out = named(input.name);
  out["format"] = input.format;
  out["bytes"] = input.verified.bytes();
  if (input.compressed_bytes) out["compressed_bytes"] = *input.compressed_bytes;
  out["complete"] = input.complete;
  if (!input.error.empty()) out["error"] = input.error;
  if (input.error_kind != failure_kind::none) out["error_kind"] = io::name_of(input.error_kind);
  if (input.number_of_lost_ranges > 0) {
    out["lost_stretches"] = input.number_of_lost_ranges;
    out["lost"] = lost_as_json(input);
  }
  add_counts(out, what, input.verified);
  add_measures(out, what, input.verified);
  if (input.unverified.bytes() > 0) out["unverified"] = counts_of(what, input.unverified);
  if (input.counted_unverified) out["counted_unverified"] = true;
  return out;
}

void write_with_inputs(const json& before, const report& what, json (*one)(const report&, const input_report&),
                       const json& behind, const text_sink& out) {
  std::string open = text_of(before);
  open.pop_back();  // the brace
  out(open + R"(,"inputs":[)");
  bool first = true;
  for (const input_report& each : what.inputs) {
    out((std::exchange(first, false) ? "" : ",") + text_of(one(what, each)));
  }
  const std::string rest = text_of(behind);
  out((behind.empty() ? "]" : "],") + rest.substr(1) + "\n");
}

void write_snapshot(const report& what, std::string_view run, const text_sink& out) {
  json before = start_of(what, "snapshot", run);
  before["provisional"] = counts_of(what, what.unverified);
  write_with_inputs(before, what, prefix_of, json::object(), out);
}

std::string as_line(const json& object) { return text_of(object) + "\n"; }

}  // namespace gpuhist::pipeline
