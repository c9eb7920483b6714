// The folder for temporary files.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"

namespace gpuhist::pipeline {

/// $TMPDIR, else /tmp; the folder may not exist.
spill_folder temporary_folder();

}  // namespace gpuhist::pipeline
