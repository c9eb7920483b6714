// The report as lines of JSON: one an input, then the result without them, which says how many there were. A snapshot
// is one line, the same as in JSON.
#include "pipeline/reports/report_json_parts.hpp"
#include "pipeline/reports/report_json_stats.hpp"

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

// A line may be read alone, so it says all that its counts depend on.
json line_of(const report& what, const input_report& input) {
  json out = {{"kind", "input"}, {"schema", "gpuhist.result/1"}};
  if (what.ignore_case) out["ignore_case"] = true;
  out.update(input_as_json(what, input));
  return out;
}

json last_line_of(const report& what) {
  json out = totals_as_json(what);
  out["input_count"] = what.inputs.size();
  if (what.stats) out["stats"] = stats_as_json(*what.stats);
  return out;
}

}  // namespace

void render_jsonl(const report& what, const render_target& /*target*/, const text_sink& out) {
  if (what.what == report::kind::snapshot) return write_snapshot(what, out);
  for (const input_report& each : what.inputs) out(as_line(line_of(what, each)));
  out(as_line(last_line_of(what)));
}

}  // namespace gpuhist::pipeline
