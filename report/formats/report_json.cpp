#include "report/formats/report_json.hpp"

#include "config/scheme.hpp"
#include "report/formats/report_changes.hpp"
#include "report/formats/report_groups.hpp"
#include "report/formats/text.hpp"
#include "report/measures/pair_measures.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view result_schema = "gpuhist.result/1";

json surprising_as_json(const pipeline::scheme_view& view, const pipeline::pair_matrix& pairs) {
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

json pairs_as_json(const pipeline::scheme_view& view, const gpu::tally& counts) {
  const pipeline::pair_matrix pairs = view.fold_pairs(counts);
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

// "lines", "buckets" and, for a result with `byte_counts`, the 256 counts.
void add_counts(member_writer& to, const run_report& content, const gpu::tally& counts) {
  to.add_number("lines", pipeline::lines_in(counts, content.partition));
  add_buckets(to, content, counts);
  if (content.byte_counts && content.type == run_report::kind::result) add_byte_counts(to, content, counts);
  json pairs = json::object();  // not by pairs[...][...]: a null that fails to become an object cannot be destroyed
  for (const pipeline::scheme_view& view : content.schemes) {
    if (view.has_pairs()) pairs[view.scheme.name] = pairs_as_json(view, counts);
  }
  if (!pairs.empty()) to.add_json("pairs", pairs);
}

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

// The object "measures": name -> value, sample_size and, if they apply, reason and baseline_size.
json measures_as_json(const std::vector<measures::measurement>& measurements) {
  json out = json::object();
  for (const measures::measurement& each : measurements)
    out[std::string(each.definition->name)] = measurement_as_json(each);
  return out;
}

void add_utf8_report(member_writer& to, const std::optional<pipeline::utf8_report>& found) {
  if (!found) return;
  json out = json::object();
  for (const pipeline::utf8_number& each : pipeline::utf8_numbers)
    out[std::string(each.name)] = found->counts.*each.value;
  if (found->first_malformed) out["first_malformed"] = *found->first_malformed;
  if (found->first_malformed_line) out["first_malformed_line"] = *found->first_malformed_line;
  json scripts = json::object();
  for (std::size_t i = 0; i < found->counts.scripts.size(); ++i) {
    scripts[std::string(gpu::host::script_names()[i])] = found->counts.scripts[i];
  }
  out["scripts"] = std::move(scripts);
  to.add_json("utf8", out);
}

void add_all_counts(member_writer& to, std::string_view name, const run_report& content, const gpu::tally& counts) {
  to.open(name);
  to.add_number("bytes", counts.bytes());
  add_counts(to, content, counts);
  to.close();
}

// Units.

// Follows other members.
void append_place(std::string& to, const units::unit_place& place) {
  to += R"(,"unit":)";
  append_number(to, place.number);
  if (place.line > 0) {
    to += R"(,"line":)";
    append_number(to, place.line);
  }
  to += R"(,"offset":)";
  append_number(to, place.offset);
}

// `typed`: the name of the condition or step.
json rules_as_json(const std::vector<units::rule_result>& rules, const char* typed,
                   std::span<const units::rule_number> numbers) {
  json all = json::array();
  for (const units::rule_result& each : rules) {
    json one{{"name", each.name}, {typed, each.condition}};
    for (const units::rule_number& number : numbers) one[std::string(number.name)] = each.found.*number.value;
    all.push_back(std::move(one));
  }
  return all;
}

// What follows the place.
void add_measured(member_writer& to, const run_report& frame, const units::unit_record& found) {
  to.add_flag("verified", found.verified);
  to.open("values");
  for (const gates::named_value& each : found.values) {
    each.value ? to.add_number(each.name, *each.value) : to.add_json(each.name, nullptr);
  }
  to.close();
  if (found.rules) to.add_json("rules", json(*found.rules));
  if (frame.ignore_case) to.add_flag("ignore_case", true);
  to.add_number("bytes", found.place.bytes);
  if (found.text) {
    to.add_text("text", *found.text);
    if (!is_utf8(*found.text)) to.add_text("text_base64", base64(*found.text));
  }
  if (found.field && !found.field->bytes) {
    if (!found.field->cause.empty()) to.add_text("without_field", found.field->cause);
    return;
  }
  if (found.field) to.add_number("field_bytes", *found.field->bytes);
  add_counts(to, frame, found.counts);
  if (frame.measuring.asked.empty()) return;
  to.add_json("measures",
              measures_as_json(measures::take_measures(frame.measuring, measures::counts_of(found.counts))));
}

class unit_json_form final : public units::unit_renderer {
 public:
  unit_json_form(const run_report& frame, std::string_view run) : frame_(frame) {
    member_writer first(beginning_, member_writer::position::first);
    add_beginning(first, "unit", run);
  }

  [[nodiscard]] std::string beginning_of(const std::string& input) const override {
    std::string made = beginning_;
    member_writer to(made, member_writer::position::later);
    add_name(to, input);
    return made;
  }

  void add_place(const units::unit_place& place, std::string& to) const override { append_place(to, place); }

  void add_end(const units::unit_record& found, std::string& to) const override {
    member_writer members(to, member_writer::position::later);
    add_measured(members, frame_, found);
    to += "}\n";
  }

 private:
  const run_report& frame_;
  std::string beginning_{"{"};
};

json top_as_json(const run_report& content, const units::unit_result& found) {
  json all = json::array();
  for (const units::ranked_unit& each : found.top) {
    std::string text = "{";
    member_writer one(text, member_writer::position::first);
    one.add_number("value", each.value);
    add_name(one, *each.unit.input);
    append_place(text, each.unit.place);
    add_measured(one, content, each.unit);
    all.push_back(json::parse(text + "}"));
  }
  return all;
}

void add_distribution(member_writer& to, const units::unit_result& found) {
  const units::distribution& values = found.values;
  units::value_summary summary = values.summary({});
  summary.quantiles = found.quantiles;
  json bins = json::array();
  for (const units::distribution_bin& each : values.bins()) {
    bins.push_back({{"from", json_number(each.from)}, {"to", json_number(each.to)}, {"units", each.units}});
  }
  to.open("distribution");
  add_values(to, summary);
  if (values.known() > 0) {
    to.add_number("lowest", values.lowest());
    to.add_number("highest", values.highest());
  }
  to.add_json("bins", bins);
  to.close();
}

void add_units(member_writer& to, const run_report& content, const units::unit_result& found) {
  to.open("units");
  to.add_text("each", found.each);
  for (const units::unit_number* const each : units::unit_numbers_in_json) {
    if (!each->is_in(found)) continue;
    if (each->option != nullptr) to.add_text(each->option_name, *(found.*each->option));
    to.add_number(each->name, found.totals.*each->units);
    if (each->bytes != nullptr) to.add_number(each->bytes_name, found.totals.*each->bytes);
  }
  if (!found.rules.empty()) to.add_json("rules", rules_as_json(found.rules, "condition", units::rule_numbers));
  if (!found.steps.empty()) to.add_json("rewrite", rules_as_json(found.steps, "step", units::step_numbers));
  if (found.ranked_by) {
    to.add_text("top_by", *found.ranked_by);
    to.add_json("top", top_as_json(content, found));
  }
  if (found.distribution_of) {
    to.add_text("distribution_of", *found.distribution_of);
    add_distribution(to, found);
  }
  to.close();
}

// Totals and inputs.

json lost_as_json(const pipeline::input_report& input) {
  json all = json::array();
  for (const pipeline::lost_range& each : input.lost_ranges) {
    all.push_back({{"compressed_begin", each.compressed_begin},
                   {"compressed_end", each.compressed_end},
                   {"text_offset", each.text_offset},
                   {"unverified_bytes", each.unverified_bytes},
                   {"error", each.cause},
                   {"error_kind", io::name_of(each.kind)}});
  }
  return all;
}

void add_notices(member_writer& to, const pipeline::input_report& input) {
  json all = json::array();
  for (const io::notice& each : input.notices) {
    all.push_back({{"kind", io::name_of(each.kind)}, {"text", each.text}});
    if (each.kind == io::notice_kind::no_end_marker) to.add_flag("end_marker", false);
  }
  if (!all.empty()) to.add_json("notices", all);
}

// Of the schemes that are not built in: a name does not determine their members.
json members_as_json(const run_report& content) {
  const std::vector<std::string_view> built_in = config::scheme_names();
  json all = json::object();
  for (const pipeline::scheme_view& each : content.schemes) {
    if (std::ranges::find(built_in, each.scheme.name) != built_in.end()) continue;
    all[each.scheme.name] = hash_of_members(each.scheme);
  }
  return all;
}

json skipped_as_json(const run_report& content) {
  json all = json::object();
  for (const pipeline::skipped_names& each : content.skipped) all[std::string(cause_of(each))] = each.count;
  return all;
}

json skipped_bytes_as_json(const run_report& content) {
  json all = json::object();
  for (const pipeline::skipped_names& each : content.skipped) {
    if (each.bytes > 0) all[std::string(cause_of(each))] = each.bytes;
  }
  return all;
}

void add_start(member_writer& to, const run_report& content, std::string_view kind, std::string_view run) {
  add_beginning(to, kind, run);
  if (content.type == run_report::kind::result) {
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

void add_input(member_writer& to, const run_report& content, const pipeline::input_report& input) {
  add_name(to, input.name);
  to.add_text("format", input.format);
  to.add_number("bytes", input.verified.bytes());
  if (input.compressed_bytes) to.add_number("compressed_bytes", *input.compressed_bytes);
  to.add_flag("complete", input.complete);
  if (!input.error.empty()) to.add_text("error", input.error);
  if (input.error_kind != io::failure_kind::none) to.add_text("error_kind", io::name_of(input.error_kind));
  if (input.number_of_lost_ranges > 0) {
    to.add_number("lost_stretches", input.number_of_lost_ranges);
    to.add_json("lost", lost_as_json(input));
  }
  add_notices(to, input);
  add_counts(to, content, input.verified);
  add_measures(to, content, input.verified);
  add_utf8_report(to, input.utf8);
  add_matches(to, content, input);
  if (input.unverified.bytes() > 0) add_all_counts(to, "unverified", content, input.unverified);
  if (input.counted_unverified) to.add_flag("counted_unverified", true);
}

std::string prefix_text(const run_report& /*content*/, const pipeline::input_report& input) {
  object_text out;
  add_name(out.members, input.name);
  out.members.add_text("format", input.format);
  out.members.add_number("prefix_bytes", input.verified.bytes() + input.unverified.bytes());
  out.members.add_number("bytes", input.verified.bytes());
  out.members.add_number("provisional_bytes", input.unverified.bytes());
  return out.take();
}

std::string input_text(const run_report& content, const pipeline::input_report& input) {
  object_text out;
  add_input(out.members, content, input);
  return out.take();
}

// Writes the member "inputs" after others: a list whose elements `text_of_input` makes.
void write_inputs(const run_report& content,
                  std::string (*text_of_input)(const run_report&, const pipeline::input_report&),
                  const text_sink& out) {
  out(R"(,"inputs":[)");
  bool first = true;
  for (const pipeline::input_report& each : content.inputs) {
    out((std::exchange(first, false) ? "" : ",") + text_of_input(content, each));
  }
  out("]");
}

// Writes a snapshot with the prefixes of its inputs: one line.
void write_snapshot(const run_report& content, std::string_view run, const text_sink& out) {
  object_text before;
  add_start(before.members, content, "snapshot", run);
  add_all_counts(before.members, "provisional", content, content.unverified);
  if (content.units) add_units(before.members, content, *content.units);
  if (content.units && content.units->groups) add_groups(before.members, content, *content.units->groups);
  out(before.text);
  write_inputs(content, prefix_text, out);
  out("}\n");
}

// Statistics.

json timeline_of(const gpu::device_timeline& timeline) {
  return {{"span_seconds", timeline.span_seconds},
          {"copy_busy_seconds", timeline.copy_busy_seconds},
          {"kernel_busy_seconds", timeline.kernel_busy_seconds},
          {"overlap_seconds", timeline.overlap_seconds}};
}

json decoded_of(const gpu::frame_decoder_stats& decoded) {
  return {{"groups", decoded.groups},
          {"frames", decoded.frames},
          {"compressed_bytes", decoded.compressed_bytes},
          {"text_bytes", decoded.text_bytes},
          {"rejected_groups", decoded.rejected_groups},
          {"busy_seconds", decoded.busy_seconds}};
}

json engine_of(const pipeline::run_stats& stats) {
  const gpu::engine_stats& counting = stats.counting;
  json out = {{"name", stats.engine}};
  if (!stats.engine_reason.empty()) out["reason"] = stats.engine_reason;
  out["kernel"] = counting.kernel;
  if (!counting.device.empty()) out["device"] = counting.device;
  out["workers"] = counting.workers;
  out["startup_seconds"] = counting.startup_seconds;
  out["jobs"] = counting.jobs;
  out["bytes"] = counting.bytes;
  if (!counting.device.empty()) out["device_bytes"] = counting.device_bytes;
  out["busy_seconds"] = counting.busy_seconds;
  if (const auto& timeline = counting.timeline) out["timeline"] = timeline_of(*timeline);
  if (counting.decoded.lanes > 0) out["decoded_on_device"] = decoded_of(counting.decoded);
  if (!counting.warning.empty()) out["warning"] = counting.warning;
  return out;
}

json partition_of(const pipeline::run_stats& stats) {
  return {{"classes", stats.classes}, {"counted_classes", stats.counted_classes}, {"schemes", stats.schemes}};
}

json reading_of(const pipeline::run_stats& stats) {
  json manners = json::array();
  for (const pipeline::input_manner& each : stats.reading)
    manners.push_back({{"how", each.description}, {"inputs", each.inputs}});
  return {{"inputs", stats.inputs},
          {"manners", std::move(manners)},
          {"most_in_flight", stats.max_in_flight},
          {"disk_bytes", stats.disk_bytes}};
}

json stages_of(const pipeline::run_stats& stats) {
  json stages = json::array();
  for (const pipeline::stage_stats& stage : stats.stages) {
    stages.push_back({{"name", stage.name},
                      {"bytes", stage.bytes},
                      {"busy_seconds", stage.busy_seconds},
                      {"waiting_seconds", stage.waiting_seconds},
                      {"workers", stage.workers},
                      {"busy_share", pipeline::busy_share(stage, stats.seconds)}});
  }
  return stages;
}

json slots_of(const pipeline::run_stats& stats) {
  const pipeline::slot_history& history = stats.slots_over_time;
  return {{"waiting_seconds", stats.slot_waiting_seconds},
          {"free_share", history.free_share},
          {"filling_share", history.filling_share},
          {"counting_share", history.counting_share},
          {"none_free_share", history.none_free_share},
          {"step_seconds", history.step_seconds},
          {"in_use", history.in_use}};
}

json stats_as_json(const pipeline::run_stats& stats) {
  return {{"seconds", stats.seconds},
          {"bytes", stats.bytes},
          {"chunks", stats.chunks},
          {"threads", stats.threads},
          {"threads_planned", std::max(stats.threads, stats.threads_planned)},
          {"cores", stats.cores},
          {"slots", stats.slots},
          {"slot_bytes", stats.slot_bytes},
          {"engine", engine_of(stats)},
          {"partition", partition_of(stats)},
          {"reading", reading_of(stats)},
          {"decompression", stats.decompression},
          {"stages", stages_of(stats)},
          {"slots_over_time", slots_of(stats)},
          {"memory", {{"peak_bytes", stats.peak_memory}, {"limit_bytes", stats.memory_limit}}},
          {"stopped", stats.stopped},
          {"limited_by", stats.limited_by},
          {"would_help", stats.would_help}};
}

std::string last_line_of(const run_report& content, std::string_view run) {
  object_text out;
  add_totals(out.members, content, run);
  out.members.add_number("input_count", std::uint64_t{content.earlier_inputs + content.inputs.size()});
  if (content.stats) out.members.add_json("stats", stats_as_json(*content.stats));
  return out.take() + "\n";
}

// Windows.

void add_source(member_writer& to, const std::string& key, const pipeline::source_name& name) {
  if (!name) return;
  to.add_text(key, *name);
  if (!is_utf8(*name)) to.add_text(key + "_base64", base64(*name));
}

}  // namespace

void add_buckets(member_writer& to, const run_report& content, const gpu::tally& counts) {
  to.open("buckets");
  for (const pipeline::scheme_view& view : content.schemes) {
    to.open(view.scheme.name);
    const std::vector<std::uint64_t> folded = view.fold(counts);
    for (std::size_t i = 0; i < folded.size(); ++i) to.add_number(view.scheme.buckets[i], folded[i]);
    to.close();
  }
  to.close();
}

void add_byte_counts(member_writer& to, const run_report& content, const gpu::tally& counts) {
  std::array<std::uint64_t, 256> all{};
  if (!counts.counts.empty()) {
    std::ranges::transform(content.partition.class_of, all.begin(),
                           [&](std::uint8_t byte_class) { return counts.counts[byte_class]; });
  }
  to.add_numbers("byte_counts", all);
}

void add_measures(member_writer& to, const run_report& content, const gpu::tally& counts,
                  const measures::byte_counts* baseline) {
  if (content.measuring.asked.empty()) return;
  to.add_json("measures",
              measures_as_json(measures::take_measures(content.measuring, measures::counts_of(counts), baseline)));
}

void add_name(member_writer& to, const std::string& name) {
  to.add_text("name", name);
  if (!is_utf8(name)) to.add_text("name_base64", base64(name));
}

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

void add_totals(member_writer& to, const run_report& content, std::string_view run) {
  add_start(to, content, "result", run);
  if (const json members = members_as_json(content); !members.empty()) to.add_json("scheme_members", members);
  if (content.unverified.bytes() > 0) add_all_counts(to, "unverified", content, content.unverified);
  if (content.counted_unverified) to.add_flag("counted_unverified", true);
  if (content.units) add_units(to, content, *content.units);
  if (content.units && content.units->groups) add_groups(to, content, *content.units->groups);
  if (content.units && content.units->changes) add_changes(to, content, *content.units->changes);
  if (const std::uint64_t skipped = skipped_in_all(content); skipped > 0) {
    to.add_number("skipped", skipped);
    to.add_json("skipped_by_cause", skipped_as_json(content));
    if (const json bytes = skipped_bytes_as_json(content); !bytes.empty()) to.add_json("skipped_bytes_by_cause", bytes);
  }
}

json state_as_json(const io::file_state& state) {
  json out{{"bytes", state.bytes}, {"modified", state.modified}};
  if (!state.fingerprint.empty()) out["fingerprint"] = state.fingerprint;
  return out;
}

std::string as_line(const json& object) { return text_of(object) + "\n"; }

std::unique_ptr<const units::unit_renderer> unit_json_lines(const run_report& frame, std::string_view run) {
  return std::make_unique<const unit_json_form>(frame, run);
}

std::string iso_8601(pipeline::window_time time) {
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

std::string window_line(const run_report& frame, std::string_view run, const pipeline::closed_window& window,
                        const measures::byte_counts* baseline, window_times times) {
  const pipeline::window_head& head = window.head;
  object_text line;
  member_writer& out = line.members;
  add_beginning(out, "window", run);
  out.add_number("index", head.index);
  add_source(out, "source", head.source);
  add_source(out, "last_source", head.last_source);
  out.add_number("first_offset", head.first_offset);
  out.add_number("end_offset", head.end_offset);
  if (times == window_times::shown) {
    out.add_text("start_time", iso_8601(head.start));
    out.add_text("end_time", iso_8601(head.end));
  }
  out.add_text("closed_by", pipeline::name_of(head.end_reason));
  out.add_flag("complete", head.end_reason != pipeline::window_end::error);
  if (!head.error.empty()) out.add_text("error", head.error);
  out.add_flag("verified", head.verified);
  if (frame.ignore_case) out.add_flag("ignore_case", true);
  out.add_number("bytes", window.counts.bytes());
  add_counts(out, frame, window.counts);
  add_measures(out, frame, window.counts, baseline);
  add_matches(out, frame, window.observed);
  return line.take() + "\n";
}

std::string verdict_line(std::string_view run, const pipeline::window_verdict& verdict,
                         const pipeline::source_name& source) {
  object_text out;
  add_beginning(out.members, "verdict", run);
  add_source(out.members, "source", source);
  out.members.add_number("first_index", verdict.first);
  out.members.add_number("last_index", verdict.last);
  out.members.add_flag("verified", verdict.verified);
  return out.take() + "\n";
}

void render_json(const run_report& content, const render_target& /*target*/, const text_sink& out) {
  if (content.type == run_report::kind::snapshot) return write_snapshot(content, {}, out);
  object_text before;
  add_totals(before.members, content, {});
  out(before.text);
  write_inputs(content, input_text, out);
  if (content.stats) out(R"(,"stats":)" + text_of(stats_as_json(*content.stats)));
  out("}\n");
}

// A line may be read alone, so it has every field that its counts depend on.
std::string input_json_line(const run_report& frame, std::string_view run, const pipeline::input_report& input) {
  object_text out;
  add_beginning(out.members, "input", run);
  if (!frame.counted_with.empty()) out.members.add_json_text("counted_with", frame.counted_with);
  if (const auto state = frame.state_of ? frame.state_of(input.name) : std::nullopt)
    out.members.add_json("file", state_as_json(*state));
  if (frame.ignore_case) out.members.add_flag("ignore_case", true);
  add_input(out.members, frame, input);
  return out.take() + "\n";
}

void render_jsonl(const run_report& content, const render_target& target, const text_sink& out) {
  if (content.type == run_report::kind::snapshot) return write_snapshot(content, target.run, out);
  if (!target.inputs_are_written) {
    for (const pipeline::input_report& each : content.inputs) out(input_json_line(content, target.run, each));
  }
  out(last_line_of(content, target.run));
}

}  // namespace gpuhist::report
