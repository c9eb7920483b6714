// The progress of a run.
#pragma once

#include <cstdint>

namespace gpuhist::pipeline {

struct run_progress {
  std::uint64_t source_bytes = 0;  ///< read from the inputs so far, as they are stored
  std::uint64_t text_bytes = 0;    ///< counted and merged so far
  double seconds = 0;              ///< since the first read
};

}  // namespace gpuhist::pipeline
