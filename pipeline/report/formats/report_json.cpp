// The report as one line of JSON, schema gpuhist.result/1.
#include "pipeline/report/formats/report_json_parts.hpp"
#include "pipeline/report/formats/report_json_stats.hpp"

namespace gpuhist::pipeline {

void render_json(const report& content, const render_target& /*target*/, const text_sink& out) {
  if (content.type == report::kind::snapshot) return write_snapshot(content, {}, out);
  nlohmann::ordered_json after = nlohmann::ordered_json::object();
  if (content.stats) after["stats"] = stats_as_json(*content.stats);
  write_with_inputs(totals_as_json(content, {}), content, input_as_json, after, out);
}

}  // namespace gpuhist::pipeline
