// Work on many files at once, before a run.
#pragma once

#include <cstddef>
#include <functional>

namespace gpuhist::batch {

/// Calls `work` with each number below `count`, on at most so many threads, and returns when all calls have returned.
/// Throws an exception of `work`, after which no further call begins, and std::system_error if a thread cannot be
/// started.
void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

}  // namespace gpuhist::batch
