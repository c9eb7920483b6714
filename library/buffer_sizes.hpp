// The sizes of the buffers of a run, within its memory limit.
#pragma once

#include "gpuhist/files.hpp"

namespace gpuhist::pipeline {

struct counting_plan;

/// Sets `planned.buffers`, `planned.readers` and the text that units hold, from the options, the engines and the counts
/// that are planned. Throws config::option_error if the buffers need more than the memory limit.
void size_buffers(const file_options& options, counting_plan& planned);

}  // namespace gpuhist::pipeline
