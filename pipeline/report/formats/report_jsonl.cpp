// The report as lines of JSON: one per input, then the result with the number of inputs. During a run, the lines of
// inputs are written when they are finished (report_format::input_line). A snapshot is one line, the same as in JSON.
// Every line names the run, so that lines of several runs can be distinguished.
#include "pipeline/report/formats/report_json_parts.hpp"
#include "pipeline/report/formats/report_json_stats.hpp"

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

json last_line_of(const report& content, std::string_view run) {
  json out = totals_as_json(content, run);
  out["input_count"] = content.earlier_inputs + content.inputs.size();
  if (content.stats) out["stats"] = stats_as_json(*content.stats);
  return out;
}

}  // namespace

// A line may be read alone, so it has every field that its counts depend on.
std::string input_json_line(const report& frame, std::string_view run, const input_report& input) {
  json out = beginning_of("input", run);
  if (frame.ignore_case) out["ignore_case"] = true;
  out.update(input_as_json(frame, input));
  return as_line(out);
}

void render_jsonl(const report& content, const render_target& target, const text_sink& out) {
  if (content.type == report::kind::snapshot) return write_snapshot(content, target.run, out);
  if (!target.inputs_are_written) {
    for (const input_report& each : content.inputs) out(input_json_line(content, target.run, each));
  }
  out(as_line(last_line_of(content, target.run)));
}

}  // namespace gpuhist::pipeline
