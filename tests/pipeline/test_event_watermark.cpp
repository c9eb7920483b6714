// When windows of event time close: the watermark of one input and of several, what is late, idle inputs, the clock;
// and the groups of windows that close, which add up to those of all lines.
#include "report/units/event_watermark.hpp"
#include "report/units/group_result.hpp"
#include "report/units/unit_plan.hpp"
#include "report/units/window_groups.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist::report::units;

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t start = 1'760'100'000 * second / minute * minute;
constexpr closing_windows minutes{.length = minute, .lateness = 10 * second};

/// Reads lines of an input, all in one text. Returns whether each is late.
std::vector<bool> read(event_watermark& to, std::uint64_t input, const std::vector<std::int64_t>& times,
                       std::int64_t clock = start) {
  event_horizon horizon = to.begin(input, clock);
  std::vector<bool> late;
  for (const std::int64_t each : times) late.push_back(horizon.note(each));
  to.end(input, horizon);
  return late;
}

}  // namespace

TEST_CASE("a window closes when a line is so much later than its end as is allowed") {
  event_watermark watermark(minutes);
  watermark.open(0);
  CHECK(watermark.closed_before() == event_horizon::no_time);
  read(watermark, 0, {start, start + minute + 10 * second - 1});
  CHECK(watermark.closed_before() == start);
  read(watermark, 0, {start + minute + 10 * second});
  CHECK(watermark.closed_before() == start + minute);
}

TEST_CASE("a line is late if its window has closed before it, and closes nothing again") {
  event_watermark watermark(minutes);
  watermark.open(0);
  CHECK(read(watermark, 0,
             {start, start + 69 * second, start + 59 * second, start + 70 * second, start + 59 * second, start + minute,
              start - hour}) == std::vector<bool>{false, false, false, false, true, false, true});
  CHECK(watermark.closed_before() == start + minute);
}

TEST_CASE("windows before 1970 close in the same way") {
  event_watermark watermark({.length = minute, .lateness = 0});
  watermark.open(0);
  CHECK(read(watermark, 0, {-minute, -1, -minute - 1, 0, -1}) == std::vector<bool>{false, false, true, false, true});
  CHECK(watermark.closed_before() == 0);
}

TEST_CASE("what is late in an input does not depend on how its text is divided") {
  std::mt19937 random(1);
  std::vector<std::int64_t> times;
  for (int i = 0; i < 5000; ++i)
    times.push_back(start + i * second - static_cast<std::int64_t>(random() % 100) * second);
  event_watermark whole(minutes);
  whole.open(0);
  const std::vector<bool> expected = read(whole, 0, times);
  CHECK(std::ranges::count(expected, true) > 10);
  event_watermark divided(minutes);
  divided.open(0);
  std::vector<bool> found;
  for (std::size_t at = 0; at < times.size();) {
    const std::size_t end = std::min(times.size(), at + 1 + random() % 50);
    const std::vector<bool> part =
        read(divided, 0, {times.begin() + std::ptrdiff_t(at), times.begin() + std::ptrdiff_t(end)});
    found.insert(found.end(), part.begin(), part.end());
    at = end;
  }
  CHECK(found == expected);
  CHECK(divided.closed_before() == whole.closed_before());
}

TEST_CASE("the input with unread text that was read least far holds the watermark back") {
  event_watermark watermark(minutes);
  watermark.open(0);
  watermark.open(1);
  read(watermark, 0, {start + hour});
  CHECK(watermark.closed_before() == event_horizon::no_time);  // nothing is known of the other one
  CHECK(read(watermark, 1, {start, start + 2 * minute}) == std::vector<bool>{false, false});
  CHECK(watermark.closed_before() == start + minute);
  watermark.note_idle(1, start);
  CHECK(watermark.closed_before() == start + 59 * minute);
  SUBCASE("an idle input does not hold it back") {
    read(watermark, 0, {start + 2 * hour});
    CHECK(watermark.closed_before() == start + 2 * hour - minute);
  }
  SUBCASE("nor does one that has ended") {
    watermark.close(1);
    read(watermark, 0, {start + 2 * hour});
    CHECK(watermark.closed_before() == start + 2 * hour - minute);
  }
  SUBCASE("one that is read again does, but nothing opens again") {
    CHECK(read(watermark, 1, {start + 3 * minute, start + hour + minute}) == std::vector<bool>{true, false});
    CHECK(watermark.closed_before() == start + 59 * minute);
  }
}

TEST_CASE("if all inputs are idle, the latest time of all counts, also of those that have ended") {
  event_watermark watermark(minutes);
  for (const std::uint64_t input : {0, 1, 2}) watermark.open(input);
  read(watermark, 0, {start + hour});
  watermark.close(0);
  watermark.note_idle(1, start);
  CHECK(watermark.closed_before() == event_horizon::no_time);
  watermark.note_idle(2, start);
  CHECK(watermark.closed_before() == start + 59 * minute);
}

TEST_CASE("a time that is a day later than the clock does not move the watermark") {
  event_watermark watermark(minutes);
  watermark.open(0);
  CHECK(read(watermark, 0, {start, start + 24 * hour + 1, start}, start) == std::vector<bool>{false, false, false});
  CHECK(watermark.closed_before() == start - minute);
  read(watermark, 0, {start + 24 * hour}, start);
  CHECK(watermark.closed_before() == start + 24 * hour - minute);
}

TEST_CASE("a window of now closes by the clock while all inputs are idle") {
  event_watermark watermark(minutes);
  watermark.open(0);
  read(watermark, 0, {start});
  for (int i = 0; i < 1000; ++i) watermark.tick(second / 10);
  CHECK(watermark.closed_before() == start - minute);  // text may be unread
  watermark.note_idle(0, start + second);
  for (int i = 0; i < 699; ++i) watermark.tick(second / 10);
  CHECK(watermark.closed_before() == start);
  SUBCASE("") {
    watermark.tick(second / 10);
    CHECK(watermark.closed_before() == start + minute);
    CHECK(read(watermark, 0, {start}) == std::vector<bool>{true});
  }
  SUBCASE("not if the process did not run: text may wait") {
    watermark.tick(hour);
    CHECK(watermark.closed_before() == start);
    for (int i = 0; i < 700; ++i) watermark.tick(second / 10);
    CHECK(watermark.closed_before() == start + minute);
  }
  SUBCASE("not while text is read") {
    read(watermark, 0, {start});
    watermark.tick(second / 10);
    CHECK(watermark.closed_before() == start);
  }
}

TEST_CASE("the clock closes no windows of other times than now") {
  for (const std::int64_t clock : {start + hour + second, start - hour - second}) {
    event_watermark watermark(minutes);
    watermark.open(0);
    read(watermark, 0, {start});
    watermark.note_idle(0, clock);
    for (int i = 0; i < 100'000; ++i) watermark.tick(second / 10);
    CHECK(watermark.closed_before() == start - minute);
  }
}

namespace {

unit_plan plan_of_windows() {
  unit_plan plan;
  plan.lines.emplace();
  plan.lines->keys.push_back({.text = "name", .from = group_key::source::name});
  plan.lines->events = event_windows{.windows = {.length = minute}, .lateness = 0};
  return plan;
}

using lines_by_key = std::map<std::string, std::uint64_t>;

lines_by_key groups_of(const group_result& found) {
  lines_by_key made;
  for (const keyed_group& each : found.groups) made[each.key] = each.of.lines;
  return made;
}

}  // namespace

TEST_CASE("windows are taken once, in the order of time, and with late lines they add up to all lines") {
  const unit_plan plan = plan_of_windows();
  for (const auto remainder : {window_groups::kept::window, window_groups::kept::sums}) {
    window_groups under_test(plan, empty_table(*plan.lines, 1));
    std::mt19937 random(7);
    std::map<std::int64_t, lines_by_key> expected;
    lines_by_key late;
    lines_by_key all;
    std::map<std::int64_t, lines_by_key> taken;
    std::int64_t before = start;
    const auto take = [&] {
      CHECK(under_test.closed(before) == std::size_t(std::ranges::count_if(expected, [&](const auto& each) {
              return each.first < before && !taken.contains(each.first);
            })));
      std::int64_t last = 0;
      for (const window_sum& each : under_test.take_closed(before, remainder)) {
        CHECK(last < each.start);
        last = each.start;
        const group_result found = group_result_of(plan, each.groups);
        REQUIRE(found.windows.size() == 1);
        CHECK(found.windows.front().start == each.start);
        CHECK(taken.emplace(each.start, groups_of(found)).second);
      }
    };
    for (int round = 0; round < 50; ++round) {
      group_table more = empty_table(*plan.lines, 1);
      for (int line = 0; line < 20; ++line) {
        const std::int64_t window = start + static_cast<std::int64_t>(random() % 60) * minute;
        const std::string key = "k" + std::to_string(random() % 5);
        ++more.counts(more.place_of({.window = window + 5, .key = key})).lines;
        ++(window < before ? late : expected[window])[key];
        ++all[key];
      }
      under_test.add(more);
      if (round % 10 == 9) {
        before += 7 * minute;
        take();
      }
    }
    const group_result found = group_result_of(plan, under_test.all());
    CHECK(groups_of(found) == all);
    std::uint64_t late_lines = 0;
    for (const auto& [key, lines] : late) late_lines += lines;
    REQUIRE(found.late);
    CHECK(found.late->lines == late_lines);
    const bool keeps = remainder == window_groups::kept::window;
    CHECK(found.has_reported_windows == !keeps);
    CHECK(found.windows.size() == (keeps ? expected.size() : expected.size() - taken.size()));
    before = group_id::reported;
    take();
    CHECK(taken == expected);
    CHECK(under_test.take_closed(before, remainder).empty());
  }
}
