// The number of runs and of buffers.
#include "bench/schedule.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::bench;

TEST_CASE("the median is the middle value, or the mean of the two middle values") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({4, 1, 3, 100}) == 3.5);
}

TEST_CASE("there are at least two buffers, and together they are at least eight times the cache") {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
  constexpr std::uint64_t plenty = std::uint64_t{1} << 40U;
  CHECK(buffers_in_turn(mib, 50 * mib, plenty) == 400);
  CHECK(buffers_in_turn(16 * mib, 50 * mib, plenty) == 25);
  CHECK(buffers_in_turn(300 * mib, 50 * mib, plenty) == 2);
  CHECK(buffers_in_turn(4096 * mib, 50 * mib, plenty) == 2);
}

TEST_CASE("buffers never exceed the available memory") {
  CHECK(buffers_in_turn(1000, 1'000'000, 10 * 1024) == 10);  // 1000 bytes take 1024
  CHECK(buffers_in_turn(1024, 1'000'000, 1024) == 1);
  CHECK(buffers_in_turn(1024, 1'000'000, 1023) == 0);
}

TEST_CASE("runs fit into the budget; there is at least one, and not more than requested") {
  CHECK(repetitions_within(0.1, 0.001, 31) == 31);
  CHECK(repetitions_within(0.1, 0.02, 31) == 5);
  CHECK(repetitions_within(0.1, 2, 31) == 1);
  CHECK(repetitions_within(0.1, 0, 31) == 31);
}

TEST_CASE("an entrant with n runs takes part in n rounds, spread evenly") {
  for (const unsigned rounds : {1U, 2U, 31U, 100U}) {
    for (unsigned repetitions = 0; repetitions <= rounds; ++repetitions) {
      CAPTURE(rounds);
      CAPTURE(repetitions);
      unsigned first_half = 0;
      unsigned all = 0;
      for (unsigned round = 0; round < rounds; ++round) {
        if (!takes_part(round, repetitions, rounds)) continue;
        ++all;
        if (2 * round < rounds) ++first_half;
      }
      CHECK(all == repetitions);
      CHECK(2 * first_half + 2 >= repetitions);
      CHECK(2 * first_half <= repetitions + 2);
    }
  }
}
