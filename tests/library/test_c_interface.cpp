// The C interface: the same counts and errors as those of C++.
#include "c_handles.hpp"
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"

#include <gpuhist/gpuhist.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gpuhist {
namespace {

using testing::byte_counts;
using testing::random_text;

using testing::error_names;
using testing::finish;
using testing::host;
using testing::input_of;
using testing::make;
using testing::open;
using testing::sized;

std::vector<std::uint64_t> bytes_in(const gpuhist_results* results) {
  std::vector<std::uint64_t> counts(256);
  REQUIRE(gpuhist_results_counts(results, "bytes", counts.data(), counts.size()) == GPUHIST_OK);
  return counts;
}

}  // namespace

TEST_CASE("C: fed, borrowed and lent bytes are counted once, and the results describe the inputs") {
  const std::string text = random_text(1'000'000, 1);
  gpuhist_counter* const counter = make(host());
  gpuhist_input* const input = open(counter, "text");
  CHECK(gpuhist_input_feed(input, text.data(), 100'000) == GPUHIST_OK);
  int releases = 0;
  CHECK(gpuhist_input_feed_borrowed(
            input, text.data() + 100'000, 400'000, [](void* context) { ++*static_cast<int*>(context); }, &releases) ==
        GPUHIST_OK);
  CHECK(gpuhist_input_feed_borrowed(input, nullptr, 0, nullptr, nullptr) == GPUHIST_OK);
  for (std::size_t at = 500'000; at < text.size();) {
    gpuhist_buffer* buffer = nullptr;
    void* bytes = nullptr;
    std::size_t size = 0;
    REQUIRE(gpuhist_input_lend(input, text.size() - at, &buffer, &bytes, &size) == GPUHIST_OK);
    CHECK(size >= std::min<std::size_t>(text.size() - at, 65536));
    std::memcpy(bytes, text.data() + at, size);
    CHECK(gpuhist_buffer_commit(buffer, size) == GPUHIST_OK);
    at += size;
  }
  gpuhist_results* snapshot = nullptr;
  CHECK(gpuhist_counter_snapshot(counter, &snapshot) == GPUHIST_OK);
  CHECK(bytes_in(snapshot) == byte_counts(text));
  gpuhist_results_destroy(snapshot);
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  gpuhist_results* const results = finish(counter);
  CHECK(releases == 1);
  CHECK(gpuhist_results_complete(results) == 1);
  CHECK(std::string_view(gpuhist_results_error(results)).empty());
  CHECK(bytes_in(results) == byte_counts(text));
  CHECK(gpuhist_results_bytes(results) == text.size());
  REQUIRE(gpuhist_results_schemes(results) == 2);
  const char* name = nullptr;
  CHECK(gpuhist_results_scheme_name(results, 1, &name) == GPUHIST_OK);
  CHECK(std::string_view(name) == "custom");
  CHECK(gpuhist_results_bucket_name(results, "custom", 1, &name) == GPUHIST_OK);
  CHECK(std::string_view(name) == "other");
  CHECK(gpuhist_results_inputs(results) == 1);
  const gpuhist_input_result found = input_of(results, 0);
  CHECK(std::string_view(found.name) == "text");
  CHECK(std::string_view(found.format) == "raw");
  CHECK(found.bytes == text.size());
  CHECK(found.complete == 1);
  CHECK(found.failure == GPUHIST_FAILURE_NONE);
  const char* json = nullptr;
  CHECK(gpuhist_results_json(results, &json) == GPUHIST_OK);
  CHECK(std::string_view(json).starts_with("{"));
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: pairs are those of C++, and an error if they were not counted or do not fit") {
  const std::string text = random_text(100'000, 3);
  const std::array<const char*, 1> vowels = {"vowels=aeiou"};
  gpuhist_options options = host();
  options.schemes = vowels.data();
  options.scheme_count = vowels.size();
  options.pairs = 1;
  gpuhist_counter* const counter = make(options);
  gpuhist_input* const input = open(counter, "text");
  CHECK(gpuhist_input_feed(input, text.data(), text.size()) == GPUHIST_OK);
  gpuhist_results* const results = finish(counter);

  const auto bucket = [&](std::size_t at) -> std::size_t {
    return std::string_view("aeiou").find(text[at]) != std::string_view::npos ? 0 : 1;
  };
  std::array<std::uint64_t, 4> expected{};
  for (std::size_t at = 1; at < text.size(); ++at) ++expected[bucket(at - 1) * 2 + bucket(at)];
  std::array<std::uint64_t, 4> pairs{};
  CHECK(gpuhist_results_pairs(results, "custom", pairs.data(), pairs.size()) == GPUHIST_OK);
  CHECK(pairs == expected);
  CHECK(gpuhist_results_input_pairs(results, 0, "custom", pairs.data(), pairs.size()) == GPUHIST_OK);
  CHECK(pairs == expected);
  CHECK(gpuhist_results_pairs(results, "custom", pairs.data(), 3) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_pairs(nullptr, "custom", pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_pairs(results, nullptr, pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);

  gpuhist_counter* const without = make(host());
  gpuhist_results* const counts_only = finish(without);
  CHECK(gpuhist_results_pairs(counts_only, "custom", pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("pairs"));
  gpuhist_results_destroy(counts_only);
  gpuhist_counter_destroy(without);
}

TEST_CASE("C: compressed inputs are decoded, and a damaged one is described") {
  const auto plain = test::sample_text(300'000);
  auto packed = test::zstd_frame_of(plain);
  gpuhist_counter* const counter = make(host());
  auto zstd = sized<gpuhist_input_options>();
  zstd.format = "";
  std::array<gpuhist_input*, 2> inputs{};
  for (gpuhist_input*& each : inputs) {
    REQUIRE(gpuhist_input_open_with(counter, "packed", &zstd, &each) == GPUHIST_OK);
    CHECK(gpuhist_input_feed(each, packed.data(), packed.size()) == GPUHIST_OK);
    packed.back() ^= std::byte{1};
  }
  std::int32_t failed = -1;
  CHECK(gpuhist_input_failed(inputs[0], &failed) == GPUHIST_OK);
  CHECK(failed == 0);
  CHECK(gpuhist_input_failed(inputs[1], &failed) == GPUHIST_OK);
  CHECK(failed == 1);
  gpuhist_results* const results = finish(counter);
  const gpuhist_input_result found = input_of(results, 0);
  CHECK(std::string_view(found.format) == "zstd");
  CHECK(found.compressed_bytes == packed.size());
  CHECK(found.bytes == plain.size());
  CHECK(input_of(results, 1).failure == GPUHIST_FAILURE_DAMAGED);
  CHECK(gpuhist_results_unverified_bytes(results) == plain.size());
  gpuhist_results_destroy(results);
  for (gpuhist_input* each : inputs) gpuhist_input_destroy(each);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: windows are passed to a callback, which may cancel the counter") {
  struct seen {
    std::vector<std::uint64_t> bytes;
    std::vector<gpuhist_status> statuses;
    std::uint64_t cancel_at = 0;
    gpuhist_input* input = nullptr;
  };
  const auto on_window = [](void* context, const gpuhist_window* window) -> std::int32_t {
    seen& all = *static_cast<seen*>(context);
    auto info = sized<gpuhist_window_info>();
    all.statuses.push_back(gpuhist_window_describe(window, &info));
    std::array<std::uint64_t, 256> counts{};
    all.statuses.push_back(gpuhist_window_counts(window, "bytes", counts.data(), counts.size()));
    if (std::string_view(info.input) == "text" && info.index == all.bytes.size()) all.bytes.push_back(counts['a']);
    if (gpuhist_input_feed(all.input, "a", 1) != GPUHIST_MISUSE) all.statuses.push_back(GPUHIST_INTERNAL);
    return info.index == all.cancel_at ? 1 : 0;
  };
  for (const std::uint64_t cancel_at : {std::uint64_t{1000}, std::uint64_t{1}}) {
    seen all;
    all.cancel_at = cancel_at;
    gpuhist_options options = host();
    options.window_length = 10;
    options.on_window = on_window;
    options.window_context = &all;
    gpuhist_counter* const counter = make(options);
    all.input = open(counter, "text");
    CHECK(gpuhist_input_feed(all.input, std::string(95, 'a').data(), 95) == GPUHIST_OK);
    gpuhist_results* const results = finish(counter);
    CHECK(std::ranges::count(all.statuses, GPUHIST_OK) == std::ssize(all.statuses));
    if (cancel_at == 1000) {
      CHECK(all.bytes == std::vector<std::uint64_t>{10, 10, 10, 10, 10, 10, 10, 10, 10, 5});
      CHECK(gpuhist_results_complete(results) == 1);
    } else {
      CHECK(all.bytes.size() >= 2);
    }
    gpuhist_results_destroy(results);
    gpuhist_input_destroy(all.input);
    gpuhist_counter_destroy(counter);
  }
}

TEST_CASE("C: structures of older callers have defaults, and unknown fields of newer ones are refused") {
  struct newer_options {
    gpuhist_options known;
    std::uint64_t unknown;
  };
  newer_options newer{.known = host(), .unknown = 0};
  newer.known.size = sizeof(newer);
  gpuhist_counter* counter = nullptr;
  CHECK(gpuhist_counter_create(&newer.known, &counter) == GPUHIST_OK);
  gpuhist_results* const results = finish(counter);
  gpuhist_results_destroy(results);
  gpuhist_counter_destroy(counter);
  newer.unknown = 1;
  CHECK(gpuhist_counter_create(&newer.known, &counter) == GPUHIST_INVALID_ARGUMENT);
  CHECK(counter == nullptr);
  CHECK(error_names("gpuhist_options"));
  gpuhist_options older = host();
  older.size = offsetof(gpuhist_options, engine);
  older.engine = 77;  // is not read
  CHECK(gpuhist_counter_create(&older, &counter) == GPUHIST_OK);
  gpuhist_input* const input = open(counter, "text");
  CHECK(gpuhist_input_feed(input, "abc", 3) == GPUHIST_OK);
  gpuhist_results* const counted = finish(counter);
  struct newer_result {
    gpuhist_input_result known;
    std::uint64_t unknown;
  };
  newer_result found{.known = sized<gpuhist_input_result>(), .unknown = 5};
  found.known.size = sizeof(newer_result);
  CHECK(gpuhist_results_input(counted, 0, &found.known) == GPUHIST_OK);
  CHECK(found.unknown == 0);
  CHECK(found.known.size == sizeof(newer_result));
  CHECK(found.known.bytes == 3);
  auto short_result = sized<gpuhist_input_result>();
  short_result.size = offsetof(gpuhist_input_result, lines);
  short_result.lines = 7;
  CHECK(gpuhist_results_input(counted, 0, &short_result) == GPUHIST_OK);
  CHECK(short_result.bytes == 3);
  CHECK(short_result.lines == 7);
  gpuhist_results_destroy(counted);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: null, unknown names and numbers, and calls in the wrong order are errors with a text") {
  gpuhist_counter* counter = nullptr;
  CHECK(gpuhist_counter_create(nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("made is null"));
  gpuhist_options options = host();
  options.size = 0;
  CHECK(gpuhist_counter_create(&options, &counter) == GPUHIST_INVALID_ARGUMENT);
  options = host();
  options.engine = 3;
  CHECK(gpuhist_counter_create(&options, &counter) == GPUHIST_INVALID_ARGUMENT);
  options = host();
  options.schemes = nullptr;
  CHECK(gpuhist_counter_create(&options, &counter) == GPUHIST_INVALID_ARGUMENT);
  options = host();
  options.window_length = 1;
  options.window_unit = 9;
  CHECK(gpuhist_counter_create(&options, &counter) == GPUHIST_INVALID_ARGUMENT);
  CHECK(counter == nullptr);

  counter = make(host());
  gpuhist_input* input = nullptr;
  CHECK(gpuhist_input_open(nullptr, "text", &input) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_open(counter, nullptr, &input) == GPUHIST_INVALID_ARGUMENT);
  auto unknown = sized<gpuhist_input_options>();
  unknown.format = "rar";
  CHECK(gpuhist_input_open_with(counter, "text", &unknown, &input) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("'rar'"));
  input = open(counter, "text");
  int releases = 0;
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  CHECK(gpuhist_input_feed(nullptr, "a", 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_feed(input, nullptr, 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_feed_borrowed(nullptr, "a", 1, release, &releases) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_feed_borrowed(input, nullptr, 1, release, &releases) == GPUHIST_INVALID_ARGUMENT);
  CHECK(releases == 2);
  gpuhist_buffer* buffer = nullptr;
  void* bytes = nullptr;
  std::size_t size = 0;
  CHECK(gpuhist_input_lend(input, 0, &buffer, &bytes, &size) == GPUHIST_INVALID_ARGUMENT);
  REQUIRE(gpuhist_input_lend(input, 10, &buffer, &bytes, &size) == GPUHIST_OK);
  gpuhist_results* results = nullptr;
  CHECK(gpuhist_counter_finish(counter, &results) == GPUHIST_MISUSE);
  CHECK(gpuhist_buffer_commit(buffer, size + 1) == GPUHIST_INVALID_ARGUMENT);
  gpuhist_buffer_destroy(buffer);
  CHECK(gpuhist_buffer_commit(nullptr, 0) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_fail(input, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_fail(input, "mine") == GPUHIST_OK);
  CHECK(gpuhist_input_finish(input) == GPUHIST_MISUSE);
  CHECK(gpuhist_counter_finish(counter, nullptr) == GPUHIST_INVALID_ARGUMENT);
  results = finish(counter);
  CHECK(gpuhist_counter_cancel(counter) == GPUHIST_OK);
  CHECK(gpuhist_input_feed(input, "a", 1) == GPUHIST_CLOSED);
  CHECK(input_of(results, 0).failure == GPUHIST_FAILURE_UNREADABLE);
  CHECK(gpuhist_results_input(results, 1, nullptr) == GPUHIST_INVALID_ARGUMENT);
  std::uint64_t counts = 0;
  CHECK(gpuhist_results_counts(results, "bytes", &counts, 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_counts(results, "letters", &counts, 1) == GPUHIST_INVALID_ARGUMENT);
  const char* name = nullptr;
  CHECK(gpuhist_results_bucket_name(results, "bytes", 256, &name) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_scheme_name(results, 2, &name) == GPUHIST_INVALID_ARGUMENT);
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
  gpuhist_counter_destroy(nullptr);
  gpuhist_input_destroy(nullptr);
  gpuhist_buffer_destroy(nullptr);
  gpuhist_results_destroy(nullptr);
  CHECK(gpuhist_results_complete(nullptr) == 0);
  CHECK(gpuhist_results_bytes(nullptr) == 0);
}

TEST_CASE("C: threads read names, inputs and JSON of one result at once") {
  gpuhist_counter* const counter = make(host());
  for (int i = 0; i < 100; ++i) {
    gpuhist_input* const input = open(counter, std::to_string(i).c_str());
    CHECK(gpuhist_input_feed(input, "abc", 3) == GPUHIST_OK);
    CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
    gpuhist_input_destroy(input);
  }
  const gpuhist_results* const results = finish(counter);
  {
    std::vector<std::jthread> reading;
    for (int i = 0; i < 4; ++i) {
      reading.emplace_back([results] {
        for (std::size_t number = 0; number < 100; ++number) {
          CHECK(input_of(results, number).name == std::to_string(number));
          const char* name = nullptr;
          CHECK(gpuhist_results_bucket_name(results, number % 2 == 0 ? "bytes" : "custom", 0, &name) == GPUHIST_OK);
          const char* json = nullptr;
          CHECK(gpuhist_results_json(results, &json) == GPUHIST_OK);
        }
      });
    }
  }
  gpuhist_results_destroy(const_cast<gpuhist_results*>(results));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  gpuhist_counter_destroy(counter);
}

}  // namespace gpuhist
