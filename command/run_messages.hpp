// The messages of a run that has ended: failures, names that were not read, and hints.
#pragma once

#include "command/plan.hpp"
#include "gpuhist/files.hpp"
#include "pipeline/counts/input_report.hpp"
#include "report/formats/notice_lines.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::command {

/// Prints why inputs are not complete, and notices about inputs. Prints each cause once: not again for the members of
/// an archive whose message has it. Of each kind of notice, the first ones are printed, and the number of the others.
/// One thread.
class input_complaints {
 public:
  explicit input_complaints(bool shows_notices) : shows_notices_(shows_notices) {}

  /// To be called for all inputs, in the order of the report: members follow their archive.
  void add(const pipeline::input_report& input);

  /// To be called after the last input.
  void finish();

 private:
  /// An archive that failed; or another input, in which case no members follow.
  struct archive {
    std::string name;
    std::uint64_t unverified = 0;  // members that are not verified for that reason
  };

  bool repeats(const pipeline::input_report& member);
  void leave();

  bool shows_notices_;
  report::notice_lines notices_;
  std::vector<archive> archives_;  // each is within the one before it
};

/// Whether the reader of --pass-through has closed it. Then failures are not printed, like those of tee.
bool consumer_left(const file_outcome& finished);

/// What is passed through.
enum class passed_text { all, kept };

/// Failures of what is passed through, whose output has this name, of inputs (--without-field fail) and of the engine;
/// unless the run is quiet, also notices about inputs.
void print_failures(const plan& planned, const file_outcome& finished, std::string_view output = "standard output",
                    passed_text passed = passed_text::all);

/// Of a job with --without-field fail: prints how many lines are without field. `folder`: of the job. Returns whether
/// there are some.
bool complain_of_missing_fields(std::uint64_t lines, const std::string& folder);

/// Entries of trees and archives that were not read, and trees without files.
void print_skipped(const plan& planned, const file_outcome& finished);

/// A misspelled command, or a command that is not the first argument, is taken for the name of a missing file.
void suggest_command(const std::vector<std::string>& inputs);

}  // namespace gpuhist::command
