// Changes in simulated logs: quiet ones have none, planted faults are found at their window.
#include "report/changes/change_finder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

using namespace gpuhist::report::changes;
using series = difference::series;

namespace {

constexpr std::size_t classes = 4;  // letters, digits, blanks, others

// Numbers that do not depend on the standard library.
class noise {
 public:
  explicit noise(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}

  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform() + 1e-300)) * std::cos(2 * std::numbers::pi * uniform()); }

  std::uint64_t poisson(double mean) {
    if (mean > 40) return static_cast<std::uint64_t>(std::max(0.0, std::round(mean + std::sqrt(mean) * normal())));
    std::uint64_t count = 0;
    for (double left = std::exp(-mean), product = uniform(); product > left; product *= uniform()) ++count;
    return count;
  }

  // Varies by about this share of its mean, besides its own variation.
  std::uint64_t overdispersed(double mean, double share) {
    return poisson(mean * std::exp(share * normal() - share * share / 2));
  }

 private:
  std::uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }

  std::uint64_t state_;
};

// What a stream has in a window, on average.
struct kind_model {
  double lines = 0;
  double bytes_of_line = 100;
  double digits = 0.2;  // share of the bytes
};

struct model {
  std::size_t windows = 60;
  std::vector<kind_model> kinds{};
  double variation = 0.1;  // of the lines of a window and of its kinds
  std::function<double(std::size_t)> rate = [](std::size_t) { return 1.0; };  // of a window
  std::function<void(std::size_t, std::vector<kind_model>&)> fault{};         // changes the kinds of a window
};

log_stream simulated(const model& of, noise& random) {
  log_stream made{.name = "app.log"};
  made.windows.resize(of.windows);
  std::vector<kind_of_line> kinds(of.kinds.size());
  for (std::size_t window = 0; window < of.windows; ++window) {
    window_counts& counts = made.windows[window];
    counts.classes.resize(classes);
    std::vector<kind_model> now = of.kinds;
    if (of.fault) of.fault(window, now);
    const double common = of.rate(window) * std::exp(of.variation * random.normal());
    const double part = window == 0 || window + 1 == of.windows ? 0.4 : 1;  // partial windows
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::uint64_t lines = random.overdispersed(now[i].lines * common * part, of.variation);
      if (lines == 0) continue;
      const double bytes = static_cast<double>(lines) * now[i].bytes_of_line *
                           (1 + 0.1 * random.normal() / std::sqrt(static_cast<double>(lines)));
      const auto all = static_cast<std::uint64_t>(std::max(1.0, bytes));
      const auto digits = static_cast<std::uint64_t>(
          bytes * std::max(0.0, now[i].digits + 0.02 * random.normal() / std::sqrt(static_cast<double>(lines))));
      kinds[i].windows.push_back({.window = window, .lines = lines, .bytes = all});
      counts.lines += lines;
      counts.bytes += all;
      counts.classes[0] += all - digits;
      counts.classes[1] += digits;
    }
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::uint64_t lines = 0;
    for (const kind_window& each : kinds[i].windows) lines += each.lines;
    kinds[i].text = std::to_string(i);
    if (lines >= 10) made.kinds.push_back(std::move(kinds[i]));
  }
  return made;
}

// Kinds whose numbers of lines are those of Zipf's law.
std::vector<kind_model> usual_kinds(noise& random, std::size_t number = 12, double lines = 200) {
  std::vector<kind_model> made;
  for (std::size_t i = 0; i < number; ++i) {
    made.push_back({.lines = lines / static_cast<double>(i + 1),
                    .bytes_of_line = 60 + 100 * random.uniform(),
                    .digits = 0.1 + 0.3 * random.uniform()});
  }
  return made;
}

std::string words_of(const std::vector<change>& found, const std::vector<log_stream>& streams) {
  std::string text;
  for (const change& each : found) {
    const difference& main = each.differences.front();
    text += "stream " + std::to_string(each.stream) + " of " + std::to_string(streams[each.stream].windows.size()) +
            " windows: series " + std::to_string(static_cast<int>(main.of)) + " " + std::to_string(main.index) + " [" +
            std::to_string(each.first) + "," + std::to_string(each.end) + ") " + std::to_string(main.before) + " -> " +
            std::to_string(main.inside) + " evidence " + std::to_string(each.evidence) + "\n";
  }
  return text;
}

// Runs of 20 quiet streams each. At most 0.05 changes of a run are expected: 2 in 40 runs, and more than 5 with a
// probability below 2 %.
void check_quiet(const std::function<log_stream(noise&)>& make) {
  constexpr std::size_t most_changes = 5;
  std::size_t changes = 0;
  std::string words;
  for (std::uint64_t run = 0; run < 40; ++run) {
    noise random(run + 1);
    std::vector<log_stream> streams;
    for (int i = 0; i < 20; ++i) streams.push_back(make(random));
    const std::vector<change> found = find_changes(streams);
    changes += found.size();
    words += words_of(found, streams);
  }
  CAPTURE(words);
  CHECK(changes <= most_changes);
}

struct planted {
  std::size_t first = 0;
  series of = series::kind;
};

// The fault is found in nearly all of 30 runs among quiet streams, as the first change, within one window.
void check_found(const std::function<model(noise&)>& make, planted truth, std::size_t tolerance = 1) {
  std::size_t right = 0;
  std::string words;
  for (std::uint64_t run = 0; run < 30; ++run) {
    noise random(100 + run);
    std::vector<log_stream> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(simulated({.kinds = usual_kinds(random)}, random));
    streams.push_back(simulated(make(random), random));
    const std::vector<change> found = find_changes(streams);
    words += words_of(found, streams) + "\n";
    if (found.empty() || found.front().stream != 4) continue;
    const std::size_t first = found.front().first;
    const bool has_series =
        std::ranges::any_of(found.front().differences, [&](const difference& each) { return each.of == truth.of; });
    if (has_series && first + tolerance >= truth.first && first <= truth.first + tolerance) ++right;
  }
  CAPTURE(words);
  CHECK(right >= 28);
}

}  // namespace

TEST_CASE("logs that vary as usual have no change") {
  SUBCASE("independent lines") {
    check_quiet([](noise& random) { return simulated({.kinds = usual_kinds(random), .variation = 0}, random); });
  }
  SUBCASE("numbers that vary more") {
    check_quiet([](noise& random) { return simulated({.kinds = usual_kinds(random), .variation = 0.3}, random); });
  }
  SUBCASE("a daily cycle") {
    check_quiet([](noise& random) {
      const double phase = random.uniform() * 6;
      return simulated(
          {.windows = 120,
           .kinds = usual_kinds(random),
           .rate =
               [phase](std::size_t i) { return 2 + std::sin(phase + static_cast<double>(i) * std::numbers::pi / 12); }},
          random);
    });
  }
  SUBCASE("a job each night") {
    check_quiet([](noise& random) {
      std::vector<kind_model> kinds = usual_kinds(random);
      kinds.push_back({.lines = 0});
      return simulated(
          {.windows = 120,
           .kinds = kinds,
           .fault = [](std::size_t i, std::vector<kind_model>& now) { now.back().lines = i % 24 == 3 ? 500 : 0; }},
          random);
    });
  }
  SUBCASE("few windows, and few lines") {
    check_quiet([](noise& random) {
      const auto windows = static_cast<std::size_t>(1 + random.uniform() * 12);
      return simulated({.windows = windows, .kinds = usual_kinds(random, 5, random.uniform() < 0.5 ? 1 : 100)}, random);
    });
  }
  SUBCASE("free text, with new kinds all the time") {
    check_quiet([](noise& random) {
      std::vector<kind_model> kinds = usual_kinds(random, 6);
      std::vector<std::size_t> begins;
      for (int i = 0; i < 30; ++i) {
        kinds.push_back({.lines = 0});
        begins.push_back(static_cast<std::size_t>(random.uniform() * 60));
      }
      return simulated({.kinds = kinds,
                        .fault =
                            [begins](std::size_t window, std::vector<kind_model>& now) {
                              for (std::size_t i = 0; i < begins.size(); ++i) {
                                if (window >= begins[i] && window < begins[i] + 2) now[6 + i].lines = 20;
                              }
                            }},
                       random);
    });
  }
}

TEST_CASE("planted faults are the first change, at their window") {
  SUBCASE("a burst of 143 lines of a kind among 14,000") {
    check_found(
        [](noise& random) {
          std::vector<kind_model> kinds = usual_kinds(random);
          kinds.push_back({.lines = 0.3});
          return model{.kinds = kinds, .fault = [](std::size_t i, std::vector<kind_model>& now) {
                         if (i == 31) now.back().lines = 143;
                       }};
        },
        {.first = 31});
  }
  SUBCASE("a new kind that lasts") {
    check_found(
        [](noise& random) {
          std::vector<kind_model> kinds = usual_kinds(random);
          kinds.push_back({.lines = 0});
          return model{.kinds = kinds, .fault = [](std::size_t i, std::vector<kind_model>& now) {
                         if (i >= 40) now.back().lines = 15;
                       }};
        },
        {.first = 40});
  }
  SUBCASE("a kind that vanishes") {
    check_found(
        [](noise& random) {
          return model{.kinds = usual_kinds(random), .fault = [](std::size_t i, std::vector<kind_model>& now) {
                         if (i >= 35) now[4].lines = 0;
                       }};
        },
        {.first = 35});
  }
  SUBCASE("errors for three windows, in the first quarter") {
    check_found(
        [](noise& random) {
          std::vector<kind_model> kinds = usual_kinds(random);
          kinds.push_back({.lines = 3});
          return model{.kinds = kinds, .fault = [](std::size_t i, std::vector<kind_model>& now) {
                         if (i >= 12 && i < 15) now.back().lines = 32;
                       }};
        },
        {.first = 12});
  }
  SUBCASE("four times as many lines") {
    check_found(
        [](noise& random) {
          return model{.kinds = usual_kinds(random),
                       .rate = [](std::size_t i) { return i >= 30 && i < 35 ? 4.0 : 1.0; }};
        },
        {.first = 30, .of = series::rate});
  }
  SUBCASE("silence") {
    check_found(
        [](noise& random) {
          return model{.kinds = usual_kinds(random),
                       .rate = [](std::size_t i) { return i >= 45 && i < 50 ? 0.0 : 1.0; }};
        },
        {.first = 45, .of = series::rate});
  }
  SUBCASE("longer lines") {
    check_found(
        [](noise& random) {
          return model{.kinds = usual_kinds(random), .fault = [](std::size_t i, std::vector<kind_model>& now) {
                         for (kind_model& each : now) each.bytes_of_line *= i >= 28 ? 1.6 : 1;
                       }};
        },
        {.first = 28, .of = series::length});
  }
  SUBCASE("more digits") {
    check_found(
        [](noise& random) {
          return model{.kinds = usual_kinds(random), .fault = [](std::size_t i, std::vector<kind_model>& now) {
                         for (kind_model& each : now) each.digits *= i >= 50 ? 1.4 : 1;
                       }};
        },
        {.first = 50, .of = series::class_share});
  }
  SUBCASE("a drift over most of the time") {
    check_found(
        [](noise& random) {
          std::vector<kind_model> kinds = usual_kinds(random);
          kinds.push_back({.lines = 20});
          return model{.windows = 120, .kinds = kinds, .fault = [](std::size_t i, std::vector<kind_model>& now) {
                         now.back().lines = 20 + 60 * std::max(0.0, static_cast<double>(i) - 20) / 100;
                       }};
        },
        {.first = 60}, 40);
  }
}

TEST_CASE("two faults of a stream at different times are two changes, and all differences of one are one change") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    noise random(900 + seed);
    std::vector<kind_model> kinds = usual_kinds(random);
    kinds.push_back({.lines = 0, .bytes_of_line = 400, .digits = 0.7});
    kinds.push_back({.lines = 0});
    const std::vector<log_stream> streams = {simulated({.windows = 90,
                                                        .kinds = kinds,
                                                        .fault =
                                                            [](std::size_t i, std::vector<kind_model>& now) {
                                                              if (i >= 30 && i < 36) now[12].lines = 300;
                                                              if (i >= 60 && i < 64) now[13].lines = 200;
                                                            }},
                                                       random)};
    const std::vector<change> found = find_changes(streams);
    CAPTURE(words_of(found, streams));
    CHECK(found.size() == 2);
    std::vector<std::size_t> firsts;
    for (const change& each : found) firsts.push_back(each.first);
    std::ranges::sort(firsts);
    REQUIRE(firsts.size() == 2);
    CHECK((firsts[0] >= 29 && firsts[0] <= 31));
    CHECK((firsts[1] >= 59 && firsts[1] <= 61));
  }
}

TEST_CASE("changes are the same for every order of kinds and streams") {
  noise random(7);
  model with_fault{.kinds = usual_kinds(random)};
  with_fault.fault = [](std::size_t i, std::vector<kind_model>& now) {
    if (i >= 40) now[2].lines *= 3;
  };
  std::vector<log_stream> streams = {simulated(with_fault, random), simulated({.kinds = usual_kinds(random)}, random)};
  const std::vector<change> before = find_changes(streams);
  std::ranges::reverse(streams);
  for (log_stream& each : streams) std::ranges::reverse(each.kinds);
  const std::vector<change> after = find_changes(streams);
  REQUIRE(before.size() == 1);
  REQUIRE(after.size() == 1);
  CHECK(before.front().stream + after.front().stream == 1);
  CHECK(before.front().first == after.front().first);
  CHECK(before.front().evidence == after.front().evidence);
  CHECK(before.front().differences.size() == after.front().differences.size());
}
