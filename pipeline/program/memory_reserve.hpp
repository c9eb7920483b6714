// How the program ends when memory is exhausted.
#pragma once

namespace gpuhist::pipeline {

/// Sets some memory aside, and what happens when an allocation fails. The first such failure releases the reserve and
/// the allocation is tried again, so that the run can end in order; later ones throw std::bad_alloc as usual. Where
/// that cannot be caught (below a noexcept function, in a thread of a library), the process ends with a message and
/// exit status 1. For the program, whose process it is: libraries do not decide that. Main thread, before any other
/// runs.
void prepare_for_exhausted_memory();

}  // namespace gpuhist::pipeline
