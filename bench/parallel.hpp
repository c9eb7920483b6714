// Runs one function on several threads, which start together, and measures the time.
#pragma once

#include <functional>

namespace gpuhist::bench {

/// Calls work(0) ... work(threads - 1), each on its own thread. Returns the seconds from the common start to the end of
/// the last one. Rethrows the exception of one of them.
double run_in_parallel(unsigned threads, const std::function<void(unsigned thread)>& work);

}  // namespace gpuhist::bench
