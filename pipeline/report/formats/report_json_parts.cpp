#include "pipeline/report/formats/report_json_parts.hpp"

#include "pipeline/report/formats/report_measures.hpp"
#include "pipeline/report/formats/text.hpp"
#include "pipeline/report/formats/unit_json.hpp"
#include "pipeline/report/measures/pair_measures.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

json buckets_of(const report& content, const gpu::tally& counts) {
  json all = json::object();
  for (const scheme_view& view : content.schemes) {
    json scheme = json::object();
    const std::vector<std::uint64_t> folded = view.fold(counts);
    for (std::size_t i = 0; i < folded.size(); ++i) scheme[view.scheme.buckets[i]] = folded[i];
    all[view.scheme.name] = std::move(scheme);
  }
  return all;
}

json byte_counts_of(const report& content, const gpu::tally& counts) {
  json all = json::array();
  for (const std::uint8_t byte_class : content.partition.class_of) {
    all.push_back(counts.counts.empty() ? 0 : counts.counts[byte_class]);
  }
  return all;
}

json surprising_as_json(const scheme_view& view, const pair_matrix& pairs) {
  json all = json::array();
  for (const measures::surprising_pair& each : measures::most_surprising(pairs)) {
    all.push_back({{"first", view.scheme.buckets[each.first]},
                   {"second", view.scheme.buckets[each.second]},
                   {"count", each.count},
                   {"expected", json_number(each.expected)},
                   {"bits", json_number(each.bits)}});
  }
  return all;
}

json pairs_as_json(const scheme_view& view, const gpu::tally& counts) {
  const pair_matrix pairs = view.fold_pairs(counts);
  json matrix = json::array();
  for (std::size_t first = 0; first < pairs.buckets; ++first) {
    json row = json::array();
    for (std::size_t second = 0; second < pairs.buckets; ++second) row.push_back(pairs.at(first, second));
    matrix.push_back(std::move(row));
  }
  json out = {{"buckets", view.scheme.buckets}, {"counts", std::move(matrix)}};
  const std::optional<double> bits = measures::conditional_entropy(pairs).value;
  out["conditional_entropy"] = bits ? json_number(*bits) : json(nullptr);
  out["surprising"] = surprising_as_json(view, pairs);
  return out;
}

}  // namespace

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

void add_counts(json& to, const report& content, const gpu::tally& counts) {
  to["lines"] = lines_in(counts, content.partition);
  to["buckets"] = buckets_of(content, counts);
  if (content.byte_counts && content.type == report::kind::result) to["byte_counts"] = byte_counts_of(content, counts);
  json pairs = json::object();  // not by to["pairs"][...]: a null that fails to become an object cannot be destroyed
  for (const scheme_view& view : content.schemes) {
    if (view.has_pairs()) pairs[view.scheme.name] = pairs_as_json(view, counts);
  }
  if (!pairs.empty()) to["pairs"] = std::move(pairs);
}

namespace {

json measurement_as_json(const measures::measurement& measured) {
  json out = json::object();
  if (measured.found.value) {
    out["value"] = json_number(*measured.found.value);
  } else {
    out["value"] = nullptr;
    out["reason"] = measured.found.reason;
  }
  out["sample_size"] = measured.sample_size;
  if (measured.baseline_size) out["baseline_size"] = *measured.baseline_size;
  return out;
}

void add_measures(json& to, const report& content, const gpu::tally& counts) {
  if (content.measuring.asked.empty()) return;
  to["measures"] = measures_as_json(measurements_of(content, counts));
}

void add_utf8_report(json& to, const std::optional<utf8_report>& found) {
  if (!found) return;
  json out = {{"malformed", found->counts.malformed},
              {"malformed_bytes", found->counts.malformed_bytes},
              {"code_points", found->counts.code_points}};
  if (found->first_malformed) out["first_malformed"] = *found->first_malformed;
  if (found->first_malformed_line) out["first_malformed_line"] = *found->first_malformed_line;
  json scripts = json::object();
  for (std::size_t i = 0; i < found->counts.scripts.size(); ++i) {
    scripts[std::string(gpu::host::script_names()[i])] = found->counts.scripts[i];
  }
  out["scripts"] = std::move(scripts);
  to["utf8"] = std::move(out);
}

json counts_of(const report& content, const gpu::tally& counts) {
  json out = {{"bytes", counts.bytes()}};
  add_counts(out, content, counts);
  return out;
}

json named(const std::string& name) {
  json out = {{"name", name}};
  if (!is_utf8(name)) out["name_base64"] = base64(name);
  return out;
}

json prefix_of(const report& /*content*/, const input_report& input) {
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

json skipped_as_json(const report& content) {
  json all = json::object();
  for (const skipped_names& each : content.skipped) all[std::string(cause_of(each))] = each.count;
  return all;
}

json skipped_bytes_as_json(const report& content) {
  json all = json::object();
  for (const skipped_names& each : content.skipped) {
    if (each.bytes > 0) all[std::string(cause_of(each))] = each.bytes;
  }
  return all;
}

json start_of(const report& content, std::string_view kind, std::string_view run) {
  json out = beginning_of(kind, run);
  if (content.type == report::kind::result) {
    out["complete"] = content.complete;
  } else {
    out["elapsed_seconds"] = content.elapsed_seconds;
  }
  if (content.ignore_case) out["ignore_case"] = true;
  out["bytes"] = content.verified.bytes();
  add_counts(out, content, content.verified);
  add_measures(out, content, content.verified);
  add_utf8_report(out, content.utf8);
  return out;
}

}  // namespace

json beginning_of(std::string_view kind, std::string_view run) {
  json out = {{"kind", kind}, {"schema", result_schema}};
  if (!run.empty()) out["run"] = run;
  return out;
}

// Whole numbers have no fraction: 3 instead of 3.0.
json json_number(double value) {
  constexpr double exact_below = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < exact_below) return static_cast<std::int64_t>(value);
  return value;
}

json measures_as_json(const std::vector<measures::measurement>& measurements) {
  json out = json::object();
  for (const measures::measurement& each : measurements)
    out[std::string(each.definition->name)] = measurement_as_json(each);
  return out;
}

json totals_as_json(const report& content, std::string_view run) {
  json out = start_of(content, "result", run);
  if (content.unverified.bytes() > 0) out["unverified"] = counts_of(content, content.unverified);
  if (content.counted_unverified) out["counted_unverified"] = true;
  if (content.units) out["units"] = units_as_json(content, *content.units);
  if (const std::uint64_t skipped = skipped_in_all(content); skipped > 0) {
    out["skipped"] = skipped;
    out["skipped_by_cause"] = skipped_as_json(content);
    if (json bytes = skipped_bytes_as_json(content); !bytes.empty()) out["skipped_bytes_by_cause"] = std::move(bytes);
  }
  return out;
}

json input_as_json(const report& content, const input_report& input) {
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
  add_counts(out, content, input.verified);
  add_measures(out, content, input.verified);
  add_utf8_report(out, input.utf8);
  if (input.unverified.bytes() > 0) out["unverified"] = counts_of(content, input.unverified);
  if (input.counted_unverified) out["counted_unverified"] = true;
  return out;
}

void write_with_inputs(const json& before, const report& content,
                       json (*input_to_json)(const report&, const input_report&), const json& after,
                       const text_sink& out) {
  std::string open = text_of(before);
  open.pop_back();  // the closing brace
  out(open + R"(,"inputs":[)");
  bool first = true;
  for (const input_report& each : content.inputs) {
    out((std::exchange(first, false) ? "" : ",") + text_of(input_to_json(content, each)));
  }
  const std::string rest = text_of(after);
  out((after.empty() ? "]" : "],") + rest.substr(1) + "\n");
}

void write_snapshot(const report& content, std::string_view run, const text_sink& out) {
  json before = start_of(content, "snapshot", run);
  before["provisional"] = counts_of(content, content.unverified);
  write_with_inputs(before, content, prefix_of, json::object(), out);
}

std::string as_line(const json& object) { return text_of(object) + "\n"; }

}  // namespace gpuhist::pipeline
