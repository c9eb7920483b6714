// The report as lines of JSON: one per input, then the result with the number of inputs. During a run, the lines of
// inputs are written when they are finished (report_format::input_line). A snapshot is one line, the same as in JSON.
// Every line names the run, so that lines of several runs can be distinguished.
#include "report/formats/report_json_parts.hpp"
#include "report/formats/report_json_stats.hpp"

namespace gpuhist::pipeline {
namespace {

std::string last_line_of(const report& content, std::string_view run) {
  object_text out;
  add_totals(out.members, content, run);
  out.members.add_number("input_count", std::uint64_t{content.earlier_inputs + content.inputs.size()});
  if (content.stats) out.members.add_json("stats", stats_as_json(*content.stats));
  return out.take() + "\n";
}

}  // namespace

// A line may be read alone, so it has every field that its counts depend on.
std::string input_json_line(const report& frame, std::string_view run, const input_report& input) {
  object_text out;
  add_beginning(out.members, "input", run);
  if (!frame.counted_with.empty()) out.members.add_json_text("counted_with", frame.counted_with);
  if (frame.ignore_case) out.members.add_flag("ignore_case", true);
  add_input(out.members, frame, input);
  return out.take() + "\n";
}

void render_jsonl(const report& content, const render_target& target, const text_sink& out) {
  if (content.type == report::kind::snapshot) return write_snapshot(content, target.run, out);
  if (!target.inputs_are_written) {
    for (const input_report& each : content.inputs) out(input_json_line(content, target.run, each));
  }
  out(last_line_of(content, target.run));
}

}  // namespace gpuhist::pipeline
