#include "batch/parallel_work.hpp"

#include "library/signals.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gpuhist::batch {

void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work_off = [&] {
    try {
      for (std::size_t each = next++; each < count; each = next++) work(each);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  const auto join_all = [&] {
    for (std::thread& each : others) each.join();
  };
  try {
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) {
      others.push_back(library::start_without_signals(work_off));
    }
  } catch (...) {
    next = count;
    join_all();
    throw;
  }
  work_off();
  join_all();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gpuhist::batch
