// The commands, one per file: `gpuhist [FILE...]` counts, `gpuhist report` shows earlier results, `gpuhist devices`
// lists engines and devices, `gpuhist repack` writes archives of many frames, `gpuhist filter` writes the lines that a
// condition keeps. Each prints its messages on standard error and returns how the process ends.
#pragma once

#include "command/plan.hpp"
#include "config/options.hpp"
#include "io/open_descriptors.hpp"
#include "library/file_run.hpp"

#include <functional>

namespace gpuhist::command {

/// How a command ended. If a signal ended it, main() raises the signal again.
struct ending {
  enum status { counted_all = 0, input_failed = 1, wrong_usage = 2, gate_failed = 3 };

  status exit_status = counted_all;
  int signal = 0;        ///< the signal that ended the run; 0: none
  bool at_once = false;  ///< a device is being woken or is lost: the process must end without destructors
};

// All throw config::usage_error, gpu::engine_error, destination_error and std::exception; main() prints them.
// `open_descriptors`: the descriptors that were open when the process started; inputs and outputs may name them.

/// The runs that a command makes after its first one.
struct later_runs {
  std::function<library::finished_run(plan&)> read_more;   ///< of other inputs: shown and written as the first run
  std::function<library::finished_run(plan&)> read_again;  ///< of inputs of an earlier run: nothing is written
};

/// Adds what later runs find to the first one, before its report.
using run_completion = std::function<void(library::finished_run& first, const later_runs& make)>;

/// `complete`: empty: there is one run.
ending count(const config::options& typed, const io::open_descriptors& open_descriptors,
             const run_completion& complete = {});
ending report_results(const config::options& typed, const io::open_descriptors& open_descriptors);
ending list_devices(const config::options& typed, const io::open_descriptors& open_descriptors);
ending filter_inputs(const config::options& typed, const io::open_descriptors& open_descriptors);
ending find_changes(const config::options& typed, const io::open_descriptors& open_descriptors);
ending sample(const config::options& typed, const io::open_descriptors& open_descriptors);
ending find_differences(const config::options& typed, const io::open_descriptors& open_descriptors);
ending repack_inputs(const config::options& typed, const io::open_descriptors& open_descriptors);
ending batch(const config::options& typed, const io::open_descriptors& open_descriptors);
ending merge(const config::options& typed, const io::open_descriptors& open_descriptors);

// `gpuhist merge RESULT...`: adds results in files and in the folders of finished jobs.

/// Whether the operands are results to be added, instead of folders with parts of one job: --format or --output is
/// given, or an operand is not a folder with parts, and no option for parts is given.
bool adds_results(const config::options& typed);

/// Writes the sum to --output. Throws config::usage_error for options that do not fit, and for results whose schemes
/// differ; destination_error; std::system_error.
ending merge_results(const config::options& typed, const io::open_descriptors& open_descriptors);

}  // namespace gpuhist::command
