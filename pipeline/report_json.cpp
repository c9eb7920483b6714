// The report as one line of JSON, schema gpuhist.result/1.
#include "pipeline/report.hpp"
#include "pipeline/report_json_stats.hpp"
#include "pipeline/text.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>

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

/// Adds "lines" and "buckets".
void add_counts(json& to, const report& what, const gpu::tally& counts) {
  to["lines"] = lines_in(counts, what.partition);
  to["buckets"] = buckets_of(what, counts);
}

json counts_of(const report& what, const gpu::tally& counts) {
  json out = {{"bytes", counts.bytes()}};
  add_counts(out, what, counts);
  return out;
}

json byte_counts_of(const report& what) {
  json all = json::array();
  for (const std::uint8_t byte_class : what.partition.class_of) {
    all.push_back(what.verified.counts.empty() ? 0 : what.verified.counts[byte_class]);
  }
  return all;
}

json named(const std::string& name) {
  json out = {{"name", name}};
  if (!is_utf8(name)) out["name_base64"] = base64(name);
  return out;
}

json input_of(const report& what, const input_report& input) {
  json out = named(input.name);
  out["format"] = input.format;
  out["bytes"] = input.verified.bytes();
  if (input.compressed_bytes) out["compressed_bytes"] = *input.compressed_bytes;
  out["complete"] = input.complete;
  if (!input.error.empty()) out["error"] = input.error;
  add_counts(out, what, input.verified);
  if (input.unverified.bytes() > 0) out["unverified"] = counts_of(what, input.unverified);
  return out;
}

json prefix_of(const input_report& input) {
  json out = named(input.name);
  out["format"] = input.format;
  out["prefix_bytes"] = input.verified.bytes() + input.unverified.bytes();
  out["bytes"] = input.verified.bytes();
  out["provisional_bytes"] = input.unverified.bytes();
  return out;
}

json start_of(const report& what, std::string_view kind) {
  json out = {{"kind", kind}, {"schema", "gpuhist.result/1"}};
  if (what.what == report::kind::result) {
    out["complete"] = what.complete;
  } else {
    out["elapsed_seconds"] = what.elapsed_seconds;
  }
  out["bytes"] = what.verified.bytes();
  add_counts(out, what, what.verified);
  return out;
}

json result_of(const report& what) {
  json out = start_of(what, "result");
  if (what.byte_counts) out["byte_counts"] = byte_counts_of(what);
  if (what.unverified.bytes() > 0) out["unverified"] = counts_of(what, what.unverified);
  json inputs = json::array();
  for (const input_report& each : what.inputs) inputs.push_back(input_of(what, each));
  out["inputs"] = std::move(inputs);
  if (what.stats) out["stats"] = stats_as_json(*what.stats);
  return out;
}

json snapshot_of(const report& what) {
  json out = start_of(what, "snapshot");
  out["provisional"] = counts_of(what, what.unverified);
  json inputs = json::array();
  for (const input_report& each : what.inputs) inputs.push_back(prefix_of(each));
  out["inputs"] = std::move(inputs);
  return out;
}

}  // namespace

std::string render_json(const report& what, const render_target& /*target*/) {
  const json out = what.what == report::kind::result ? result_of(what) : snapshot_of(what);
  // names and errors may hold any bytes: what is not UTF-8 becomes U+FFFD, and `name_base64` has the truth
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace gpuhist::pipeline
