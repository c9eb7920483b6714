// What `gpuhist changes` and `gpuhist diff` have in common: a run that counts kinds of lines by log and window.
#pragma once

#include "command/plan.hpp"
#include "config/options.hpp"
#include "library/file_run.hpp"
#include "report/units/change_result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhist::command {

/// The same with what such a run counts. Folders are read with all that is in them.
config::options with_kinds_of_lines(const config::options& typed);

/// The files among these inputs that belong to logs without times. Nothing: one of them is no file, or a member of an
/// archive, or the times have a format that was typed: they cannot be read again.
std::optional<std::vector<std::string>> files_of(const std::vector<report::units::timeless_log>& logs,
                                                 const config::options& typed, const report::run_report& of);

/// Prints that these logs were not compared, and the remedy.
void complain_of_timeless(const std::vector<report::units::timeless_log>& logs);

/// The plan that reads these files in windows of lines.
plan plan_in_lines(const config::options& typed, std::vector<std::string> files);

/// Replaces what was found of logs without times.
void replace_timeless(library::finished_run& in, report::units::change_result found);

/// How a later run of the same command has ended.
void add_ending(library::finished_run& to, const library::finished_run& later);

}  // namespace gpuhist::command
