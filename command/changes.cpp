// `gpuhist changes [FILE...]`: the command that counts, with kinds of lines by log and window, and the changes in them
// as its report. Logs without times are read once more, in windows of lines.
#include "command/changes.hpp"
#include "command/commands.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "library/results.hpp"
#include "report/lines/log_family.hpp"
#include "report/output/messages.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

// Logs without times are read once more.
void complete_changes(const config::options& typed, library::finished_run& first, const later_runs& make) {
  const report::run_report& found = first.outcome.result.shared().content;
  const report::units::change_result& changes = *found.units->changes;
  if (changes.are_of_lines || changes.timeless.empty()) return;
  auto files = files_of(changes.timeless, typed, found);
  if (!files || files->empty()) return complain_of_timeless(changes.timeless);
  plan in_lines = plan_in_lines(typed, *std::move(files));
  const library::finished_run added = make.read_again(in_lines);
  replace_timeless(first, *added.outcome.result.shared().content.units->changes);
  add_ending(first, added);
}

}  // namespace

config::options with_kinds_of_lines(const config::options& typed) {
  config::options made = typed;
  if (!made.run.trees && (!made.inputs.empty() || made.run.list)) made.run.trees.emplace();
  unit_options& units = made.run.counting.units ? *made.run.counting.units : made.run.counting.units.emplace();
  units.changes = true;
  if (units.event_time.empty()) units.event_time = "any";
  return made;
}

ending find_changes(const config::options& typed, const io::open_descriptors& open_descriptors) {
  const config::options with_units = with_kinds_of_lines(typed);
  return count(with_units, open_descriptors,
               [&](library::finished_run& first, const later_runs& make) { complete_changes(typed, first, make); });
}

std::optional<std::vector<std::string>> files_of(const std::vector<report::units::timeless_log>& logs,
                                                 const config::options& typed, const report::run_report& of) {
  if (typed.given.contains("event-time")) return std::nullopt;
  std::vector<std::string> files;
  for (const pipeline::input_report& each : of.inputs) {
    const std::string family = report::lines::parse_log_name(each.name).family;
    if (std::ranges::find(logs, family, &report::units::timeless_log::name) == logs.end()) continue;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(each.name, ignored)) return std::nullopt;
    files.push_back(each.name);
  }
  return files;
}

void complain_of_timeless(const std::vector<report::units::timeless_log>& logs) {
  const std::string others = logs.size() > 1 ? " and " + config::number_of(logs.size() - 1, "other log") : "";
  report::complain(report::printable(logs.front().name) + others +
                   ": most lines have no time that is known, and were not compared; give --event-time=FORMAT, or "
                   "--window 1000lines");
}

plan plan_in_lines(const config::options& typed, std::vector<std::string> files) {
  config::options in_lines = with_kinds_of_lines(typed);
  in_lines.inputs = std::move(files);
  in_lines.run.list.reset();
  in_lines.run.counting.windows = window_options{.measured_in = window_options::measure::lines};
  return make_plan(in_lines);
}

void replace_timeless(library::finished_run& in, report::units::change_result found) {
  auto replaced = std::make_shared<results::state>(in.outcome.result.shared());
  report::units::replace_timeless(*replaced->content.units->changes, std::move(found));
  in.outcome.result = results(std::move(replaced));
}

void add_ending(library::finished_run& to, const library::finished_run& later) {
  auto joined = std::make_shared<results::state>(to.outcome.result.shared());
  joined->content.complete = joined->content.complete && later.outcome.result.shared().content.complete;
  to.outcome.result = results(std::move(joined));
  if (to.outcome.status == run_status::complete) to.outcome.status = later.outcome.status;
  to.is_stopped = to.is_stopped || later.is_stopped;
  to.end_at_once = to.end_at_once || later.end_at_once;
}

}  // namespace gpuhist::command
