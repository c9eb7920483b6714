// `gpuhist filter`: what its two forms have in common, and the one with an output for each input.
#pragma once

#include "command/command_frame.hpp"
#include "command/commands.hpp"
#include "command/plan.hpp"
#include "config/options.hpp"
#include "io/open_descriptors.hpp"
#include "library/file_run.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"
#include "report/output/report_writer.hpp"

#include <functional>
#include <memory>
#include <string>

namespace gpuhist::command {

class output_folder;

/// The file of --result. One thread.
struct dropped_units {
  dropped_units(const std::string& name, report::console& screen, const io::open_descriptors& inherited);

  report::destination file;
  report::report_writer writer;
};

/// With --skip-damage: every input was read to its end, and nothing else than damaged text is missing.
bool lacks_damaged_text_only(const plan& planned, const library::finished_run& finished);

/// Null without --result. Throws destination_error.
std::unique_ptr<dropped_units> open_result(const config::options& typed, report::console& screen,
                                           const io::open_descriptors& inherited);

/// The file of --result in messages: the option and the name.
std::string name_of_result(const config::options& typed);

/// Runs the plan. Notices are printed, unless it is quiet. `dropped` may be null. `outputs`: those of each input, or
/// null.
library::finished_run run_filter(const plan& planned, const command_frame& frame, report::console& screen,
                                 dropped_units* dropped, output_folder* outputs = nullptr);

/// What is before and after the numbers of the units that are kept, in the summary of a run.
struct summary_words {
  std::string before = "kept ";
  std::string after{};
};

/// Prints the messages of a run and writes the result. `output_name`: in messages. `publish`: called after the messages
/// about inputs; makes the text appear, and returns whether all of it did. `words`: called after `publish`. Throws
/// destination_error.
ending::status conclude_filter(const plan& planned, const library::finished_run& finished,
                               const std::string& output_name, dropped_units* dropped,
                               const std::function<bool()>& publish, const std::function<summary_words()>& words);

/// `gpuhist filter --output-dir DIR`: one output for each input. As the commands of commands.hpp.
/// Precondition: --output-dir is given.
ending filter_into_folder(const config::options& typed, const io::open_descriptors& open_descriptors);

}  // namespace gpuhist::command
