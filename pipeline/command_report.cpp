// `gpuhist report RESULT...`: shows the kept counts of earlier results by any scheme, in any format.
#include "pipeline/commands.hpp"
#include "pipeline/destination.hpp"
#include "pipeline/messages.hpp"
#include "pipeline/partitioning.hpp"
#include "pipeline/report.hpp"
#include "pipeline/resolve.hpp"
#include "pipeline/result_file.hpp"
#include "pipeline/terminal.hpp"

#include <string>
#include <vector>

namespace gpuhist::pipeline {
namespace {

result_sum read_results(const config::options& typed) {
  result_sum sum(typed.ignore_case ? letter_case::ignored : letter_case::exact);
  const std::vector<std::string> standard_input = {"-"};
  for (const std::string& path : typed.inputs.empty() ? standard_input : typed.inputs) sum.add_file(path);
  for (const std::string& fault : sum.faults()) complain(fault);
  return sum;
}

}  // namespace

ending report_results(const config::options& typed) {
  const report_format& format = *resolve_report_format(typed);
  const std::vector<config::scheme> schemes = resolve_schemes(typed);
  const writing how = resolve_writing(typed, format);
  result_sum sum = read_results(typed);
  if (sum.results() == 0) return {.exit_status = ending::input_failed};  // nothing to show: the old output stays
  report shown = sum.take();
  for (const config::scheme& each : schemes) shown.schemes.push_back(view_through(each, shown.partition));
  shown.ignore_case = typed.ignore_case;
  shown.totals_only = typed.totals_only;
  destination where(typed.output, how);
  where.write([&](const text_sink& out) { format.render(shown, target_for(where), out); });
  where.commit();
  if (!shown.complete && sum.faults().empty()) complain("the results are of a run that was incomplete");
  return {.exit_status = shown.complete ? ending::counted_all : ending::input_failed};
}

}  // namespace gpuhist::pipeline
