// Results: their sums, what is written and read again, their failures, their measures, and their pairs.
#include "fed_text.hpp"

#include <doctest/doctest.h>
#include <gpuhist/gpuhist.hpp>

#include <unistd.h>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace gpuhist {
namespace {

using namespace testing;

results counted(const std::vector<std::string>& texts, counting_options options) {
  options.counting_engine = engine::host;
  options.threads = 1;
  counter counts(options);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    input next = counts.open_input("input " + std::to_string(i));
    next.feed(texts[i]);
    next.finish();
  }
  return counts.finish();
}

// Shannon's entropy, from its definition.
double entropy_of(const std::vector<std::uint64_t>& counts, double bytes) {
  double sum = 0;
  for (const std::uint64_t each : counts) {
    if (each > 0) sum -= static_cast<double>(each) / bytes * std::log2(static_cast<double>(each) / bytes);
  }
  return sum;
}

std::string twice(const std::string& json) { return json + json; }

}  // namespace

TEST_CASE("a sum has the inputs of all parts in sequence, and the sums of their counts") {
  const std::vector<std::string> texts = {random_text(1000, 1), "", random_text(70000, 2)};
  const std::array<results, 2> parts = {counted({texts[0], texts[1]}, {.schemes = {"bytes"}}),
                                        counted({texts[2]}, {.schemes = {"bytes"}})};
  const results sum = results::merge(parts);
  CHECK(sum.complete());
  REQUIRE(sum.inputs() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(sum.counts("bytes", i) == byte_counts(texts[i]));
  CHECK(sum.counts("bytes") == byte_counts(texts[0] + texts[2]));
  CHECK(sum.input(2).name == "input 0");
  CHECK(results::merge(std::span(parts).first(1)).counts("bytes") == byte_counts(texts[0]));
}

TEST_CASE("parts with and without the counts of all byte values have a sum by their schemes") {
  const std::array<results, 2> parts = {counted({"aaz"}, {.schemes = {"letters"}, .byte_counts = true}),
                                        counted({"e"}, {.schemes = {"letters"}})};
  const results sum = results::merge(parts);
  CHECK_FALSE(sum.has_byte_counts());
  CHECK(sum.counts("letters") == std::vector<std::uint64_t>{2, 1, 0, 0, 0, 0, 1, 0});
  CHECK(sum.counts("letters", 0) == std::vector<std::uint64_t>{2, 0, 0, 0, 0, 0, 1, 0});
}

TEST_CASE("a sum is incomplete if a part is, and keeps the cause") {
  counter failing({.schemes = {"letters"}, .counting_engine = engine::host, .threads = 1});
  failing.open_input("text").fail("the connection was reset");
  const std::array<results, 2> parts = {counted({"a"}, {.schemes = {"letters"}}), failing.finish()};
  const results sum = results::merge(parts);
  CHECK_FALSE(sum.complete());
  CHECK(sum.input(1).error == "the connection was reset");
}

TEST_CASE("no parts and different schemes have no sum") {
  CHECK(error_of([] { static_cast<void>(results::merge({})); }) == errc::invalid_argument);
  const std::array<results, 2> parts = {counted({"a"}, {.schemes = {"letters"}}),
                                        counted({"a"}, {.schemes = {"letters"}, .ignore_case = true})};
  CHECK(error_of([&] { static_cast<void>(results::merge(parts)); }) == errc::invalid_argument);
}

TEST_CASE("a result that was written is read by any scheme") {
  const std::string text = random_text(50000, 3) + "Hello\n";
  const results written = counted({text, "ab"}, {.schemes = {"classes"}, .byte_counts = true});
  const results read = results::read(written.to_json(), {.schemes = {"bytes", "letters"}});
  CHECK(read.complete());
  CHECK(read.type() == results::kind::result);
  CHECK(read.counts("bytes") == byte_counts(text + "ab"));
  REQUIRE(read.inputs() == 2);
  CHECK(read.counts("bytes", 0) == byte_counts(text));
  CHECK(read.counts("letters", 1).front() == 2);
  CHECK(read.lines() == byte_counts(text)['\n']);
  CHECK(read.input(1).name == "input 1");
  CHECK(results::read(read.to_json(), {.schemes = {"bytes"}}).counts("bytes") == read.counts("bytes"));
}

TEST_CASE("a result with the former name of a bucket is read, and the bucket has its present name") {
  const std::string text = random_text(5000, 3) + "\xff\xff";
  std::string json = counted({text}, {.schemes = {"utf8"}, .byte_counts = true}).to_json();
  std::size_t renamed = 0;
  for (std::size_t at = 0; (at = json.find("never-utf8")) != std::string::npos; ++renamed) {
    json.replace(at, std::string_view("never-utf8").size(), "invalid");
  }
  CHECK(renamed > 0);
  const results read = results::read(json, {.schemes = {"utf8", "bytes"}});
  CHECK(read.buckets("utf8").back() == "never-utf8");
  CHECK(read.counts("bytes") == byte_counts(text));
  CHECK(read.counts("utf8").back() == counted({text}, {.schemes = {"utf8"}}).counts("utf8").back());
}

TEST_CASE("several results in a text are added") {
  const std::string json = counted({"abc"}, {.schemes = {"letters"}, .byte_counts = true}).to_json();
  const results sum = results::read(twice(json), {.schemes = {"letters"}});
  CHECK(sum.bytes() == 6);
  CHECK(sum.inputs() == 2);
}

TEST_CASE("a result in a file is read, and a file that is missing is an error of the system") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("gpuhist-test-" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << counted({"abc"}, {.schemes = {"letters"}, .byte_counts = true}).to_json();
  CHECK(results::read_file(path, {.schemes = {"bytes"}}).counts("bytes") == byte_counts("abc"));
  std::filesystem::remove(path);
  CHECK(error_of([&] { static_cast<void>(results::read_file(path)); }) == errc::system);
}

TEST_CASE("text that is damaged, of another program, or without byte counts is refused") {
  const std::string json = counted({"abc"}, {.schemes = {"letters"}, .byte_counts = true}).to_json();
  const std::string coarse = counted({"abc"}, {.schemes = {"letters"}}).to_json();
  std::string wrong = json;
  wrong.replace(wrong.find("\"bytes\":3"), 9, "\"bytes\":4");
  const std::vector<std::string> refused = {"", "{}\n", "no json", json.substr(0, json.size() / 2), coarse, wrong};
  for (const std::string& each : refused) {
    CAPTURE(each);
    CHECK(error_of([&] { static_cast<void>(results::read(each)); }) == errc::invalid_argument);
  }
  CHECK(error_of([&] { static_cast<void>(results::read(json, {.schemes = {"nope"}})); }) == errc::invalid_argument);
}

TEST_CASE("the kind of a failure is written and read") {
  counter failing({.schemes = {"letters"}, .byte_counts = true, .counting_engine = engine::host, .threads = 1});
  failing.open_input("text").fail("the connection was reset");
  const results failed = failing.finish();
  CHECK(failed.input(0).kind == failure::unreadable);
  const results read = results::read(failed.to_json());
  CHECK(read.input(0).kind == failure::unreadable);
  CHECK_FALSE(read.input(0).is_failure_of_archive);
  CHECK_FALSE(read.complete());
}

TEST_CASE("measures of totals and inputs have their value, or the reason why there is none") {
  const std::string text = random_text(5000, 4);
  const results result = counted({text, ""}, {.schemes = {"letters"}, .byte_counts = true});
  const measurement entropy = result.measure("entropy");
  REQUIRE(entropy.value);
  CHECK(*entropy.value == doctest::Approx(entropy_of(byte_counts(text), 5000)));
  CHECK(entropy.reason.empty());
  CHECK(*result.measure("entropy", 0).value == *entropy.value);
  const measurement none = result.measure("entropy", 1);
  CHECK_FALSE(none.value);
  CHECK_FALSE(none.reason.empty());
  CHECK_FALSE(result.measure("jsd").value);  // there is no baseline
  CHECK(error_of([&] { static_cast<void>(result.measure("nope")); }) == errc::invalid_argument);
  const results coarse = counted({text}, {.schemes = {"letters"}});
  CHECK(error_of([&] { static_cast<void>(coarse.measure("entropy")); }) == errc::invalid_argument);
}

TEST_CASE("a measure that compares uses the baseline of the options") {
  const std::string text = random_text(5000, 5);
  const results baseline = counted({text}, {.schemes = {"letters"}, .byte_counts = true});
  const counting_options options{
      .schemes = {"letters"}, .byte_counts = true, .measures = {"jsd"}, .baseline = baseline};
  CHECK(*counted({text}, options).measure("jsd").value == doctest::Approx(0));
  CHECK(*counted({std::string(5000, 'a')}, options).measure("jsd").value > 0.5);
}

TEST_CASE("results and windows that were moved from still have their counts") {
  results first = counted({"abc"}, {.schemes = {"letters"}});
  results second = std::move(first);
  CHECK(first.bytes() == 3);  // NOLINT(bugprone-use-after-move): allowed
  results third;
  third = std::move(second);
  CHECK(second.counts("letters") == third.counts("letters"));  // NOLINT(bugprone-use-after-move): allowed
  std::vector<window> windows;
  counter counts(
      {.schemes = {"letters"}, .windows = window_options{.length = 2}, .counting_engine = engine::host, .threads = 1},
      {.on_window = [&](const window& next) { windows.push_back(next); }});
  counts.open_input("text").feed("abcd");
  static_cast<void>(counts.finish());
  REQUIRE_FALSE(windows.empty());
  const window moved = std::move(windows.front());
  CHECK(windows.front().bytes() == moved.bytes());
}

TEST_CASE("a path with a zero byte is refused, and not read as the path before it") {
  CHECK(error_of([] { static_cast<void>(results::read_file(std::string("/dev/null\0x", 11))); }) ==
        errc::invalid_argument);
}

TEST_CASE("an object without counts has neither inputs nor bytes") {
  const results none;
  CHECK_FALSE(none.complete());
  CHECK(none.inputs() == 0);
  CHECK(none.bytes() == 0);
  CHECK(none.lines() == 0);
  CHECK(none.schemes().empty());
  CHECK(error_of([&] { static_cast<void>(none.counts("letters")); }) == errc::invalid_argument);
}

namespace {

using testing::random_text;

// vowels, digits, other
std::size_t bucket_of(char letter) {
  return std::string_view("aeiou").find(letter) != std::string_view::npos ? 0 : letter >= '0' && letter <= '9' ? 1 : 2;
}

std::vector<std::uint64_t> pairs_of(std::string_view text, std::size_t begin = 0) {
  std::vector<std::uint64_t> found(9);
  for (std::size_t i = std::max<std::size_t>(begin, 1); i < text.size(); ++i) {
    ++found[bucket_of(text[i - 1]) * 3 + bucket_of(text[i])];
  }
  return found;
}

std::vector<std::uint64_t> sum(std::vector<std::uint64_t> left, const std::vector<std::uint64_t>& right) {
  std::ranges::transform(left, right, left.begin(), std::plus<>{});
  return left;
}

counting_options with_pairs() {
  return {
      .schemes = {"v:vowels=aeiou;digits=0-9"}, .byte_counts = true, .pairs = true, .counting_engine = engine::host};
}

results count(const std::vector<std::string>& texts, unsigned seed) {
  std::mt19937 random(seed);
  counter counts(with_pairs());
  for (const std::string& each : texts) {
    input fed = counts.open_input("x");
    for (std::size_t at = 0; at < each.size();) {
      const std::size_t size = 1 + random() % 3000;
      fed.feed(std::string_view(each).substr(at, size));
      at += size;
    }
  }
  return counts.finish();
}

}  // namespace

TEST_CASE("pairs of what is fed are those of the texts: none spans two inputs") {
  const std::vector<std::string> texts = {random_text(100'000, 1), "", "a", random_text(5000, 2)};
  const results counted = count(texts, 1);
  REQUIRE(counted.has_pairs());
  std::vector<std::uint64_t> total(9);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(counted.pairs("v", i) == pairs_of(texts[i]));
    total = sum(total, pairs_of(texts[i]));
  }
  CHECK(counted.pairs("v") == total);
}

TEST_CASE("pairs are merged, written and read") {
  const results first = count({random_text(3000, 1), random_text(10, 2)}, 1);
  const results second = count({random_text(500, 3)}, 2);
  const std::array parts = {first, second};
  const std::vector<std::uint64_t> total = sum(first.pairs("v"), second.pairs("v"));
  const results merged = results::merge(parts);
  CHECK(merged.pairs("v") == total);
  CHECK(merged.pairs("v", 1) == first.pairs("v", 1));
  const read_options options{.schemes = {"v:vowels=aeiou;digits=0-9"}, .pairs = true};
  const results read = results::read(merged.to_json(), options);
  CHECK(read.pairs("v") == total);
  CHECK(read.pairs("v", 2) == second.pairs("v"));
  const std::array mixed = {read, first};
  CHECK(results::merge(mixed).pairs("v") == sum(total, first.pairs("v")));
}

TEST_CASE("without pairs there are none: in results, in their sum, and in a text that is read") {
  counter plain({.schemes = {"v:vowels=aeiou;digits=0-9"}, .byte_counts = true, .counting_engine = engine::host});
  const results without = plain.finish();
  CHECK_FALSE(without.has_pairs());
  CHECK_THROWS_WITH_AS(static_cast<void>(without.pairs("v")), "the result has no pairs; give --pairs", error);
  const std::array parts = {count({"abc"}, 1), without};
  CHECK_FALSE(results::merge(parts).has_pairs());
  const read_options options{.schemes = {"v:vowels=aeiou;digits=0-9"}, .pairs = true};
  CHECK_THROWS_AS(static_cast<void>(results::read(without.to_json(), options)), error);
}

TEST_CASE("pairs of too many classes are refused, with the name of the option") {
  CHECK_THROWS_WITH_AS(counter({.schemes = {"bytes"}, .pairs = true}),
                       "--pairs: scheme bytes divides the byte values into 256 classes; pairs are "
                       "counted for at most 32; give --buckets with fewer buckets, such as letters or "
                       "classes",
                       error);
}

TEST_CASE("a window has the pairs whose second byte is in it") {
  const std::string text = random_text(10'000, 4);
  counting_options options = with_pairs();
  options.windows = window_options{.length = 700, .per_input = true};
  options.alert_if = {"conditional_entropy >= 0"};
  std::vector<window> windows;
  std::size_t alerts = 0;
  counter counts(options, {.on_window = [&](const window& closed) { windows.push_back(closed); },
                           .on_alert = [&](const alert&) { ++alerts; }});
  counts.open_input("x").feed(text);
  static_cast<void>(counts.finish());
  REQUIRE(windows.size() == 15);
  CHECK(alerts >= windows.size());
  for (const window& each : windows) {
    CHECK(each.pairs("v") == pairs_of(std::string_view(text).substr(0, each.end_offset()), each.first_offset()));
  }
}

}  // namespace gpuhist
