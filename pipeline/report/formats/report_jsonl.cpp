// The report as lines of JSON: one an input, then the result without them, which says how many there were. A snapshot
// is one line, the same as in JSON. Every line names the run, so that lines of several runs can be told apart.
#include "pipeline/report/formats/report_json_parts.hpp"
#include "pipeline/report/formats/report_json_stats.hpp"

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

// A line may be read alone, so it says all that its counts depend on.
json line_of(const report& what, std::string_view run, const input_report& input) {
  json out = beginning_of("input", run);
  if (what.ignore_case) out["ignore_case"] = true;
  out.update(input_as_json(what, input));
  return out;
}

json last_line_of(const report& what, std::string_view run) {
  json out = totals_as_json(what, run);
  out["input_count"] = what.inputs.size();
  if (what.stats) out["stats"] = stats_as_json(*what.stats);
  return out;
}

}  // namespace

void render_jsonl(const report& what, const render_target& target, const text_sink& out) {
  if (what.what == report::kind::snapshot) return write_snapshot(what, target.run, out);
  for (const input_report& each : what.inputs) out(as_line(line_of(what, target.run, each)));
  out(as_line(last_line_of(what, target.run)));
}

}  // namespace gpuhist::pipeline
