// Parts of the frames of a call, worked on by several threads.
#pragma once

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

/// Part `index` of `parts` nearly equal parts of the frames.
inline frame_range part_of(std::uint64_t frames, unsigned parts, unsigned index) {
  const auto begin = [&](unsigned part) {
    return frames / parts * part + std::min<std::uint64_t>(part, frames % parts);
  };
  return {begin(index), begin(index + 1)};
}

/// Calls `work(index)` for each part on up to `threads` threads, including this one: on fewer if the system refuses a
/// thread. Rethrows the first exception when all threads have ended.
template <class Work>
void run_parts(unsigned parts, unsigned threads, const Work& work) {
  std::atomic<unsigned> next{0};
  std::exception_ptr failed;
  std::mutex failing;
  const auto run = [&] {
    try {
      for (unsigned index = next++; index < parts; index = next++) work(index);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failed) failed = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    helpers.reserve(threads);
    try {
      while (helpers.size() + 1 < std::min(threads, parts)) helpers.emplace_back(run);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): the threads that exist do all of the work
    }
    run();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace gpuhist::gpu::samples
