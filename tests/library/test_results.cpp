#include "error_kind.hpp"
#include "fed_text.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

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

}  // namespace gpuhist
