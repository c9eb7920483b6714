// `gpuhist diff A B`: counts kinds of lines by log and window on both sides, one after the other, and compares them.
// Logs without times are read once more, in windows of lines. Two results are compared by what they contain.
#include "command/changes.hpp"
#include "command/commands.hpp"
#include "command/result_diff.hpp"
#include "config/usage_error.hpp"
#include "library/results.hpp"
#include "pipeline/counts/finished_inputs.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

using report::units::change_result;

void check_sides(const config::options& typed) {
  if (typed.inputs.size() != 2) {
    throw config::usage_error("compares two files, folders, archives or results, and was given " +
                              std::to_string(typed.inputs.size()) +
                              ": gpuhist diff A B; to compare several files, put those of each side in a folder");
  }
  if (typed.inputs[0] == "-" && typed.inputs[1] == "-") {
    throw config::usage_error("-: standard input can be one of the two, not both; give a file for the other");
  }
}

config::options options_of_side(const config::options& typed, const std::string& input) {
  config::options made = typed;
  made.inputs = {input};
  return made;
}

const report::units::unit_result& units_of(const library::finished_run& run) {
  return *run.outcome.result.shared().content.units;
}

change_result compare(const plan& planned, const std::vector<std::string>& names, const library::finished_run& first,
                      const library::finished_run& second) {
  return report::units::difference_of(*planned.units->lines,
                                      {{{.name = names[0], .counts = units_of(first).compared.get()},
                                        {.name = names[1], .counts = units_of(second).compared.get()}}});
}

// The inputs of both, in sequence.
pipeline::input_reports joined_inputs(const report::run_report& first, const report::run_report& second,
                                      const pipeline::spill_folder& folder) {
  constexpr std::size_t in_memory = std::size_t{1} << 20U;
  const auto kept = std::make_shared<pipeline::finished_inputs>(first.partition.classes, in_memory, folder);
  for (const pipeline::input_report& each : first.inputs) kept->append(kept->spill(each));
  for (const pipeline::input_report& each : second.inputs) kept->append(kept->spill(each));
  return {kept, first.inputs.size() + second.inputs.size()};
}

// The counts of both sides, with their difference.
void join(library::finished_run& to, const library::finished_run& more, change_result found,
          const pipeline::spill_folder& folder) {
  add_ending(to, more);
  auto joined = std::make_shared<results::state>(to.outcome.result.shared());
  const results::state& added = more.outcome.result.shared();
  joined->content.inputs = joined_inputs(joined->content, added.content, folder);
  joined->content.add(added.content);
  joined->content.units->totals += added.content.units->totals;
  joined->content.units->compared.reset();
  joined->content.units->changes = std::move(found);
  if (joined->failed.text.empty()) joined->failed = added.failed;
  to.outcome.result = results(std::move(joined));
  to.outcome.empty_trees.count += more.outcome.empty_trees.count;
  if (to.outcome.empty_trees.first.empty()) to.outcome.empty_trees.first = more.outcome.empty_trees.first;
}

// Files without times, in windows of lines. `sides`: what was counted of each.
void compare_in_lines(const config::options& typed, library::finished_run& joined, const std::array<results, 2>& sides,
                      const later_runs& make) {
  const change_result& found = *joined.outcome.result.shared().content.units->changes;
  if (found.are_of_lines || found.timeless.empty()) return;
  auto files_before = files_of(found.timeless, typed, sides[0].shared().content);
  auto files_after = files_of(found.timeless, typed, sides[1].shared().content);
  if (!files_before || !files_after) return complain_of_timeless(found.timeless);
  plan first = plan_in_lines(typed, *std::move(files_before));
  plan second = plan_in_lines(typed, *std::move(files_after));
  const library::finished_run before = make.read_again(first);
  const library::finished_run after = make.read_again(second);
  replace_timeless(joined, compare(first, typed.inputs, before, after));
  add_ending(joined, before);
  add_ending(joined, after);
}

}  // namespace

ending find_differences(const config::options& typed, const io::open_descriptors& open_descriptors) {
  check_sides(typed);
  if (are_results(typed.inputs)) return compare_results(typed, open_descriptors);
  const config::options with_units = with_kinds_of_lines(typed);
  plan second = make_plan(options_of_side(with_units, typed.inputs[1]));
  refuse_new_output_as_input(second);
  const auto compare_sides = [&](library::finished_run& run, const later_runs& make) {
    const library::finished_run more = make.read_more(second);
    const std::array<results, 2> sides = {run.outcome.result, more.outcome.result};
    join(run, more, compare(second, typed.inputs, run, more), {.path = second.units->lines->spilled_to.path});
    if (!run.is_stopped) compare_in_lines(typed, run, sides, make);
  };
  return count(options_of_side(with_units, typed.inputs[0]), open_descriptors, compare_sides);
}

}  // namespace gpuhist::command
