// Changes of logs: false alarms in streams in which nothing changes, and planted faults.
#include "log_simulator.hpp"
#include "report/changes/change_finder.hpp"
#include "report/changes/dispersion.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace changes = gpuhist::report::changes;
using gpuhist::tests::generator;
using gpuhist::tests::stream_maker;
using gpuhist::tests::stream_plan;
using series = changes::difference::series;

std::vector<changes::change> find_in(const stream_plan& plan, std::uint64_t seed) {
  const changes::log_stream stream = stream_maker(plan, seed).make();
  return changes::find_changes(std::span(&stream, 1));
}

// False changes in runs of one stream each.
std::size_t false_changes(std::size_t runs, const std::function<stream_plan(generator&)>& plan_of) {
  std::size_t sum = 0;
  for (std::size_t seed = 0; seed < runs; ++seed) {
    generator random(seed + 5'000'000);
    sum += find_in(plan_of(random), seed).size();
  }
  return sum;
}

bool has(const std::vector<changes::change>& found, std::size_t first, std::size_t end) {
  const auto within_one = [](std::size_t a, std::size_t b) { return a <= b + 1 && b <= a + 1; };
  return std::ranges::any_of(
      found, [&](const changes::change& one) { return within_one(one.first, first) && within_one(one.end, end); });
}

struct fault {
  std::size_t first = 0;
  std::size_t end = 0;
  friend bool operator==(const fault&, const fault&) = default;
};

// Streams in which exactly the planted faults are found, with their ends within one window.
int exactly_found(const stream_plan& plan, const std::vector<fault>& faults, int runs = 40) {
  int exact = 0;
  for (int seed = 0; seed < runs; ++seed) {
    const auto found = find_in(plan, static_cast<std::uint64_t>(seed) + 900);
    const bool all = std::ranges::all_of(faults, [&](const fault& one) { return has(found, one.first, one.end); });
    exact += all && found.size() == faults.size() ? 1 : 0;
  }
  return exact;
}

// The share of a kind of 20 is multiplied in these windows.
std::function<double(std::size_t, std::size_t)> share_of(std::size_t kind, std::size_t first, std::size_t end,
                                                         double factor) {
  return [=](std::size_t k, std::size_t w) { return k == kind && w >= first && w < end ? factor : 1.0; };
}

stream_plan daily(generator& random) {
  const double windows_of_hour = std::vector<double>{1, 2, 4}[random.below(3)];
  return {.windows = static_cast<std::size_t>(random.between(3, 10) * 24 * windows_of_hour),
          .lines = std::exp(random.between(2, 7)),
          .kinds = 2 + random.below(20),
          .mix_shape = random.below(2) == 0 ? 30.0 : 0.0,
          .period = 24 * windows_of_hour,
          .rate_swing = 0.5,
          .mix_swing = 0.5,
          .partial_ends = true};
}

// Kinds 9 to 11 have bursts of lines in one window of each period.
stream_plan with_job(generator& random, std::size_t period, std::size_t windows) {
  const std::size_t at = random.below(period);
  const double lines = std::exp(random.between(3, 6.5));
  const std::size_t seed = random.below(1'000'000);
  return {.windows = windows,
          .lines = std::exp(random.between(2, 6)),
          .kinds = 12,
          .added = [=](std::size_t k, std::size_t w) {
            generator size(seed + w * 31 + k);
            return k >= 9 && w % period == at ? lines * static_cast<double>(k - 8) * size.between(0.8, 1.2) : 0.0;
          }};
}

// New kinds of few windows and about 15 lines a window appear in every window.
stream_plan free_text(generator& random) {
  stream_plan plan{.windows = 40 + random.below(100), .lines = 300, .shares = {1, 0.5, 0.3, 0.2, 0.1}};
  const std::size_t usual = plan.shares.size();
  plan.shares.resize(usual + 60 + random.below(60), 0.0);
  struct life {
    std::size_t first, windows;
    double lines;
  };
  std::vector<life> lives;
  for (std::size_t i = usual; i < plan.shares.size(); ++i) {
    lives.push_back({random.below(plan.windows), 1 + random.below(5), 3 + 12 * random.gamma(1)});
  }
  const std::size_t seed = random.below(1'000'000);
  plan.added = [=](std::size_t k, std::size_t w) {
    if (k < usual || w < lives[k - usual].first || w >= lives[k - usual].first + lives[k - usual].windows) return 0.0;
    generator lines(seed + w * 1009 + k);
    return lines.poisson(lives[k - usual].lines);
  };
  return plan;
}

}  // namespace

TEST_CASE("changes: Poisson counts give no more false changes than the bound") {
  const auto plan = [](generator& random) {
    return stream_plan{.windows = 6 + random.below(190),
                       .lines = std::exp(random.between(0, 7)),
                       .kinds = 1 + random.below(60),
                       .partial_ends = true};
  };
  CHECK(false_changes(400, plan) <= 20);
}

TEST_CASE("changes: overdispersed rates and mixes give no more false changes than the bound") {
  const auto plan = [](generator& random) {
    return stream_plan{.windows = 6 + random.below(150),
                       .lines = std::exp(random.between(2, 8)),
                       .kinds = 1 + random.below(40),
                       .rate_shape = std::exp(random.between(0, 4)),
                       .mix_shape = std::exp(random.between(0, 4)),
                       .partial_ends = true};
  };
  CHECK(false_changes(400, plan) <= 20);
}

TEST_CASE("changes: rates that are correlated in time give no more false changes than the bound") {
  const auto plan = [](generator& random) {
    return stream_plan{.windows = 20 + random.below(150),
                       .lines = std::exp(random.between(2, 8)),
                       .kinds = 1 + random.below(20),
                       .mix_shape = 30,
                       .red = random.between(0.3, 0.9),
                       .red_deviation = random.between(0.1, 0.6)};
  };
  CHECK(false_changes(400, plan) <= 20);
}

TEST_CASE("changes: daily cycles of rate and mix are no change") { CHECK(false_changes(300, daily) <= 15); }

TEST_CASE("changes: jobs of each hour and each night are no change") {
  CHECK(false_changes(200, [](generator& random) { return with_job(random, 4, 96 + random.below(100)); }) <= 10);
  CHECK(false_changes(200, [](generator& random) { return with_job(random, 12, 96 + random.below(100)); }) <= 10);
  CHECK(false_changes(200, [](generator& random) { return with_job(random, 24, 24 * (4 + random.below(6))); }) <= 10);
}

TEST_CASE("changes: a burst that occurs twice is a change, one that occurs three times at equal distances is none") {
  for (const std::size_t times : {2, 3, 4}) {
    int changed = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      stream_plan plan{.windows = 96};
      plan.added = [=](std::size_t k, std::size_t w) { return k == 3 && w % 24 == 10 && w / 24 < times ? 200.0 : 0.0; };
      changed += find_in(plan, seed).empty() ? 0 : 1;
    }
    CHECK(changed == (times == 2 ? 20 : 0));
  }
}

TEST_CASE("changes: a restart of few lines each week is no change") {
  const auto plan = [](generator& random) {
    stream_plan made{.windows = 168, .lines = std::exp(random.between(2, 6))};
    made.shares = {1, 0.5, 0.3, 0.2, 0.1, 0, 0, 0, 0, 0, 0, 0, 0};
    const std::size_t at = random.below(84);
    made.added = [=](std::size_t k, std::size_t w) { return k >= 5 && w % 84 == at ? 1.0 : 0.0; };
    return made;
  };
  CHECK(false_changes(200, plan) <= 10);
}

TEST_CASE("changes: rare kinds that appear again and again are no change") {
  CHECK(false_changes(300, free_text) <= 15);
  const auto zipf = [](generator& random) {
    return stream_plan{.windows = 20 + random.below(150), .lines = std::exp(random.between(4, 7)), .kinds = 1000};
  };
  CHECK(false_changes(60, zipf) <= 3);
}

TEST_CASE("changes: streams of few windows or few lines have no change") {
  const auto few_windows = [](generator& random) {
    return stream_plan{.windows = 1 + random.below(8),
                       .lines = std::exp(random.between(1, 8)),
                       .rate_shape = 5,
                       .mix_shape = 5,
                       .partial_ends = true};
  };
  CHECK(false_changes(400, few_windows) <= 20);
  const auto few_lines = [](generator& random) {
    const std::size_t windows = 1 + random.below(100);
    return stream_plan{.windows = windows, .lines = 5 / static_cast<double>(windows), .kinds = 3};
  };
  CHECK(false_changes(400, few_lines) == 0);
  CHECK(changes::find_changes({}).empty());
  CHECK(changes::find_changes(std::vector<changes::log_stream>(3)).empty());
}

TEST_CASE("changes: a burst of a kind in one window is found, with its lines") {
  stream_plan plan{.shares = {0.4, 0.3, 0.2, 0.1, 0.087}};
  plan.added = [](std::size_t k, std::size_t w) { return k == 4 && w == 37 ? 123.0 : 0.0; };
  CHECK(exactly_found(plan, {{37, 38}}) == 40);
  const auto found = find_in(plan, 1);
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].lasts);
  CHECK(found[0].differences[0].of == series::kind);
  CHECK(found[0].differences[0].index == 4);
  CHECK(found[0].differences[0].lines > 120);
  CHECK(found[0].differences[0].before < 0.12);
}

TEST_CASE("changes: a new kind, one that vanishes, and a step in the first quarter last to the end") {
  stream_plan plan{};
  plan.share = [](std::size_t k, std::size_t w) { return k == 10 ? (w >= 40 ? 0.8 : 0.0) : 1.0; };
  CHECK(exactly_found(plan, {{40, 60}}) == 40);
  CHECK(find_in(plan, 1)[0].lasts);
  plan.share = share_of(5, 35, 60, 0);
  CHECK(exactly_found(plan, {{35, 60}}) == 40);
  plan.share = share_of(6, 9, 60, 5);
  CHECK(exactly_found(plan, {{9, 60}}) >= 39);
}

TEST_CASE("changes: an error share of 5 percent instead of 0.5 for three windows is found") {
  stream_plan plan{.lines = 500};
  plan.share = [](std::size_t k, std::size_t w) { return k == 19 ? (w >= 25 && w < 28 ? 3.6 : 0.36) : 1.0; };
  CHECK(exactly_found(plan, {{25, 28}}) == 40);
}

TEST_CASE("changes: rates that rise or fall are found, also in a daily cycle") {
  stream_plan plan{.rate_shape = 20};
  plan.rate = [](std::size_t w) { return w >= 30 && w < 35 ? 3.0 : 1.0; };
  CHECK(exactly_found(plan, {{30, 35}}) >= 38);
  plan.rate = [](std::size_t w) { return w >= 44 ? 0.0 : 1.0; };
  CHECK(exactly_found(plan, {{44, 60}}) == 40);
  stream_plan cycle{.windows = 384, .period = 96, .rate_swing = 0.5, .mix_swing = 0.3};
  cycle.rate = [](std::size_t w) { return w >= 230 && w < 235 ? 3.0 : 1.0; };
  CHECK(exactly_found(cycle, {{230, 235}}, 10) == 10);
}

TEST_CASE("changes: lines that are longer or have other bytes are found") {
  stream_plan longer{};
  longer.length = [](std::size_t w) { return w >= 33 ? 1.6 : 1.0; };
  CHECK(exactly_found(longer, {{33, 60}}) == 40);
  stream_plan digits{};
  digits.digits = [](std::size_t w) { return w >= 20 && w < 30 ? 0.44 : 0.31; };
  CHECK(exactly_found(digits, {{20, 30}}) == 40);
  const auto found = find_in(digits, 1);
  CHECK(found[0].differences[0].of == series::class_share);
  CHECK(found[0].differences[0].index == 2);
}

TEST_CASE("changes: slow drifts are one change that lasts") {
  stream_plan share{.windows = 180};
  share.share = [](std::size_t k, std::size_t w) {
    const double part = 0.05 + 0.10 * static_cast<double>(w) / 180;
    return k == 7 ? part / (1 - part) * 27.8 : 1.0;
  };
  stream_plan length{.windows = 120};
  length.length = [](std::size_t w) { return std::pow(1.01, static_cast<double>(w) / 4); };
  for (const stream_plan& plan : {share, length}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const auto found = find_in(plan, seed);
      REQUIRE(found.size() == 1);
      CHECK(found[0].lasts);
      CHECK(found[0].first <= plan.windows * 2 / 3);
      CHECK(found[0].differences[0].inside > found[0].differences[0].before);
    }
  }
}

TEST_CASE("changes: two faults at different times are two changes") {
  stream_plan plan{};
  plan.share = [](std::size_t k, std::size_t w) {
    return (k == 6 && w >= 12 && w < 15 ? 8.0 : 1.0) * (k == 9 && w < 41 ? 0.0 : 1.0);
  };
  CHECK(exactly_found(plan, {{12, 15}, {41, 60}}) == 40);
  plan.share = [](std::size_t k, std::size_t w) {
    return (k == 6 && w >= 20 ? 4.0 : 1.0) * (k == 9 && w >= 45 && w < 47 ? 10.0 : 1.0);
  };
  CHECK(exactly_found(plan, {{20, 60}, {45, 47}}) >= 39);
  plan.share = [](std::size_t k, std::size_t w) {
    return k == 6 && ((w >= 20 && w < 22) || (w >= 45 && w < 49)) ? 8.0 : 1.0;
  };
  CHECK(exactly_found(plan, {{20, 22}, {45, 49}}) >= 39);
}

TEST_CASE("changes: kinds whose share falls only because another kind has a burst are not listed") {
  stream_plan plan{.kinds = 10};
  plan.added = [](std::size_t k, std::size_t w) { return k == 3 && w == 30 ? 3000.0 : 0.0; };
  const auto found = find_in(plan, 2);
  REQUIRE(found.size() == 1);
  const auto& listed = found[0].differences;
  CHECK(std::ranges::count_if(listed, [](const auto& one) { return one.of == series::kind; }) == 1);
  CHECK(std::ranges::any_of(listed, [](const auto& one) { return one.of == series::kind && one.index == 3; }));
}

TEST_CASE("changes: a giant line is no change of length") {
  changes::log_stream stream = stream_maker(stream_plan{}, 3).make();
  stream.windows[30].lines += 1;
  stream.windows[30].bytes += 10'000'000;
  stream.windows[30].classes[0] += 10'000'000;
  CHECK(changes::find_changes(std::span(&stream, 1)).empty());
}

TEST_CASE("changes: the partial first and last windows are no change of rate") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    changes::log_stream stream = stream_maker(stream_plan{.lines = 1000}, seed).make();
    for (const std::size_t end : {std::size_t{0}, std::size_t{59}}) {
      stream.windows[end] = {.lines = 3, .bytes = 300, .classes = std::vector<std::uint64_t>(8)};
      for (auto& kind : stream.kinds) {
        std::erase_if(kind.windows, [&](const changes::kind_window& one) { return one.window == end; });
      }
    }
    CHECK(changes::find_changes(std::span(&stream, 1)).empty());
  }
}

TEST_CASE("changes: streams whose windows are numbers of lines have no rate") {
  stream_plan plan{};
  plan.rate = [](std::size_t w) { return w >= 30 && w < 35 ? 5.0 : 1.0; };
  changes::log_stream stream = stream_maker(plan, 5).make();
  CHECK(changes::find_changes(std::span(&stream, 1)).size() == 1);
  stream.has_rate = false;
  CHECK(changes::find_changes(std::span(&stream, 1)).empty());
}

TEST_CASE("changes: expressions are found like kinds") {
  stream_plan plan{};
  plan.share = share_of(6, 40, 44, 8);
  changes::log_stream stream = stream_maker(plan, 5).make();
  stream.matches = {stream.kinds[6]};
  stream.kinds.clear();
  const auto found = changes::find_changes(std::span(&stream, 1));
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].differences[0].of == series::match);
  CHECK(has(found, 40, 44));
}

TEST_CASE("changes: the order is by evidence, and does not depend on where a stream is") {
  std::vector<changes::log_stream> streams;
  for (std::uint64_t i = 0; i < 6; ++i) {
    stream_plan plan{};
    plan.share = share_of(6, 20 + i, 30, 2.0 + static_cast<double>(i));
    streams.push_back(stream_maker(plan, i).make());
  }
  const auto found = changes::find_changes(streams);
  REQUIRE(found.size() >= 4);
  CHECK(std::ranges::is_sorted(found, std::ranges::greater(), &changes::change::evidence));
  std::ranges::reverse(streams);
  const auto reversed = changes::find_changes(streams);
  REQUIRE(reversed.size() == found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(reversed[i].stream == 5 - found[i].stream);
    CHECK(reversed[i].evidence == found[i].evidence);
  }
}

TEST_CASE("changes: evidence counts all comparisons of the run") {
  stream_plan plan{};
  plan.share = share_of(6, 20, 30, 6);
  std::vector<changes::log_stream> streams(1, stream_maker(plan, 1).make());
  const double alone = changes::find_changes(streams)[0].evidence;
  for (std::uint64_t i = 0; i < 9; ++i) streams.push_back(streams[0]);
  for (const auto& one : changes::find_changes(streams))
    CHECK(one.evidence == doctest::Approx(alone - 1).epsilon(0.01));
}

TEST_CASE(
    "changes: the likelihood ratio is that of the binomial distribution, and of half of chi squared in the limit") {
  const auto ratio = [](double a, double b, double factor) {
    return changes::log_likelihood_ratio({.count = a, .exposure = 10}, {.count = b, .exposure = 30}, factor);
  };
  const auto term = [](double p, double q) { return p > 0 ? p * std::log(p / q) : 0; };
  CHECK(ratio(12, 8, 1) == doctest::Approx(20 * (term(0.6, 0.25) + term(0.4, 0.75))));
  CHECK(ratio(0, 8, 1) == doctest::Approx(8 * std::log(4 / 3.0)));
  CHECK(ratio(10'100, 30'000, 1) == doctest::Approx(0.5 * 75 * 75 / 7518.75).epsilon(0.01));
  CHECK(ratio(10'100, 30'000, 5) == doctest::Approx(0.5 * 75 * 75 / 7518.75 / 5).epsilon(0.01));
  CHECK(ratio(10, 30, 5) == doctest::Approx(0));
}
