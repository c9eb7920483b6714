// Ranges of the frames of a call, worked on by several threads.
#pragma once

#include "gpu/host/process_limits.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpuhist::gpu::samples {

struct frame_range {
  std::uint64_t first;
  std::uint64_t last;
};

/// Range `index` of `ranges` nearly equal ranges of the frames.
inline frame_range range_of(std::uint64_t frames, unsigned ranges, unsigned index) {
  const auto begin = [&](unsigned range) {
    return frames / ranges * range + std::min<std::uint64_t>(range, frames % ranges);
  };
  return {begin(index), begin(index + 1)};
}

/// Threads for work in `ranges` ranges: at least 1. `asked`: 0: as many as there are cores.
inline unsigned threads_for(std::uint64_t ranges, unsigned asked) {
  if (ranges > 1 && asked == 0) asked = gpu::host::available_cores();
  return static_cast<unsigned>(std::clamp<std::uint64_t>(ranges, 1, std::max(asked, 1U)));
}

/// Calls `work(index)` for each range on up to `threads` threads, including this one: on fewer if the system refuses a
/// thread. Rethrows the first exception when all threads have ended.
template <class Work>
void run_ranges(unsigned ranges, unsigned threads, const Work& work) {
  std::atomic<unsigned> next{0};
  std::exception_ptr failed;
  std::mutex failing;
  const auto run = [&] {
    try {
      for (unsigned index = next++; index < ranges; index = next++) work(index);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failed) failed = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    helpers.reserve(threads);
    try {
      while (helpers.size() + 1 < std::min(threads, ranges)) helpers.emplace_back(run);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): the threads that exist do all of the work
    }
    run();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace gpuhist::gpu::samples
