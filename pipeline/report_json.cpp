// The report as one line of JSON, schema gpuhist.result/1.
#include "pipeline/report_json_parts.hpp"
#include "pipeline/report_json_stats.hpp"

#include <utility>

namespace gpuhist::pipeline {
namespace {

nlohmann::ordered_json result_of(const report& what) {
  nlohmann::ordered_json out = totals_as_json(what);
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const input_report& each : what.inputs) inputs.push_back(input_as_json(what, each));
  out["inputs"] = std::move(inputs);
  if (what.stats) out["stats"] = stats_as_json(*what.stats);
  return out;
}

}  // namespace

std::string render_json(const report& what, const render_target& /*target*/) {
  return as_line(what.what == report::kind::result ? result_of(what) : snapshot_as_json(what));
}

}  // namespace gpuhist::pipeline
