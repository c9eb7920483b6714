#include "batch/job_outputs.hpp"

#include "report/formats/report_json.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

// A line for each report; `is_wanted` selects them.
void write_lines(result_files& to, const char* name, const report& frame, const manifest& inputs,
                 const job_ledger& ledger, bool (*is_wanted)(const input_report&)) {
  to.write(name, [&](const text_sink& out) {
    for (std::size_t i = 0; i < inputs.entries.size(); ++i) {
      ledger.for_each_report(i, [&](const input_report& each) {
        if (is_wanted(each)) out(input_json_line(frame, {}, each));
      });
    }
  });
}

report report_of(const counting_plan& planned, run_counts counts) {
  return make_report(planned, report::kind::result, std::move(counts));
}

}  // namespace

void write_outputs(result_files& to, const counting_plan& planned, const manifest& inputs, const job_ledger& ledger,
                   const recorded_units& units, const job_description& job) {
  run_counts none;
  none.partition = planned.partition;
  const report frame = report_of(planned, std::move(none));
  write_lines(to, "files.jsonl", frame, inputs, ledger, [](const input_report&) { return true; });
  write_lines(to, "errors.jsonl", frame, inputs, ledger, [](const input_report& each) { return !each.complete; });
  run_counts sum = ledger.counts();
  sum.complete = sum.complete && ledger.finished() == inputs.entries.size();
  report total = report_of(planned, std::move(sum));
  total.units = write_unit_outputs(to, planned, inputs.entries.size(), ledger, units);
  to.write("job.json", [&](const text_sink& out) { out(as_line(job_as_json(inputs, ledger, job, total.complete))); });
  object_text line;
  add_totals(line.members, total, {});
  line.members.add_number("input_count", std::uint64_t{ledger.reports()});
  to.write("total.json", [&](const text_sink& out) { out(line.take() + "\n"); });
}

}  // namespace gpuhist::pipeline
