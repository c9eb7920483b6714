// The messages of a run that has ended: failures, names that were not read, and hints.
#pragma once

#include "command/plan.hpp"
#include "gpuhist/files.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Whether the reader of --pass-through has closed it. Then failures are not printed, like those of tee.
bool consumer_left(const file_outcome& finished);

/// What is passed through.
enum class passed_text { all, kept };

/// Failures of what is passed through, whose output has this name, of inputs and of the engine; unless the run is
/// quiet, also notices about inputs.
void print_failures(const plan& planned, const file_outcome& finished, std::string_view output = "standard output",
                    passed_text passed = passed_text::all);

/// Entries of trees and archives that were not read, and trees without files.
void print_skipped(const plan& planned, const file_outcome& finished);

/// A misspelled command, or a command that is not the first argument, is taken for the name of a missing file.
void suggest_command(const std::vector<std::string>& inputs);

}  // namespace gpuhist::pipeline
