// What `gpuhist changes` adds to a run that counts.
#pragma once

#include "command/plan.hpp"
#include "config/options.hpp"
#include "library/file_run.hpp"
#include "report/units/change_result.hpp"

#include <optional>

namespace gpuhist::command {

/// Whether the plan is one of `gpuhist changes`.
bool finds_changes(const plan& planned);

/// The plan that reads the files of logs of which most lines have no time, in windows of lines. Nothing: there are
/// none, or they cannot be read again, which is printed.
std::optional<plan> plan_without_times(const config::options& typed, const report::run_report& found);

/// Adds the changes and the failures of the run by that plan.
void add_changes(library::finished_run& to, const library::finished_run& in_lines);

}  // namespace gpuhist::command
