#include "bench/parallel.hpp"

#include <barrier>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gpuhist::bench {

double run_in_parallel(unsigned threads, const std::function<void(unsigned thread)>& work) {
  using clock = std::chrono::steady_clock;
  std::exception_ptr error;
  std::mutex error_mutex;
  clock::time_point began;
  std::barrier start(static_cast<std::ptrdiff_t>(threads), [&]() noexcept { began = clock::now(); });
  std::vector<std::jthread> running;
  for (unsigned i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(error_mutex);
        error = std::current_exception();
      }
    });
  }
  running.clear();  // joins
  const double seconds = std::chrono::duration<double>(clock::now() - began).count();
  if (error) std::rethrow_exception(error);
  return seconds;
}

}  // namespace gpuhist::bench
