// `gpuhist changes [FILE...]`: the command that counts, with kinds of lines by log and window, and the changes in them
// as its report. Logs without times are read once more, in windows of lines.
#include "command/changes.hpp"
#include "command/commands.hpp"
#include "config/usage_error.hpp"
#include "report/lines/log_family.hpp"
#include "report/output/messages.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

// Folders are read with all that is in them.
void add_units(config::options& to) {
  if (!to.run.trees && !to.inputs.empty()) to.run.trees.emplace();
  unit_options& units = to.run.counting.units ? *to.run.counting.units : to.run.counting.units.emplace();
  units.changes = true;
  if (units.event_time.empty()) units.event_time = "any";
}

bool reads_once(const std::string& input) { return input == "-"; }

// Whether the input is one of these logs, or an archive that has one.
bool is_wanted(const std::vector<std::string>& logs, const std::string& input) {
  const std::string family = report::lines::parse_log_name(input).family;
  return std::ranges::any_of(logs,
                             [&](const std::string& log) { return log == family || log.starts_with(input + "/"); });
}

std::string hint_of(const std::vector<std::string>& logs) {
  const std::string others = logs.size() > 1 ? " and " + config::number_of(logs.size() - 1, "other log") : "";
  return report::printable(logs.front()) + others +
         ": most lines have no time that is known, and were not compared; "
         "give --event-time=FORMAT, or --window 1000lines";
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

std::optional<plan> plan_without_times(const config::options& typed, const report::units::change_result& found) {
  if (found.windows.are_of_lines || found.timeless.empty()) return std::nullopt;
  const bool is_stream = std::ranges::any_of(typed.inputs, reads_once) || typed.inputs.empty();
  if (is_stream || typed.given.contains("event-time")) {
    report::complain(hint_of(found.timeless));
    return std::nullopt;
  }
  config::options in_lines = typed;
  in_lines.run.counting.windows = window_options{.measured_in = window_options::measure::lines};
  plan made = make_plan(in_lines);
  made.is_counted = [timeless = found.timeless](const std::string& name) { return !is_wanted(timeless, name); };
  return made;
}

void add_changes(library::finished_run& to, const library::finished_run& in_lines) {
  auto joined = std::make_shared<results::state>(to.outcome.result.shared());
  report::units::add(*joined->content.units->changes, *in_lines.outcome.result.shared().content.units->changes);
  to.outcome.result = results(std::move(joined));
  to.is_stopped = to.is_stopped || in_lines.is_stopped;
  to.end_at_once = to.end_at_once || in_lines.end_at_once;
}

}  // namespace gpuhist::command
