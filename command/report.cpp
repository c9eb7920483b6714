// `gpuhist report RESULT...`: shows earlier results by any scheme, in any format. The result of a job is also shown by
// the schemes of the job, which need no byte counts.
#include "report/formats/report.hpp"
#include "batch/job_folder.hpp"
#include "command/command_frame.hpp"
#include "command/commands.hpp"
#include "command/plan.hpp"
#include "command/result_schemes.hpp"
#include "command/typed_options.hpp"
#include "config/usage_error.hpp"
#include "library/resolve.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/conditions/watcher.hpp"
#include "report/formats/bucket_counts.hpp"
#include "report/formats/input_table.hpp"
#include "report/formats/report_alert.hpp"
#include "report/formats/result_file.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

// Whether the operand is the folder of a finished job.
bool is_job(const std::string& operand) {
  std::error_code ignored;
  return fs::is_regular_file(batch::job_folder(operand).totals_file(), ignored);
}

std::vector<scheme_names> schemes_of_jobs(const config::options& typed) {
  std::vector<scheme_names> found;
  for (const std::string& each : typed.inputs) {
    if (is_job(each))
      std::ranges::move(schemes_in(batch::job_folder(each).totals_file().string()), std::back_inserter(found));
  }
  return found;
}

// Without --buckets: those of the jobs among the operands, or `classes`.
config::options with_own_schemes(config::options typed, const std::vector<scheme_names>& of_jobs) {
  if (!typed.run.counting.schemes.empty()) return typed;
  const shared_schemes shared = common_schemes(of_jobs, {});
  for (const config::scheme& each : shared.schemes) typed.run.counting.schemes.push_back(each.name);
  if (typed.run.counting.schemes.empty()) typed.run.counting.schemes = {"classes"};
  typed.run.counting.ignore_case = typed.run.counting.ignore_case || shared.ignore_case;
  return typed;
}

// Buckets, and pairs of them, are read by their names.
void check_members(const config::options& typed, std::vector<scheme_names> found,
                   const std::vector<config::scheme>& schemes) {
  for (const std::string& each : typed.inputs) {
    std::error_code ignored;
    if (fs::is_regular_file(each, ignored)) std::ranges::move(schemes_in(each), std::back_inserter(found));
  }
  refuse_other_members(found, schemes);
}

// The names of expressions that columns may contain: those of the results, which are read for them. Standard input can
// be read only once.
std::vector<std::string> matches_for_columns(const config::options& typed, std::vector<scheme_names> found) {
  const auto has_match = [](const std::string& formula) { return formula.find("match(") != std::string::npos; };
  if (std::ranges::none_of(typed.columns, has_match) && !(typed.sort && has_match(*typed.sort))) return {};
  for (const std::string& each : typed.inputs) {
    std::error_code ignored;
    if (fs::is_regular_file(each, ignored)) std::ranges::move(schemes_in(each), std::back_inserter(found));
  }
  std::vector<std::string> names;
  for (const scheme_names& each : found) {
    for (const std::string& name : each.reading.names_of_expressions()) names.push_back(name);
  }
  return names;
}

report::result_sum read_results(const config::options& typed, const std::vector<config::scheme>& schemes,
                                const report::bucket_counts* by_bucket) {
  report::wanted_counts wanted(
      typed.run.counting.ignore_case ? report::letter_case::ignored : report::letter_case::exact,
      typed.run.counting.pairs ? schemes : std::vector<config::scheme>());
  wanted.by_bucket = by_bucket;
  wanted.lines = report::line_results::wanted;
  report::result_sum sum(std::move(wanted), folder_for_spills(typed));
  const std::vector<std::string> standard_input = {"-"};
  for (const std::string& each : typed.inputs.empty() ? standard_input : typed.inputs) {
    if (is_job(each)) {
      const batch::job_folder job(each);
      sum.add_lines_of({job.inputs_file().string(), job.totals_file().string()});
    } else {
      sum.add_file(each);
    }
  }
  for (const std::string& error : sum.errors()) report::complain(error);
  for (const std::string& warning : sum.warnings()) report::complain("warning: " + warning);
  return sum;
}

// A result has no units. As other options of listings, a default that is not on the command line has no effect.
void refuse_units(const config::options& typed) {
  if (!typed.run.counting.units || typed.origins.contains("--top")) return;
  throw config::usage_error("--top: N:FORMULA is for units, which gpuhist report does not measure; give N");
}

// Checks inputs and totals against the conditions. Returns whether a condition of --fail-if holds.
bool watch_all(const report::run_report& shown, const report::gates::watch_list& conditions,
               const std::function<void(const report::gates::firing&)>& on_firing) {
  report::gates::watcher watched(conditions, shown.partition, shown.measuring, on_firing, shown.schemes);
  for (const pipeline::input_report& each : shown.inputs) report::gates::watch_input(each, conditions, watched);
  report::gates::watch_totals(shown, conditions, watched);
  return watched.has_failed();
}

}  // namespace

ending report_results(const config::options& typed, const io::open_descriptors& open_descriptors) {
  refuse_units(typed);
  const std::vector<scheme_names> of_jobs = schemes_of_jobs(typed);
  const config::options chosen = with_own_schemes(typed, of_jobs);
  const report::report_format& format = *resolve_report_format(chosen);
  const report::writing manner = resolve_writing(chosen, format);
  const auto [run, warning] = request_of(chosen);
  const counting_options& counting = run.counting;
  const std::vector<config::scheme> schemes = library::resolve_schemes(counting);
  const report::measures::measuring measuring = library::resolve_measuring(counting);
  // results may contain what --utf8 found
  const report::gates::watch_list watched = library::resolve_watch(
      counting, {.schemes = schemes, .measuring = measuring, .has_pairs = counting.pairs, .has_malformed = true});
  const report::input_listing listing = resolve_listing(
      chosen, counting, {.has_malformed = true, .matches = matches_for_columns(chosen, of_jobs)}, format);
  if (!warning.empty()) report::complain("warning: " + warning);
  const bool by_byte = chosen.run.counting.pairs || !measuring.asked.empty() || watched.needs_byte_counts() ||
                       listing.needs_byte_counts();
  std::optional<report::bucket_counts> by_bucket;
  if (!by_byte && !std::ranges::all_of(of_jobs, &scheme_names::has_byte_counts)) {
    by_bucket.emplace(pipeline::coarsest_partition(schemes), schemes);
  }
  if (by_bucket || chosen.run.counting.pairs) check_members(chosen, of_jobs, schemes);
  report::result_sum sum = read_results(chosen, schemes, by_bucket ? &*by_bucket : nullptr);
  if (sum.results() == 0) return {.exit_status = ending::input_failed};  // the old output stays
  report::run_report shown = sum.take();
  if (!chosen.run.counting.pairs) {
    for (const config::scheme& each : schemes) shown.schemes.push_back(pipeline::view_through(each, shown.partition));
  }
  shown.measuring = measuring;
  shown.ignore_case = chosen.run.counting.ignore_case;
  report::destination output(chosen.output, manner, open_descriptors);
  const command_frame frame;
  const std::string run_id = format.names_run ? report::make_run_id() : "";
  const bool gate_failed = watch_all(shown, watched, [&](const report::gates::firing& fired) {
    report::complain(report::firing_for_people(fired));
    if (format.carries_alerts) output.write(report::alert_line(fired, run_id));
  });
  output.write([&](const report::text_sink& out) {
    report::render_target target =
        report::target_for(output);  // after the lock: no other process can write the first record
    target.run = run_id;
    target.sections = {.inputs = !chosen.totals_only, .listing = &listing};
    format.render(shown, target, out);
  });
  output.commit();
  if (!shown.complete && sum.errors().empty()) report::complain("the results are from an incomplete run");
  const ending::status checked = gate_failed ? ending::gate_failed : ending::counted_all;
  return frame.end(shown.complete ? checked : ending::input_failed, ", after the report was written");
}

}  // namespace gpuhist::command
