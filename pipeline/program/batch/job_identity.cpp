#include "pipeline/program/batch/job_identity.hpp"

#include "pipeline/report/formats/report_json_parts.hpp"

#include <nlohmann/json.hpp>

#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* state_schema = "gpuhist.state/2";

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
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace gpuhist::pipeline
