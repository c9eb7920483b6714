#include "bench/core_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace gpuhist::bench {
namespace {

constexpr int rounds = 50;
constexpr int steps = 20'000;
constexpr int additions = 8;  // a step: enough to hide the loop around them

// The compiler is told that the sum is read and changed, so that the next addition waits for this one.
std::uint64_t add_one(std::uint64_t sum) {
  sum += 1;
  asm volatile("" : "+r"(sum));
  return sum;
}

std::uint64_t add_in_turn(std::uint64_t sum) {
  return add_one(add_one(add_one(add_one(add_one(add_one(add_one(add_one(sum))))))));
}

// Of this thread: whoever else uses the core does not slow it.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double core_clock() {
  double best = 0;
  std::uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const double begin = cpu_seconds();
    for (int i = 0; i < steps; ++i) sum = add_in_turn(sum);
    best = std::max(best, steps * additions / (cpu_seconds() - begin));
  }
  return best;
}

}  // namespace gpuhist::bench
