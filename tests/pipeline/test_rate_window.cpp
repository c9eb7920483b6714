// Rates over a sliding window, at times chosen by the test.
#include "report/output/progress.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::pipeline;

namespace {

run_progress at(double seconds, std::uint64_t source, std::uint64_t text) {
  return {.source_bytes = source, .text_bytes = text, .seconds = seconds};
}

}  // namespace

TEST_CASE("a run that is younger than the window has the rates since its start") {
  rate_window window(3);
  CHECK(window.rates().source == 0);
  window.add(at(0.5, 100, 1000));
  window.add(at(2, 400, 3000));
  CHECK(window.rates().source == doctest::Approx(200));
  CHECK(window.rates().text == doctest::Approx(1500));
}

TEST_CASE("times before the window do not count: a run that stalls for a whole window has rate 0") {
  rate_window window(3);
  for (int i = 1; i <= 100; ++i) window.add(at(0.2 * i, 1000ULL * static_cast<unsigned>(i), 0));
  CHECK(window.rates().source == doctest::Approx(5000));
  for (int i = 101; i <= 115; ++i) window.add(at(0.2 * i, 100'000, 0));
  CHECK(window.rates().source < 100);
  window.add(at(0.2 * 117, 100'000, 0));
  CHECK(window.rates().source == 0);
}

TEST_CASE("a run that becomes faster shows its new rate one window later") {
  rate_window window(3);
  for (int second = 1; second <= 10; ++second) window.add(at(second, 100ULL * static_cast<unsigned>(second), 0));
  for (int second = 11; second <= 13; ++second) window.add(at(second, 1000ULL * static_cast<unsigned>(second - 9), 0));
  CHECK(window.rates().source == doctest::Approx(1000));
}

TEST_CASE("samples that are farther apart than the window are compared in pairs") {
  rate_window window(3);
  window.add(at(10, 100, 0));
  window.add(at(20, 1100, 0));
  CHECK(window.rates().source == doctest::Approx(100));
}
