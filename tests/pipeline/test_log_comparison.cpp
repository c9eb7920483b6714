// Differences of two logs: false alarms between logs of the same process, and planted differences.
#include "log_simulator.hpp"
#include "report/changes/change_finder.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace {

namespace changes = gpuhist::report::changes;
using gpuhist::tests::generator;
using gpuhist::tests::stream_maker;
using gpuhist::tests::stream_plan;
using series = changes::difference::series;

// A log of the first `length` windows of a stream, and one of the others.
changes::log_stream divided(const stream_plan& plan, std::uint64_t seed, std::size_t length) {
  changes::log_stream made = stream_maker(plan, seed).make();
  made.compared_from = length;
  return made;
}

changes::log_stream reversed(const changes::log_stream& of) {
  changes::log_stream made = of;
  made.compared_from = of.windows.size() - of.compared_from;
  const auto begin = static_cast<std::ptrdiff_t>(of.compared_from);
  std::ranges::rotate(made.windows, made.windows.begin() + begin);
  for (changes::kind_of_line& kind : made.kinds) {
    for (changes::kind_window& window : kind.windows) {
      window.window =
          window.window >= of.compared_from ? window.window - of.compared_from : window.window + made.compared_from;
    }
    std::ranges::sort(kind.windows, {}, &changes::kind_window::window);
  }
  return made;
}

std::vector<changes::change> differences(const changes::log_stream& of) {
  return changes::find_changes(std::span(&of, 1));
}

// Runs with a difference.
std::size_t false_alarms(std::size_t runs, const std::function<stream_plan(generator&)>& plan_of) {
  std::size_t sum = 0;
  for (std::size_t seed = 0; seed < runs; ++seed) {
    generator random(seed + 7'000'000);
    stream_plan plan = plan_of(random);
    const std::size_t length = plan.windows;
    const bool is_usual = random.below(3) > 0;
    plan.windows += is_usual ? length : 1 + random.below(2 * length);
    // the windows at the ends of a log are cut
    const double end = random.uniform();
    const double begin = random.uniform();
    plan.rate = [=](std::size_t w) { return w + 1 == length ? end : w == length ? begin : 1.0; };
    sum += differences(divided(plan, seed, length)).empty() ? 0 : 1;
  }
  return sum;
}

// The runs in which `is_found` holds for the only change of two logs of 40 windows.
std::size_t found(stream_plan plan, const std::function<bool(const changes::change&)>& is_found) {
  constexpr std::size_t runs = 40;
  plan.windows = 80;
  std::size_t sum = 0;
  for (std::size_t seed = 0; seed < runs; ++seed) {
    const auto list = differences(divided(plan, seed, 40));
    sum += list.size() == 1 && is_found(list.front()) ? 1 : 0;
  }
  return sum;
}

// Of the first log, and of the second one.
std::function<double(std::size_t)> by_log(double first, double second) {
  return [=](std::size_t w) { return w < 40 ? first : second; };
}

bool is_of(const changes::change& one, series of, std::size_t index) {
  return one.differences.front().of == of && one.differences.front().index == index;
}

}  // namespace

TEST_CASE("comparison: logs of Poisson counts differ no more often than the bound") {
  CHECK(false_alarms(400, [](generator& random) {
          return stream_plan{.windows = 1 + random.below(100),
                             .lines = std::exp(random.between(0, 7)),
                             .kinds = 1 + random.below(60),
                             .partial_ends = true};
        }) <= 20);
}

TEST_CASE("comparison: logs whose rates and mixes vary differ no more often than the bound") {
  CHECK(false_alarms(400, [](generator& random) {
          return stream_plan{.windows = 6 + random.below(100),
                             .lines = std::exp(random.between(2, 8)),
                             .kinds = 1 + random.below(40),
                             .rate_shape = std::exp(random.between(0, 4)),
                             .mix_shape = std::exp(random.between(0, 4)),
                             .partial_ends = true};
        }) <= 20);
}

TEST_CASE("comparison: logs whose rates are correlated in time differ no more often than the bound") {
  CHECK(false_alarms(400, [](generator& random) {
          return stream_plan{.windows = 20 + random.below(150),
                             .lines = std::exp(random.between(2, 8)),
                             .kinds = 1 + random.below(20),
                             .mix_shape = 30,
                             .red = random.between(0.3, 0.9),
                             .red_deviation = random.between(0.1, 0.6)};
        }) <= 20);
}

TEST_CASE("comparison: days with the same cycle of rate and mix do not differ") {
  CHECK(false_alarms(300, [](generator& random) {
          const std::size_t windows_of_day = std::vector<std::size_t>{24, 48, 96}[random.below(3)];
          return stream_plan{.windows = (1 + random.below(3)) * windows_of_day,
                             .lines = std::exp(random.between(2, 7)),
                             .kinds = 2 + random.below(20),
                             .mix_shape = random.below(2) == 0 ? 30.0 : 0.0,
                             .period = static_cast<double>(windows_of_day),
                             .rate_swing = 0.5,
                             .mix_swing = 0.5,
                             .partial_ends = true};
        }) <= 15);
}

TEST_CASE("comparison: new kinds are no difference of logs that have new kinds all the time") {
  std::size_t alarms = 0;
  for (std::size_t seed = 0; seed < 100; ++seed) {
    generator random(seed + 11);
    stream_plan plan{.windows = 100, .lines = 300, .shares = {1, 0.5, 0.3, 0.2, 0.1}};
    plan.shares.resize(205, 0.0);
    std::vector<std::size_t> begins(205);
    for (std::size_t& each : begins) each = random.below(100);
    plan.added = [&](std::size_t k, std::size_t w) {
      if (k < 5 || w < begins[k] || w > begins[k] + k % 5) return 0.0;
      return 5.0 + static_cast<double>((seed * 31 + k * 7 + w) % 10);
    };
    alarms += differences(divided(plan, seed, 50)).empty() ? 0 : 1;
  }
  CHECK(alarms <= 5);
}

TEST_CASE("comparison: equal logs do not differ, whatever their windows") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    generator random(seed);
    const stream_plan plan{
        .windows = 1 + random.below(60), .lines = std::exp(random.between(0, 9)), .rate_shape = 1, .mix_shape = 1};
    changes::log_stream both = stream_maker(plan, seed).make();
    both.compared_from = both.windows.size();
    for (changes::kind_of_line& kind : both.kinds) {
      const std::vector<changes::kind_window> first = kind.windows;
      for (changes::kind_window window : first) {
        window.window += both.compared_from;
        kind.windows.push_back(window);
      }
    }
    const std::vector<changes::window_counts> first = both.windows;
    both.windows.insert(both.windows.end(), first.begin(), first.end());
    CHECK(differences(both).empty());
  }
}

TEST_CASE("comparison: a kind that is new, one that vanished, and a share that has grown are found") {
  stream_plan plan{};
  const auto set_share = [&](std::size_t kind, double first, double second) {
    plan.share = [=](std::size_t k, std::size_t w) { return k == kind ? by_log(first, second)(w) : 1.0; };
  };
  set_share(7, 1, 0);
  CHECK(found(plan, [](const auto& one) {
          return is_of(one, series::kind, 7) && one.differences.front().inside == 0;
        }) == 40);
  set_share(9, 0, 1);
  CHECK(found(plan, [](const auto& one) {
          return is_of(one, series::kind, 9) && one.differences.front().before == 0;
        }) == 40);
  set_share(6, 1, 2);
  CHECK(found(plan, [](const auto& one) { return is_of(one, series::kind, 6); }) == 40);
}

TEST_CASE("comparison: rates, lengths of lines and bytes that differ are found") {
  stream_plan faster{.rate_shape = 20};
  faster.rate = by_log(1, 2);
  CHECK(found(faster, [](const auto& one) { return is_of(one, series::rate, 0); }) == 40);
  stream_plan longer{};
  longer.length = by_log(1, 1.6);
  CHECK(found(longer, [](const auto& one) { return is_of(one, series::length, 0); }) == 40);
  stream_plan digits{};
  digits.digits = by_log(0.3, 0.5);
  CHECK(found(digits, [](const auto& one) {
          return std::ranges::any_of(one.differences, [](const changes::difference& each) {
            return each.of == series::class_share && each.index == 2;
          });
        }) == 40);
}

TEST_CASE("comparison: what varies from window to window by a factor of three is no difference") {
  CHECK(false_alarms(200, [](generator& /*random*/) {
          return stream_plan{.windows = 30, .lines = 2000, .kinds = 10, .mix_shape = 0.8};
        }) <= 10);
}

TEST_CASE("comparison: the order of the logs does not matter") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    stream_plan plan{.windows = 47, .mix_shape = 20};
    plan.share = [](std::size_t k, std::size_t w) { return k == 4 && w >= 30 ? 3 : 1.0; };
    const changes::log_stream both = divided(plan, seed, 30);
    const auto forward = differences(both);
    const auto backward = differences(reversed(both));
    REQUIRE(forward.size() == 1);
    REQUIRE(backward.size() == 1);
    CHECK(forward[0].evidence == doctest::Approx(backward[0].evidence));
    CHECK(forward[0].differences.front().before == doctest::Approx(backward[0].differences.front().inside));
  }
}

TEST_CASE("comparison: of one window on each side, counts alone are compared, and no rates") {
  changes::log_stream stream{.windows = {{.lines = 1000, .bytes = 100'000, .classes = {100'000}},
                                         {.lines = 9000, .bytes = 900'000, .classes = {900'000}}},
                             .compared_from = 1};
  CHECK_FALSE(changes::has_known_dispersion(stream));
  stream.kinds = {
      {.text = "a",
       .windows = {{.window = 0, .lines = 900, .bytes = 90'000}, {.window = 1, .lines = 8100, .bytes = 810'000}}},
      {.text = "b",
       .windows = {{.window = 0, .lines = 100, .bytes = 10'000}, {.window = 1, .lines = 900, .bytes = 90'000}}}};
  CHECK(differences(stream).empty());
  stream.kinds[1].windows[1] = {.window = 1, .lines = 300, .bytes = 30'000};
  stream.kinds[0].windows[1] = {.window = 1, .lines = 8700, .bytes = 870'000};
  const auto list = differences(stream);
  REQUIRE(list.size() == 1);
  const auto b = std::ranges::find_if(list[0].differences, [](const auto& one) { return one.index == 1; });
  REQUIRE(b != list[0].differences.end());
  CHECK(b->before == doctest::Approx(0.1));
  CHECK(b->inside == doctest::Approx(300 / 9000.0));
  CHECK(b->lines == 300);
}
