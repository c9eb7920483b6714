// The commands, one a file: `gpuhist [FILE...]` counts, `gpuhist report` renders kept counts, `gpuhist devices` lists
// what could count, `gpuhist repack` writes archives that split well. Each says on standard error what people must know
// and returns how the process is to end.
#pragma once

#include "config/options.hpp"
#include "io/open_descriptors.hpp"

namespace gpuhist::pipeline {

/// How a command ended. A process that a signal ended raises it again (main does).
struct ending {
  enum status { counted_all = 0, input_failed = 1, wrong_usage = 2, gate_failed = 3 };

  status exit_status = counted_all;
  int signal = 0;        ///< the signal that ended the run; 0: none
  bool at_once = false;  ///< a device is being woken, or lost: nothing of the process may be torn down
};

// All throw config::usage_error, gpu::engine_error, destination_error and std::exception; main says so. `given`: the
// descriptors that inputs and outputs may name.

ending count(const config::options& typed, const io::open_descriptors& given);
ending report_results(const config::options& typed, const io::open_descriptors& given);
ending list_devices(const config::options& typed, const io::open_descriptors& given);
ending repack_inputs(const config::options& typed, const io::open_descriptors& given);

}  // namespace gpuhist::pipeline
