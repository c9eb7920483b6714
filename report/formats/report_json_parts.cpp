#include "report/formats/report_json_parts.hpp"

#include "config/scheme.hpp"
#include "report/formats/report_measures.hpp"
#include "report/formats/text.hpp"
#include "report/formats/unit_json.hpp"
#include "report/measures/pair_measures.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

void add_buckets(member_writer& to, const report& content, const gpu::tally& counts) {
  to.open("buckets");
  for (const scheme_view& view : content.schemes) {
    to.open(view.scheme.name);
    const std::vector<std::uint64_t> folded = view.fold(counts);
    for (std::size_t i = 0; i < folded.size(); ++i) to.add_number(view.scheme.buckets[i], folded[i]);
    to.close();
  }
  to.close();
}

void add_byte_counts(member_writer& to, const report& content, const gpu::tally& counts) {
  std::array<std::uint64_t, 256> all{};
  if (!counts.counts.empty()) {
    std::ranges::transform(content.partition.class_of, all.begin(),
                           [&](std::uint8_t byte_class) { return counts.counts[byte_class]; });
  }
  to.add_numbers("byte_counts", all);
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

void add_counts(member_writer& to, const report& content, const gpu::tally& counts) {
  to.add_number("lines", lines_in(counts, content.partition));
  add_buckets(to, content, counts);
  if (content.byte_counts && content.type == report::kind::result) add_byte_counts(to, content, counts);
  json pairs = json::object();  // not by pairs[...][...]: a null that fails to become an object cannot be destroyed
  for (const scheme_view& view : content.schemes) {
    if (view.has_pairs()) pairs[view.scheme.name] = pairs_as_json(view, counts);
  }
  if (!pairs.empty()) to.add_json("pairs", pairs);
}

void add_name(member_writer& to, const std::string& name) {
  to.add_text("name", name);
  if (!is_utf8(name)) to.add_text("name_base64", base64(name));
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

void add_measures(member_writer& to, const report& content, const gpu::tally& counts) {
  if (content.measuring.asked.empty()) return;
  to.add_json("measures", measures_as_json(measurements_of(content, counts)));
}

void add_utf8_report(member_writer& to, const std::optional<utf8_report>& found) {
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
  to.add_json("utf8", out);
}

void add_all_counts(member_writer& to, std::string_view name, const report& content, const gpu::tally& counts) {
  to.open(name);
  to.add_number("bytes", counts.bytes());
  add_counts(to, content, counts);
  to.close();
}

std::string prefix_text(const report& /*content*/, const input_report& input) {
  object_text out;
  add_name(out.members, input.name);
  out.members.add_text("format", input.format);
  out.members.add_number("prefix_bytes", input.verified.bytes() + input.unverified.bytes());
  out.members.add_number("bytes", input.verified.bytes());
  out.members.add_number("provisional_bytes", input.unverified.bytes());
  return out.take();
}

json lost_as_json(const input_report& input) {
  json all = json::array();
  for (const lost_range& each : input.lost_ranges) {
    all.push_back({{"compressed_begin", each.compressed_begin},
                   {"compressed_end", each.compressed_end},
                   {"text_offset", each.text_offset},
                   {"unverified_bytes", each.unverified_bytes},
                   {"error", each.cause},
                   {"error_kind", io::name_of(each.kind)}});
  }
  return all;
}

void add_notices(member_writer& to, const input_report& input) {
  json all = json::array();
  for (const io::notice& each : input.notices) {
    all.push_back({{"kind", io::name_of(each.kind)}, {"text", each.text}});
    if (each.kind == io::notice_kind::no_end_marker) to.add_flag("end_marker", false);
  }
  if (!all.empty()) to.add_json("notices", all);
}

// Of the schemes that are not built in: a name does not determine their members.
json members_as_json(const report& content) {
  const std::vector<std::string_view> built_in = config::scheme_names();
  json all = json::object();
  for (const scheme_view& each : content.schemes) {
    if (std::ranges::find(built_in, each.scheme.name) != built_in.end()) continue;
    all[each.scheme.name] = hash_of_members(each.scheme);
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

void add_start(member_writer& to, const report& content, std::string_view kind, std::string_view run) {
  add_beginning(to, kind, run);
  if (content.type == report::kind::result) {
    to.add_flag("complete", content.complete);
  } else {
    to.add_json("elapsed_seconds", content.elapsed_seconds);
  }
  if (content.ignore_case) to.add_flag("ignore_case", true);
  to.add_number("bytes", content.verified.bytes());
  add_counts(to, content, content.verified);
  add_measures(to, content, content.verified);
  add_utf8_report(to, content.utf8);
}

}  // namespace

void add_beginning(member_writer& to, std::string_view kind, std::string_view run) {
  to.add_text("kind", kind);
  to.add_text("schema", result_schema);
  if (!run.empty()) to.add_text("run", run);
}

std::string hash_of_members(const config::scheme& of) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const std::string& bucket : of.buckets) {
    for (const char each : bucket) add(static_cast<unsigned char>(each));
    add(0);
  }
  for (const std::uint16_t bucket : of.bucket_of) {
    add(bucket & 0xffU);
    add(bucket >> 8U);
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned shift = 64; shift > 0; shift -= 4) text += digits[(hash >> (shift - 4)) & 0xfU];
  return text;
}

json measures_as_json(const std::vector<measures::measurement>& measurements) {
  json out = json::object();
  for (const measures::measurement& each : measurements)
    out[std::string(each.definition->name)] = measurement_as_json(each);
  return out;
}

void add_totals(member_writer& to, const report& content, std::string_view run) {
  add_start(to, content, "result", run);
  if (const json members = members_as_json(content); !members.empty()) to.add_json("scheme_members", members);
  if (content.unverified.bytes() > 0) add_all_counts(to, "unverified", content, content.unverified);
  if (content.counted_unverified) to.add_flag("counted_unverified", true);
  if (content.units) to.add_json("units", units_as_json(content, *content.units));
  if (const std::uint64_t skipped = skipped_in_all(content); skipped > 0) {
    to.add_number("skipped", skipped);
    to.add_json("skipped_by_cause", skipped_as_json(content));
    if (const json bytes = skipped_bytes_as_json(content); !bytes.empty()) to.add_json("skipped_bytes_by_cause", bytes);
  }
}

void add_input(member_writer& to, const report& content, const input_report& input) {
  add_name(to, input.name);
  to.add_text("format", input.format);
  to.add_number("bytes", input.verified.bytes());
  if (input.compressed_bytes) to.add_number("compressed_bytes", *input.compressed_bytes);
  to.add_flag("complete", input.complete);
  if (!input.error.empty()) to.add_text("error", input.error);
  if (input.error_kind != failure_kind::none) to.add_text("error_kind", io::name_of(input.error_kind));
  if (input.number_of_lost_ranges > 0) {
    to.add_number("lost_stretches", input.number_of_lost_ranges);
    to.add_json("lost", lost_as_json(input));
  }
  add_notices(to, input);
  add_counts(to, content, input.verified);
  add_measures(to, content, input.verified);
  add_utf8_report(to, input.utf8);
  if (input.unverified.bytes() > 0) add_all_counts(to, "unverified", content, input.unverified);
  if (input.counted_unverified) to.add_flag("counted_unverified", true);
}

std::string input_text(const report& content, const input_report& input) {
  object_text out;
  add_input(out.members, content, input);
  return out.take();
}

std::string as_line(const json& object) { return text_of(object) + "\n"; }

void write_inputs(const report& content, std::string (*text_of_input)(const report&, const input_report&),
                  const text_sink& out) {
  out(R"(,"inputs":[)");
  bool first = true;
  for (const input_report& each : content.inputs) {
    out((std::exchange(first, false) ? "" : ",") + text_of_input(content, each));
  }
  out("]");
}

void write_snapshot(const report& content, std::string_view run, const text_sink& out) {
  object_text before;
  add_start(before.members, content, "snapshot", run);
  add_all_counts(before.members, "provisional", content, content.unverified);
  out(before.text);
  write_inputs(content, prefix_text, out);
  out("}\n");
}

}  // namespace gpuhist::pipeline
