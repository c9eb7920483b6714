// `gpuhist changes [FILE...]`: the command that counts, with kinds of lines by log and window, and the changes in them
// as its report. Logs without times are read once more, in windows of lines.
#include "command/changes.hpp"
#include "command/commands.hpp"
#include "config/usage_error.hpp"
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

// Folders are read with all that is in them.
void add_units(config::options& to) {
  if (!to.run.trees && (!to.inputs.empty() || to.run.list)) to.run.trees.emplace();
  unit_options& units = to.run.counting.units ? *to.run.counting.units : to.run.counting.units.emplace();
  units.changes = true;
  if (units.event_time.empty()) units.event_time = "any";
}

std::string hint_of(const std::vector<report::units::timeless_log>& logs) {
  const std::string others = logs.size() > 1 ? " and " + config::number_of(logs.size() - 1, "other log") : "";
  return report::printable(logs.front().name) + others +
         ": most lines have no time that is known, and were not compared; give --event-time=FORMAT, or --window "
         "1000lines";
}

// The files of these logs; nothing: an input of them is no file, or a member of an archive.
std::optional<std::vector<std::string>> files_of(const std::vector<report::units::timeless_log>& logs,
                                                 const report::run_report& found) {
  std::vector<std::string> files;
  for (const pipeline::input_report& each : found.inputs) {
    const std::string family = report::lines::parse_log_name(each.name).family;
    if (std::ranges::find(logs, family, &report::units::timeless_log::name) == logs.end()) continue;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(each.name, ignored)) return std::nullopt;
    files.push_back(each.name);
  }
  return files;
}

}  // namespace

ending find_changes(const config::options& typed, const io::open_descriptors& open_descriptors) {
  config::options with_units = typed;
  add_units(with_units);
  return count(with_units, open_descriptors);
}

bool finds_changes(const plan& planned) {
  return planned.units && planned.units->lines && planned.units->lines->finds_changes;
}

std::optional<plan> plan_without_times(const config::options& typed, const report::run_report& found) {
  const report::units::change_result& changes = *found.units->changes;
  if (changes.are_of_lines || changes.timeless.empty()) return std::nullopt;
  const auto files = typed.given.contains("event-time") ? std::nullopt : files_of(changes.timeless, found);
  if (!files || files->empty()) {
    report::complain(hint_of(changes.timeless));
    return std::nullopt;
  }
  config::options in_lines = typed;
  in_lines.inputs = *files;
  in_lines.run.list.reset();
  in_lines.run.counting.windows = window_options{.measured_in = window_options::measure::lines};
  return make_plan(in_lines);
}

void add_changes(library::finished_run& to, const library::finished_run& in_lines) {
  auto joined = std::make_shared<results::state>(to.outcome.result.shared());
  const report::run_report& added = in_lines.outcome.result.shared().content;
  report::units::replace_timeless(*joined->content.units->changes, *added.units->changes);
  joined->content.complete = joined->content.complete && added.complete;
  if (to.outcome.status == run_status::complete) to.outcome.status = in_lines.outcome.status;
  to.outcome.result = results(std::move(joined));
  to.is_stopped = to.is_stopped || in_lines.is_stopped;
  to.end_at_once = to.end_at_once || in_lines.end_at_once;
}

}  // namespace gpuhist::command
