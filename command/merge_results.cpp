#include "command/commands.hpp"

#include "batch/job_folder.hpp"
#include "command/plan.hpp"
#include "command/result_schemes.hpp"
#include "command/typed_options.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/bucket_counts.hpp"
#include "report/formats/input_table.hpp"
#include "report/formats/report.hpp"
#include "report/formats/result_file.hpp"
#include "report/formats/text.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"
#include "report/output/terminal.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

void refuse_option(bool is_given, std::string_view option, const std::string& cause) {
  if (is_given) throw config::option_error(option, cause);
}

// The file with the totals of an operand.
std::string totals_of(const std::string& operand) {
  if (!is_folder(operand)) return operand;
  const batch::job_folder job(operand);
  std::error_code ignored;
  if (fs::exists(job.totals_file(), ignored)) return job.totals_file().string();
  throw std::runtime_error(
      report::printable(operand) + ": has no results (total.json); " +
      (job.shard_results().empty() ? "run gpuhist batch to the end" : "merge its parts first: gpuhist merge DIR"));
}

std::vector<scheme_names> read_schemes(const std::vector<std::string>& operands) {
  std::vector<scheme_names> all;
  for (const std::string& each : operands) {
    std::ranges::move(schemes_in(totals_of(each)), std::back_inserter(all));
  }
  return all;
}

// The name of each input, and the result that has it first.
class input_names {
 public:
  // Complains of names that are in several results. Returns whether there are any.
  bool complain_of_duplicates(const report::run_report& sum, const std::vector<report::result_sum::addend>& addends) {
    constexpr std::size_t listed = 10;
    std::size_t addend = 0;
    std::size_t input = 0;
    std::size_t duplicates = 0;
    for (const pipeline::input_report& each : sum.inputs) {
      while (addend < addends.size() && input >= addends[addend].end_of_inputs) ++addend;
      ++input;
      const auto [first, is_new] = first_addend_.try_emplace(each.name, addend);
      if (is_new || first->second == addend) continue;
      if (++duplicates <= listed) {
        report::complain(report::printable(each.name) + ": is in " + addends[first->second].name + " and in " +
                         addends[addend].name);
      }
    }
    if (duplicates > listed) report::complain("... and " + config::number_of(duplicates - listed, "more input"));
    return duplicates > 0;
  }

 private:
  std::unordered_map<std::string, std::size_t> first_addend_;
};

struct merged_results {
  report::run_report sum;
  std::vector<report::result_sum::addend> addends;
  bool has_errors = false;
};

merged_results add_all(const config::options& typed, const report::wanted_counts& wanted) {
  report::result_sum sum(wanted, folder_for_spills(typed));
  for (const std::string& each : typed.inputs) {
    if (is_folder(each)) {
      sum.add_lines_of({batch::job_folder(each).inputs_file().string(), totals_of(each)});
    } else {
      sum.add_file(each);
    }
  }
  for (const std::string& error : sum.errors()) report::complain(error);
  for (const std::string& warning : sum.warnings()) report::complain("warning: " + warning);
  merged_results made{.sum = {}, .addends = sum.addends(), .has_errors = !sum.errors().empty()};
  made.sum = sum.take();
  for (const report::result_sum::addend& each : made.addends) {
    if (!each.is_complete) report::complain(each.name + ": is not complete; the sum has what it contains");
  }
  return made;
}

void write_sum(const config::options& typed, const report::run_report& sum,
               const io::open_descriptors& open_descriptors) {
  const report::report_format& format = *resolve_report_format(typed);
  const report::input_listing listing =
      resolve_listing(typed, request_of(typed).run.counting, {.has_malformed = true}, format);
  report::destination output(typed.output, resolve_writing(typed, format), open_descriptors);
  const std::string run = format.names_run ? report::make_run_id() : "";
  output.write([&](const report::text_sink& out) {
    report::render_target target = report::target_for(output);
    target.run = run;
    target.sections = {.causes = false, .listing = &listing};
    format.render(sum, target, out);
  });
  output.commit();
}

}  // namespace

bool adds_results(const config::options& typed) {
  const auto is_typed = [&](const auto& value, std::string_view option) {
    return value && !typed.origins.contains(option);
  };
  const bool is_for_sums = is_typed(typed.output, "--output") || is_typed(typed.format, "--format");
  if (is_for_sums) return true;
  const bool is_for_parts = typed.partial || typed.output_dir;
  return !is_for_parts && std::ranges::any_of(typed.inputs, [](const std::string& each) {
    return !is_folder(each) || batch::job_folder(each).shard_results().empty();
  });
}

ending merge_results(const config::options& typed, const io::open_descriptors& open_descriptors) {
  refuse_option(typed.output_dir.has_value(), "output-dir",
                "is for the parts of a job; the sum of results is written to --output");
  refuse_option(typed.partial, "partial", "is for the parts of a job; the sum has what the results contain");
  const std::vector<scheme_names> found = read_schemes(typed.inputs);
  refuse_other_reading(found);
  const auto [schemes, have_byte_counts, ignore_case] = common_schemes(found, typed.run.counting.schemes);
  const gpu::partition counted = have_byte_counts ? gpu::partition::identity() : pipeline::coarsest_partition(schemes);
  const report::bucket_counts by_bucket(counted, schemes);
  report::wanted_counts wanted(ignore_case ? report::letter_case::ignored : report::letter_case::exact);
  if (!have_byte_counts) wanted.by_bucket = &by_bucket;
  wanted.lines = report::line_results::wanted;
  merged_results merged = add_all(typed, wanted);
  if (merged.addends.empty()) return {.exit_status = ending::input_failed};  // the old output stays
  if (!typed.allow_duplicates && input_names().complain_of_duplicates(merged.sum, merged.addends)) {
    report::complain("nothing was merged; leave one of the results out, or give --allow-duplicates");
    return {.exit_status = ending::input_failed};
  }
  for (const config::scheme& each : schemes) merged.sum.schemes.push_back(pipeline::view_through(each, counted));
  merged.sum.byte_counts = have_byte_counts && std::ranges::all_of(found, &scheme_names::lists_byte_counts);
  merged.sum.ignore_case = ignore_case;
  report::locale_is_utf8();
  write_sum(typed, merged.sum, open_descriptors);
  return {.exit_status = merged.sum.complete ? ending::counted_all : ending::input_failed};
}

}  // namespace gpuhist::command
