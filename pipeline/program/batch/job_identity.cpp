#include "pipeline/program/batch/job_identity.hpp"

#include "pipeline/report/formats/report_json_parts.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* state_schema = "gpuhist.state/2";

constexpr std::array names_of_measures = {"bytes", "lines", "milliseconds"};
constexpr std::array names_of_units = {"line", "record", "bytes", "input", "window"};

// Only those that are given: jobs without units have the headers that they had before there were units.
void add_units(json& out, const config::options& from) {
  const auto extent = [](const config::window_extent& typed) {
    return json{names_of_measures.at(static_cast<std::size_t>(typed.unit)), typed.amount};
  };
  if (from.each) out["each"] = {names_of_units.at(static_cast<std::size_t>(from.each->type)), from.each->bytes};
  if (from.delimiter) out["delimiter"] = static_cast<unsigned char>(*from.delimiter);
  if (from.condition_of_units) out["where"] = *from.condition_of_units;
  if (!from.presets.empty()) out["preset"] = from.presets;
  if (from.top_units) out["top"] = {from.top_units->number, from.top_units->by};
  if (from.distribution_of) out["distribution-of"] = *from.distribution_of;
  if (from.jsonl_field) out["jsonl-field"] = *from.jsonl_field;
  if (from.window) out["window"] = extent(*from.window);
  if (from.step) out["step"] = extent(*from.step);
  if (from.per_input) out["per-input"] = true;
  if (from.baseline && std::holds_alternative<config::previous_windows>(*from.baseline)) {
    out["previous-windows"] = std::get<config::previous_windows>(*from.baseline).number;
  }
}

template <std::size_t Number>
std::size_t position_of(const std::string& name, const std::array<const char*, Number>& names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::invalid_argument("a name of another version");
  return static_cast<std::size_t>(found - names.begin());
}

config::window_extent extent_in(const json& from) {
  using measure = config::window_extent::measure;
  return {.unit = static_cast<measure>(position_of(from.at(0).get<std::string>(), names_of_measures)),
          .amount = from.at(1).get<std::uint64_t>()};
}

void take_units(const json& from, config::options& to) {
  if (from.contains("each")) {
    using kind = config::unit_extent::kind;
    to.each = {.type = static_cast<kind>(position_of(from["each"].at(0).get<std::string>(), names_of_units)),
               .bytes = from["each"].at(1).get<std::uint64_t>()};
  }
  if (from.contains("delimiter")) to.delimiter = static_cast<char>(from["delimiter"].get<unsigned char>());
  if (from.contains("where")) to.condition_of_units = from["where"].get<std::string>();
  if (from.contains("preset")) to.presets = from["preset"].get<std::vector<std::string>>();
  if (from.contains("top")) {
    to.top_units = {.number = from["top"].at(0).get<unsigned>(), .by = from["top"].at(1).get<std::string>()};
  }
  if (from.contains("distribution-of")) to.distribution_of = from["distribution-of"].get<std::string>();
  if (from.contains("jsonl-field")) to.jsonl_field = from["jsonl-field"].get<std::string>();
  if (from.contains("window")) to.window = extent_in(from["window"]);
  if (from.contains("step")) to.step = extent_in(from["step"]);
  to.per_input = from.contains("per-input");
  if (from.contains("previous-windows")) {
    to.baseline = config::previous_windows{.number = from["previous-windows"].get<unsigned>()};
  }
}

json options_as_json(const config::options& from) {
  json out{{"buckets", from.buckets},
           {"ignore-case", from.ignore_case},
           {"byte-counts", from.byte_counts},
           {"pairs", from.pairs},
           {"utf8", from.utf8},
           {"measures", from.measures},
           {"count-unverified", from.count_unverified},
           {"skip-damage", from.skip_damage},
           {"input-format", from.input_format},
           {"trust-names", from.trust_names}};
  if (from.max_output) out["max-output"] = *from.max_output;
  if (from.zstd_dictionary) out["zstd-dictionary"] = *from.zstd_dictionary;
  add_units(out, from);
  if (from.baseline && std::holds_alternative<std::string>(*from.baseline)) {
    out["baseline"] = std::get<std::string>(*from.baseline);
  }
  return out;
}

config::options options_in(const json& from) {
  config::options made;
  made.buckets = from.at("buckets").get<std::vector<std::string>>();
  made.ignore_case = from.at("ignore-case").get<bool>();
  made.byte_counts = from.at("byte-counts").get<bool>();
  made.pairs = from.at("pairs").get<bool>();
  made.utf8 = from.at("utf8").get<bool>();
  made.measures = from.at("measures").get<std::vector<std::string>>();
  made.count_unverified = from.at("count-unverified").get<bool>();
  made.skip_damage = from.at("skip-damage").get<bool>();
  made.input_format = from.at("input-format").get<std::string>();
  made.trust_names = from.at("trust-names").get<bool>();
  if (from.contains("max-output")) made.max_output = from.at("max-output").get<std::uint64_t>();
  if (from.contains("zstd-dictionary")) made.zstd_dictionary = from.at("zstd-dictionary").get<std::string>();
  if (from.contains("baseline")) made.baseline = from.at("baseline").get<std::string>();
  take_units(from, made);
  return made;
}

}  // namespace

job_identity identity_of(const config::options& typed, std::string manifest, config::shard_choice shard) {
  return {.manifest = std::move(manifest), .shard = shard, .options = options_in(options_as_json(typed))};
}

std::string header_of(const job_identity& job) {
  const json out{{"kind", "state"},
                 {"schema", state_schema},
                 {"manifest", job.manifest},
                 {"shard", {job.shard.number, job.shard.count}},
                 {"options", options_as_json(job.options)}};
  return text_of(out);
}

std::optional<job_identity> identity_in(std::string_view header) {
  try {
    const json line = json::parse(header);
    if (line.at("schema") != state_schema) return std::nullopt;
    return job_identity{
        .manifest = line.at("manifest").get<std::string>(),
        .shard = {.number = line.at("shard").at(0).get<unsigned>(), .count = line.at("shard").at(1).get<unsigned>()},
        .options = options_in(line.at("options"))};
  } catch (const std::exception&) {  // of JSON, or a name of another version
    return std::nullopt;
  }
}

}  // namespace gpuhist::pipeline
