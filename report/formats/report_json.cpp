// The report as one line of JSON, schema gpuhist.result/1.
#include "report/formats/report_json_parts.hpp"
#include "report/formats/report_json_stats.hpp"

namespace gpuhist::pipeline {

void render_json(const report& content, const render_target& /*target*/, const text_sink& out) {
  if (content.type == report::kind::snapshot) return write_snapshot(content, {}, out);
  object_text before;
  add_totals(before.members, content, {});
  out(before.text);
  write_inputs(content, input_text, out);
  if (content.stats) out(R"(,"stats":)" + text_of(stats_as_json(*content.stats)));
  out("}\n");
}

}  // namespace gpuhist::pipeline
