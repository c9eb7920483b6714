#include "bench/core_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace gpuhist::bench {
namespace {

constexpr int rounds = 50;
constexpr int steps = 20'000;
constexpr int additions = 8;  // per step: enough to hide the loop

// The asm statement marks the sum as read and modified, so that the next addition waits for this one.
std::uint64_t add_one(std::uint64_t sum) {
  sum += 1;
  asm volatile("" : "+r"(sum));
  return sum;
}

std::uint64_t add_in_sequence(std::uint64_t sum) {
  return add_one(add_one(add_one(add_one(add_one(add_one(add_one(add_one(sum))))))));
}

// CPU time of this thread: other users of the core do not increase it.
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
    for (int i = 0; i < steps; ++i) sum = add_in_sequence(sum);
    best = std::max(best, steps * additions / (cpu_seconds() - begin));
  }
  return best;
}

}  // namespace gpuhist::bench
