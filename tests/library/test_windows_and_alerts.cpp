// Windows, verdicts and alerts of counters, by callback.
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"

#include <gpuhist/counter.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist {
namespace {

using testing::byte_counts;
using testing::random_text;

counting_options windows_of(window_options shape) {
  return {.schemes = {"bytes"}, .windows = shape, .counting_engine = engine::host, .threads = 2};
}

// What a callback has seen of a window.
struct seen {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<std::uint64_t> counts{};
};

std::map<std::string, std::vector<seen>> by_input(const std::vector<window>& all) {
  std::map<std::string, std::vector<seen>> sorted;
  for (const window& each : all) {
    sorted[std::string(each.input())].push_back({each.first_offset(), each.end_offset(), each.counts("bytes")});
  }
  return sorted;
}

// Windows of `length` bytes, one after the other.
void check_windows(const std::vector<seen>& found, std::string_view text, std::size_t length) {
  REQUIRE(found.size() == (text.size() + length - 1) / length);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].begin == i * length);
    CHECK(found[i].counts == byte_counts(text.substr(i * length, length)));
  }
}

}  // namespace

TEST_CASE("every window is reported with its exact counts, however its text is fed") {
  for (const std::size_t length : {777U, 65536U, 1U << 20U}) {
    CAPTURE(length);
    const std::string text = random_text(3'000'000, 1);
    std::vector<window> found;
    counter counts(windows_of({.length = length}), {.on_window = [&](const window& each) { found.push_back(each); }});
    input fed = counts.open_input("text");
    fed.feed(std::string_view(text).substr(0, 1'000'001));
    for (std::size_t at = 1'000'001; at < 1'100'000; at += 100) {
      fed.feed(std::string_view(text).substr(at, std::min<std::size_t>(100, 1'100'000 - at)));
    }
    {
      lent_buffer buffer = fed.lend(1000);
      const std::string_view part = std::string_view(text).substr(1'100'000, 1000);
      REQUIRE(buffer.bytes().size() == 1000);
      std::ranges::copy(testing::bytes_of(part), buffer.bytes().begin());
      buffer.commit(1000);
    }
    fed.feed_borrowed(testing::bytes_of(std::string_view(text).substr(1'101'000)), [] {});
    fed.finish();
    CHECK(counts.finish().complete());
    const auto sorted = by_input(found);
    REQUIRE(sorted.size() == 1);
    check_windows(sorted.at("text"), text, length);
  }
}

TEST_CASE("with per_input, inputs that several threads feed at once have windows of their own") {
  constexpr std::size_t length = 1000;
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 4; ++i) texts.push_back(random_text(300'000 + i, i));
  std::vector<window> found;
  counter counts(windows_of({.length = length, .per_input = true}),
                 {.on_window = [&](const window& each) { found.push_back(each); }});
  {
    std::vector<std::jthread> feeding;
    for (unsigned i = 0; i < 4; ++i) {
      feeding.emplace_back([&, i] {
        input fed = counts.open_input(std::to_string(i));
        for (std::size_t at = 0; at < texts[i].size(); at += 70'001) {
          fed.feed(std::string_view(texts[i]).substr(at, 70'001));
        }
        fed.finish();
      });
    }
  }
  CHECK(counts.finish().complete());
  const auto sorted = by_input(found);
  REQUIRE(sorted.size() == 4);
  for (unsigned i = 0; i < 4; ++i) check_windows(sorted.at(std::to_string(i)), texts[i], length);
}

TEST_CASE("windows that span inputs need one input after the other") {
  std::vector<window> found;
  counter counts(windows_of({.length = 4}), {.on_window = [&](const window& each) { found.push_back(each); }});
  input first = counts.open_input("first");
  first.feed("abcdef");
  try {
    static_cast<void>(counts.open_input("second"));
    FAIL("two inputs were open");
  } catch (const error& refused) {
    CHECK(refused.kind() == errc::misuse);
    CHECK(std::string_view(refused.what()).find("'first'") != std::string_view::npos);
  }
  first.finish();
  input second = counts.open_input("second");
  second.feed("gh");
  second.finish();
  CHECK(counts.finish().complete());
  REQUIRE(found.size() == 2);
  CHECK(found[1].input() == "first");
  CHECK(found[1].last_input() == "second");
  CHECK(found[1].end_offset() == 8);
}

TEST_CASE("windows of lines end after their last line feed") {
  std::vector<window> found;
  counter counts(windows_of({.measured_in = window_options::measure::lines, .length = 2}),
                 {.on_window = [&](const window& each) { found.push_back(each); }});
  input fed = counts.open_input("text");
  fed.feed("a\nbb\nccc\ndd");
  fed.finish();
  counts.finish();
  REQUIRE(found.size() == 2);
  CHECK(found[0].end_offset() == 5);
  CHECK(found[0].lines() == 2);
  CHECK(found[1].end_offset() == 11);
}

TEST_CASE("windows of a compressed input are verified, or a verdict follows") {
  const auto plain = test::sample_text(2'000'000);
  auto packed = test::zstd_frame_of(plain);
  for (const bool is_damaged : {false, true}) {
    CAPTURE(is_damaged);
    if (is_damaged) packed.back() ^= std::byte{1};  // of the checksum
    std::uint64_t windows = 0;
    std::vector<verdict> verdicts;
    counter counts(windows_of({.length = 500'000}),
                   {.on_window = [&](const window& each) { windows += each.verified() ? 0 : 1; },
                    .on_verdict = [&](const verdict& each) { verdicts.push_back(each); }});
    input fed = counts.open_input("packed", {.format = "zstd"});
    fed.feed(packed);
    fed.finish();
    CHECK(counts.finish().complete() == !is_damaged);
    CHECK(windows == 4);
    REQUIRE_FALSE(verdicts.empty());
    for (const verdict& each : verdicts) CHECK(each.verified == !is_damaged);
    CHECK(verdicts.back().last == 3);
  }
}

TEST_CASE("alerts name the window, the input or the totals for which a condition holds") {
  counting_options options = windows_of({.length = 4});
  options.schemes = {"classes"};
  options.fail_if = {"digit > 0.9"};
  options.alert_if = {"digit > 0.6"};
  std::vector<alert> found;
  counter counts(options, {.on_alert = [&](const alert& each) { found.push_back(each); }});
  input fed = counts.open_input("text");
  fed.feed("abcd1234123a");
  fed.finish();
  CHECK(counts.finish().complete());
  const auto holds = [&](bool fails, alert::unit of, std::uint64_t window) {
    return std::ranges::any_of(
        found, [&](const alert& each) { return each.fails == fails && each.of == of && each.window == window; });
  };
  CHECK(holds(true, alert::unit::window, 1));
  CHECK(holds(false, alert::unit::window, 2));
  CHECK_FALSE(holds(true, alert::unit::window, 2));
  CHECK_FALSE(holds(false, alert::unit::window, 0));
  CHECK_FALSE(holds(true, alert::unit::input, 0));
}

TEST_CASE("conditions accept the former name of a bucket") {
  counting_options options{.schemes = {"utf8"}, .counting_engine = engine::host, .threads = 1};
  options.alert_if = {"utf8.invalid >= 0.5", "count(never-utf8) == 2", "invalid > 0.5"};
  std::vector<std::string> found;
  counter counts(options, {.on_alert = [&](const alert& each) { found.emplace_back(each.condition); }});
  input fed = counts.open_input("text");
  fed.feed("ab\xc0\xff");
  fed.finish();
  CHECK(counts.finish().complete());
  CHECK(found == std::vector<std::string>{"utf8.invalid >= 0.5", "count(never-utf8) == 2"});
}

TEST_CASE("a condition that fails fast ends the counting as a cancelled one") {
  counting_options options = windows_of({.length = 1000});
  options.schemes = {"classes"};
  options.fail_if = {"digit > 0.5"};
  options.fail_fast = true;
  std::atomic<int> alerts = 0;
  counter counts(options, {.on_alert = [&](const alert&) { ++alerts; }});
  input fed = counts.open_input("text");
  const std::string digits(100'000, '1');
  const auto feed_until_closed = [&] {
    for (int i = 0; i < 1'000'000; ++i) fed.feed(digits);
  };
  CHECK_THROWS_AS(feed_until_closed(), error);
  CHECK_FALSE(counts.finish().complete());
  CHECK(alerts > 0);
}

TEST_CASE("the exception of a callback ends the counting, and is thrown by finish()") {
  counter counts(windows_of({.length = 10}), {.on_window = [](const window&) { throw std::out_of_range("mine"); }});
  input fed = counts.open_input("text");
  const auto feed_until_closed = [&] {
    for (int i = 0; i < 1'000'000; ++i) fed.feed("0123456789");
  };
  CHECK_THROWS_AS(feed_until_closed(), error);
  CHECK_THROWS_WITH_AS(counts.finish(), "mine", std::out_of_range);
  CHECK_THROWS_AS(counts.finish(), error);
}

TEST_CASE("a callback may cancel the counter, and no other call is accepted in it") {
  std::optional<counter> counts;
  std::optional<input> fed;
  std::vector<errc> refused;
  const auto expect_error = [&](const auto& call) {
    try {
      call();
    } catch (const error& thrown) {
      refused.push_back(thrown.kind());
    }
  };
  const auto call_all = [&](const window&) {
    if (!refused.empty()) return;
    expect_error([&] { fed->feed("a"); });
    expect_error([&] { fed->feed_borrowed({}, [] {}); });
    expect_error([&] { static_cast<void>(fed->lend(1)); });
    expect_error([&] { fed->finish(); });
    expect_error([&] { fed->fail("x"); });
    expect_error([&] { static_cast<void>(fed->failed()); });
    expect_error([&] { static_cast<void>(counts->open_input("x")); });
    expect_error([&] { static_cast<void>(counts->snapshot()); });
    expect_error([&] { counts->finish(); });
    counts->cancel();
  };
  counts.emplace(windows_of({.length = 1000}), counting_events{.on_window = call_all});
  fed.emplace(counts->open_input("text"));
  const auto feed_until_closed = [&] {
    for (int i = 0; i < 1'000'000; ++i) fed->feed(std::string(1000, 'a'));
  };
  CHECK_THROWS_AS(feed_until_closed(), error);
  CHECK_FALSE(counts->finish().complete());
  CHECK(refused == std::vector<errc>(9, errc::misuse));
}

}  // namespace gpuhist
