// The history of the slots, compared with an oracle that records every transition and integrates over all of them.
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/statistics/occupancy.hpp"

#include "tests/support/run_coroutine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using std::chrono::nanoseconds;

namespace {

struct transition {
  std::int64_t at = 0;  // nanoseconds since the beginning
  int filling = 0;      // slots from then on
  int counting = 0;
};

// The integral of `count` from begin to end, in slots x nanoseconds.
double integral(const std::vector<transition>& all, int transition::* count, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t until = i + 1 < all.size() ? all[i + 1].at : end;
    const std::int64_t length = std::min(until, end) - std::max(all[i].at, begin);
    if (length > 0) sum += static_cast<double>(length) * all[i].*count;
  }
  return sum;
}

double time_without_free_slot(const std::vector<transition>& all, int slots, std::int64_t end) {
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t until = i + 1 < all.size() ? all[i + 1].at : end;
    if (all[i].filling + all[i].counting == slots) sum += static_cast<double>(until - all[i].at);
  }
  return sum;
}

void check_against_oracle(const slot_history& history, const std::vector<transition>& all, int slots,
                          std::int64_t end) {
  const double possible = slots * static_cast<double>(end);
  CHECK(history.filling_share == doctest::Approx(integral(all, &transition::filling, 0, end) / possible));
  CHECK(history.counting_share == doctest::Approx(integral(all, &transition::counting, 0, end) / possible));
  CHECK(history.free_share + history.filling_share + history.counting_share == doctest::Approx(1));
  CHECK(history.none_free_share == doctest::Approx(time_without_free_slot(all, slots, end) / static_cast<double>(end)));
  const auto step = static_cast<std::int64_t>(history.step_seconds * 1e9 + 0.5);
  REQUIRE(history.in_use.size() <= occupancy::bins);
  REQUIRE(static_cast<std::int64_t>(history.in_use.size()) == (end + step - 1) / step);
  for (std::size_t i = 0; i < history.in_use.size(); ++i) {
    const std::int64_t from = step * static_cast<std::int64_t>(i);
    const std::int64_t to = std::min(end, from + step);
    const double used = integral(all, &transition::filling, from, to) + integral(all, &transition::counting, from, to);
    CHECK(history.in_use[i] == doctest::Approx(used / (slots * static_cast<double>(to - from))));
  }
}

}  // namespace

TEST_CASE("the history of random transitions equals the integral over every one of them") {
  std::mt19937 random(11);
  const occupancy::time_point begin{std::chrono::hours(3)};
  for (int run = 0; run < 60; ++run) {
    const int slots = 1 + static_cast<int>(random() % 9);
    occupancy recorder(static_cast<std::size_t>(slots), begin);
    std::vector<transition> all{{}};
    std::vector<phase> phases(static_cast<std::size_t>(slots), phase::free);
    const std::int64_t longest = std::int64_t{1} << (random() % 34);
    for (int i = 0; i < 300; ++i) {
      transition next = all.back();
      next.at += static_cast<std::int64_t>(random()) % longest * (random() % 5 == 0 ? 7 : 1);
      phase& slot = phases[random() % phases.size()];
      const auto to = static_cast<phase>(random() % 3);
      next.filling += (to == phase::filling ? 1 : 0) - (slot == phase::filling ? 1 : 0);
      next.counting += (to == phase::counting ? 1 : 0) - (slot == phase::counting ? 1 : 0);
      recorder.move(slot, to, begin + nanoseconds(next.at));
      slot = to;
      all.push_back(next);
    }
    const std::int64_t end = all.back().at + static_cast<std::int64_t>(random() % 1000) + 1;
    check_against_oracle(recorder.read(begin + nanoseconds(end)), all, slots, end);
  }
}

TEST_CASE("a run of more than a millisecond has at least 32 steps, however long it is") {
  const occupancy::time_point begin{};
  for (std::int64_t length = 1'100'000; length < std::int64_t{1} << 54U; length = length * 5 / 3) {
    occupancy recorder(2, begin);
    recorder.move(phase::free, phase::filling, begin + nanoseconds(length / 2));
    const slot_history history = recorder.read(begin + nanoseconds(length));
    CHECK(history.in_use.size() >= occupancy::bins / 2);
    CHECK(history.in_use.size() <= occupancy::bins);
    CHECK(history.in_use.front() == 0);
    CHECK(history.in_use.back() == 0.5);
  }
}

TEST_CASE("a history without time has only free shares, and one that is read early ends with its last transition") {
  const occupancy::time_point begin{};
  occupancy recorder(2, begin);
  CHECK(recorder.read(begin).free_share == 1);
  CHECK(recorder.read(begin).in_use.empty());
  recorder.move(phase::free, phase::filling, begin + nanoseconds(5));
  recorder.move(phase::filling, phase::counting, begin + nanoseconds(10));
  const slot_history history = recorder.read(begin);
  CHECK(history.filling_share == doctest::Approx(0.25));
  CHECK(history.free_share == doctest::Approx(0.75));
}

TEST_CASE("the ring keeps the history of its slots") {
  async::worker_pool pool(1);
  ring tested({.slots = 2, .chunk_bytes = 4096, .max_extents = 1, .row_columns = 1});
  tested.begin_history();
  slot* only = test::run(pool, tested.acquire());
  tested.begin_counting(*only);
  CHECK(only->current_phase == phase::counting);
  const auto later = std::chrono::steady_clock::now() + std::chrono::hours(1);
  CHECK(tested.history(later).counting_share == doctest::Approx(0.5).epsilon(0.01));
  CHECK(tested.history(later).none_free_share == 0);
  slot* other = test::run(pool, tested.acquire());
  CHECK(tested.history(later).filling_share == doctest::Approx(0.5).epsilon(0.01));
  CHECK(tested.history(later).none_free_share == doctest::Approx(1).epsilon(0.01));
  tested.release(*only);
  tested.release(*other);
  CHECK(tested.history(later).free_share == doctest::Approx(1).epsilon(0.01));
}
