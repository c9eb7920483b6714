// How the program ends when memory is exhausted.
#pragma once

namespace gpuhist::pipeline {

/// Allocates a reserve of memory and installs the handlers of failed allocations. The first failed allocation releases
/// the reserve and is repeated, so that the run can end in order. Later ones throw std::bad_alloc as usual. If that
/// exception cannot be caught (below a noexcept function, in a thread of a library), the process ends with a message
/// and exit status 1. Only for the program: a library must not replace the handlers of its process. To be called by the
/// main thread before other threads start.
void prepare_for_exhausted_memory();

}  // namespace gpuhist::pipeline
