// The C interface: one example of each call, structures of other sizes, callbacks that fail, and errors. It translates
// calls to those of C++, whose tests check what is counted.
#include "c_handles.hpp"
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gpuhist {
namespace {

using namespace testing;

std::vector<std::uint64_t> bytes_in(const gpuhist_results* results) {
  std::vector<std::uint64_t> counts(256);
  REQUIRE(gpuhist_results_counts(results, "bytes", counts.data(), counts.size()) == GPUHIST_OK);
  return counts;
}

[[noreturn]] void throw_from_callback(void* /*context*/) { throw std::runtime_error("from a callback"); }

// The context of callbacks that end the counting: by their result or by an exception.
struct refusal {
  bool throws = false;
  int calls = 0;
};

std::int32_t refuse(void* context) {
  refusal& called = *static_cast<refusal*>(context);
  ++called.calls;
  if (called.throws) throw_from_callback(context);
  return 1;
}

std::int32_t refuse_window(void* context, const gpuhist_window* /*window*/) { return refuse(context); }
std::int32_t refuse_unit(void* context, const gpuhist_unit* /*unit*/) { return refuse(context); }
std::int32_t refuse_notice(void* context, const char* /*text*/) { return refuse(context); }
std::int32_t refuse_kept(void* context, const void* /*bytes*/, std::size_t /*size*/) { return refuse(context); }

}  // namespace

TEST_CASE("C: fed, borrowed and lent bytes are counted once, and the results describe the inputs") {
  const std::string text = random_text(1'000'000, 1);
  const owned_counter counter = make(host());
  const owned_input input = open(counter, "text");
  feed(input, std::string_view(text).substr(0, 100'000));
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
  owned_results snapshot;
  CHECK(gpuhist_counter_snapshot(counter, snapshot.out()) == GPUHIST_OK);
  CHECK(bytes_in(snapshot) == byte_counts(text));
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  const owned_results results = finish(counter);
  CHECK(releases == 1);
  CHECK(gpuhist_results_complete(results) == 1);
  CHECK(gpuhist_results_failure(results) == GPUHIST_OK);
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
}

TEST_CASE("C: pairs are read by scheme, and an error if they were not counted or do not fit") {
  const std::array<const char*, 1> vowels = {"vowels=aeiou"};
  gpuhist_options options = host();
  options.schemes = vowels.data();
  options.scheme_count = vowels.size();
  options.pairs = 1;
  const owned_counter counter = make(options);
  const owned_input input = open(counter, "text");
  feed(input, "aabcba");
  const owned_results results = finish(counter);
  std::array<std::uint64_t, 4> pairs{};
  constexpr std::array<std::uint64_t, 4> expected = {1, 1, 1, 2};
  CHECK(gpuhist_results_pairs(results, "custom", pairs.data(), pairs.size()) == GPUHIST_OK);
  CHECK(pairs == expected);
  pairs = {};
  CHECK(gpuhist_results_input_pairs(results, 0, "custom", pairs.data(), pairs.size()) == GPUHIST_OK);
  CHECK(pairs == expected);
  CHECK(gpuhist_results_pairs(results, "custom", pairs.data(), 3) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_pairs(nullptr, "custom", pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_pairs(results, nullptr, pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  const owned_results counts_only = finish(make(host()));
  CHECK(gpuhist_results_pairs(counts_only, "custom", pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("pairs"));
}

TEST_CASE("C: compressed inputs are decoded, and a damaged one is described, and by a notice as one that fails") {
  const auto plain = test::sample_text(300'000);
  auto packed = test::zstd_frame_of(plain);
  std::vector<std::string> notices;
  gpuhist_options options = host();
  options.on_notice = testing::add_notice;
  options.notice_context = &notices;
  const owned_counter counter = make(options);
  auto recognised = sized<gpuhist_input_options>();
  recognised.format = "";
  std::array<owned_input, 2> inputs{};
  for (owned_input& each : inputs) {
    each = open(counter, "packed", &recognised);
    CHECK(gpuhist_input_feed(each, packed.data(), packed.size()) == GPUHIST_OK);
    packed.back() ^= std::byte{1};
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::int32_t failed = -1;
    CHECK(gpuhist_input_failed(inputs.at(i), &failed) == GPUHIST_OK);
    CHECK(failed == static_cast<std::int32_t>(i));
  }
  CHECK(gpuhist_input_finish(inputs[1]) == GPUHIST_OK);
  CHECK(gpuhist_input_fail(open(counter, "failed"), "the connection was closed") == GPUHIST_OK);
  const owned_results results = finish(counter);
  const gpuhist_input_result found = input_of(results, 0);
  CHECK(std::string_view(found.format) == "zstd");
  CHECK(found.compressed_bytes == packed.size());
  CHECK(found.bytes == plain.size());
  const gpuhist_input_result damaged = input_of(results, 1);
  CHECK(damaged.failure == GPUHIST_FAILURE_DAMAGED);
  CHECK(std::string_view(damaged.error).find("checksum") != std::string_view::npos);
  CHECK(gpuhist_results_unverified_bytes(results) == plain.size());
  CHECK(notices ==
        std::vector<std::string>{"packed: " + std::string(damaged.error), "failed: the connection was closed"});
}

TEST_CASE("C: windows are passed to a callback, in which no other call is accepted") {
  struct seen {
    std::vector<std::uint64_t> bytes;
    gpuhist_input* input = nullptr;
  };
  seen all;
  gpuhist_options options = host();
  options.window_length = 10;
  options.on_window = [](void* context, const gpuhist_window* window) -> std::int32_t {
    seen& found = *static_cast<seen*>(context);
    auto info = sized<gpuhist_window_info>();
    CHECK(gpuhist_window_describe(window, &info) == GPUHIST_OK);
    std::array<std::uint64_t, 256> counts{};
    CHECK(gpuhist_window_counts(window, "bytes", counts.data(), counts.size()) == GPUHIST_OK);
    CHECK(std::string_view(info.input) == "text");
    CHECK(info.index == found.bytes.size());
    CHECK(info.bytes == counts['a']);
    found.bytes.push_back(counts['a']);
    CHECK(gpuhist_input_feed(found.input, "a", 1) == GPUHIST_MISUSE);
    return 0;
  };
  options.window_context = &all;
  const owned_counter counter = make(options);
  const owned_input input = open(counter, "text");
  all.input = input;
  feed(input, std::string(95, 'a'));
  const owned_results results = finish(counter);
  CHECK(all.bytes == std::vector<std::uint64_t>{10, 10, 10, 10, 10, 10, 10, 10, 10, 5});
  CHECK(gpuhist_results_complete(results) == 1);
}

TEST_CASE("C: a callback that returns another number than 0 cancels a counter, and its exception is a status") {
  const std::string text = std::string(999, 'a') + '\n';
  for (const bool throws : {false, true}) {
    for (const std::string name : {"gpuhist_options.on_window", "gpuhist_options.on_unit", "gpuhist_options.on_notice",
                                   "gpuhist_input_options.on_kept"}) {
      CAPTURE(name);
      refusal called{.throws = throws};
      auto units = sized<gpuhist_unit_options>();
      units.where = "bytes > 0";
      gpuhist_options options = host();
      auto receives = sized<gpuhist_input_options>();
      if (name.ends_with("on_window")) {
        options.window_length = 10;
        options.on_window = refuse_window;
        options.window_context = &called;
      } else if (name.ends_with("on_unit")) {
        options.units = &units;
        options.on_unit = refuse_unit;
        options.unit_context = &called;
      } else if (name.ends_with("on_notice")) {
        options.on_notice = refuse_notice;
        options.notice_context = &called;
      } else {
        units.filter = GPUHIST_FILTER_KEEP;
        options.units = &units;
        receives.on_kept = refuse_kept;
        receives.kept_context = &called;
      }
      const owned_counter counter = make(options);
      if (name.ends_with("on_notice")) CHECK(gpuhist_input_fail(open(counter, "failed"), "a cause") == GPUHIST_OK);
      const owned_input input = open(counter, "text", &receives);
      while (gpuhist_input_feed(input, text.data(), text.size()) == GPUHIST_OK) {
      }
      CHECK(gpuhist_input_feed(input, "x", 1) == GPUHIST_CLOSED);
      owned_results results;
      const gpuhist_status status = gpuhist_counter_finish(counter, results.out());
      CHECK(called.calls > 0);
      CHECK(status == (throws ? GPUHIST_CALLBACK : GPUHIST_OK));
      CHECK((results.get() == nullptr) == throws);
      if (throws) CHECK(error_names(name + " threw an exception: from a callback"));
      if (!throws) CHECK(gpuhist_results_complete(results) == 0);
    }
  }
}

TEST_CASE("C: a callback that returns another number than 0 ends the reading of a file, as its exception does") {
  const test::temporary_folder folder;
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "some line\n";
  const std::string path = folder.file("text", text);
  auto units = sized<gpuhist_unit_options>();
  units.where = "bytes > 0";
  units.filter = GPUHIST_FILTER_KEEP;
  for (const bool throws : {false, true}) {
    for (const bool filters : {false, true}) {
      refusal called{.throws = throws};
      gpuhist_options options = host();
      if (filters) {
        options.units = &units;
        options.on_kept = refuse_kept;
        options.kept_context = &called;
      } else {
        options.window_length = 1000;
        options.on_window = refuse_window;
        options.window_context = &called;
      }
      owned_results results;
      const gpuhist_status status = gpuhist_count_file(path.c_str(), &options, results.out());
      CHECK(status == (throws ? GPUHIST_CALLBACK : GPUHIST_OK));
      CHECK((results.get() == nullptr) == throws);
      CHECK((filters ? called.calls == 1 : called.calls > 0));
      const std::string name = filters ? "gpuhist_options.on_kept" : "gpuhist_options.on_window";
      if (throws) CHECK(error_names(name + " threw an exception: from a callback"));
    }
  }
}

TEST_CASE("C: an exception without a text is a status, and one of a release is why the counting failed") {
  auto units = sized<gpuhist_unit_options>();
  units.where = "bytes > 0";
  units.filter = GPUHIST_FILTER_KEEP;
  gpuhist_options options = host();
  options.units = &units;
  auto receives = sized<gpuhist_input_options>();
  receives.on_kept = [](void* /*context*/, const void* /*bytes*/, std::size_t /*size*/) -> std::int32_t { throw 5; };
  const owned_counter throwing = make(options);
  const owned_input kept = open(throwing, "text", &receives);
  CHECK(gpuhist_input_feed(kept, "x\n", 2) == GPUHIST_CLOSED);
  owned_results none;
  CHECK(gpuhist_counter_finish(throwing, none.out()) == GPUHIST_CALLBACK);
  CHECK(std::string_view(gpuhist_error_text()) == "gpuhist_input_options.on_kept threw an exception");

  CHECK(gpuhist_input_feed_borrowed(nullptr, "a", 1, throw_from_callback, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("input is null"));
  const owned_counter counter = make(host());
  const owned_input input = open(counter, "text");
  CHECK(gpuhist_input_feed_borrowed(input, "abc", 3, throw_from_callback, nullptr) == GPUHIST_OK);
  const owned_results failed = finish(counter);
  CHECK(gpuhist_results_failure(failed) == GPUHIST_CALLBACK);
  CHECK(std::string_view(gpuhist_results_error(failed)) == "a release callback failed: from a callback");
  CHECK(gpuhist_results_bytes(failed) == 3);
}

TEST_CASE("C: structures of older callers have defaults, and unknown fields and impossible sizes are refused") {
  struct newer_options {
    gpuhist_options known;
    std::uint64_t unknown;
  };
  newer_options newer{.known = host(), .unknown = 0};
  newer.known.size = sizeof(newer);
  CHECK(gpuhist_results_complete(finish(make(newer.known))) == 1);
  newer.unknown = 1;
  owned_counter refused;
  CHECK(gpuhist_counter_create(&newer.known, refused.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(refused.get() == nullptr);
  CHECK(error_names("gpuhist_options"));
  gpuhist_options older = host();
  for (const std::size_t size : {std::size_t{0}, static_cast<std::size_t>(1) << 40U}) {
    older.size = size;
    CHECK(gpuhist_counter_create(&older, refused.out()) == GPUHIST_INVALID_ARGUMENT);
    CHECK(error_names("gpuhist_options.size"));
  }
  older.size = offsetof(gpuhist_options, engine);
  older.engine = 77;  // is not read
  const owned_counter counter = make(older);
  const owned_input input = open(counter, "text");
  feed(input, "abc");
  const owned_results counted = finish(counter);
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
  short_result.size = ~std::size_t{0};
  CHECK(gpuhist_results_input(counted, 0, &short_result) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_input_result.size"));
}

TEST_CASE("C: null, unknown names and numbers, and calls in the wrong order are errors with a text") {
  CHECK(gpuhist_counter_create(nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("made is null"));
  std::array<gpuhist_options, 3> refused = {host(), host(), host()};
  refused[0].engine = 3;
  refused[1].schemes = nullptr;
  refused[2].window_length = 1;
  refused[2].window_unit = 9;
  for (const gpuhist_options& options : refused) {
    owned_counter none;
    CHECK(gpuhist_counter_create(&options, none.out()) == GPUHIST_INVALID_ARGUMENT);
    CHECK(none.get() == nullptr);
  }
  const owned_counter counter = make(host());
  owned_input input;
  CHECK(gpuhist_input_open(nullptr, "text", input.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_open(counter, nullptr, input.out()) == GPUHIST_INVALID_ARGUMENT);
  auto unknown = sized<gpuhist_input_options>();
  unknown.format = "rar";
  CHECK(gpuhist_input_open_with(counter, "text", &unknown, input.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("'rar'"));
  REQUIRE(gpuhist_input_open(counter, "text", input.out()) == GPUHIST_OK);
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
  owned_results results;
  CHECK(gpuhist_counter_finish(counter, results.out()) == GPUHIST_MISUSE);
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
  gpuhist_counter_destroy(nullptr);
  gpuhist_input_destroy(nullptr);
  gpuhist_buffer_destroy(nullptr);
  gpuhist_results_destroy(nullptr);
  CHECK(gpuhist_results_complete(nullptr) == 0);
  CHECK(gpuhist_results_bytes(nullptr) == 0);
  CHECK(gpuhist_results_failure(nullptr) == GPUHIST_OK);
}

TEST_CASE("C: a file is counted as by a counter, what it lacks and its notices are in the result") {
  const test::temporary_folder folder;
  const std::string text = random_text(300000, 9);
  const owned_results counted = count_file(folder.file("text", text), host());
  CHECK(gpuhist_results_complete(counted) == 1);
  CHECK(bytes_in(counted) == byte_counts(text));
  const owned_results missing = count_file(folder / "missing", host());
  CHECK(gpuhist_results_complete(missing) == 0);
  CHECK(input_of(missing, 0).failure == GPUHIST_FAILURE_UNREADABLE);

  const owned_results named = count_file(folder.file("text.gz", "a line\n"), host());
  CHECK(gpuhist_results_complete(named) == 1);
  REQUIRE(input_of(named, 0).notices == 1);
  std::int32_t kind = -1;
  const char* notice = nullptr;
  REQUIRE(gpuhist_results_notice(named, 0, 0, &kind, &notice) == GPUHIST_OK);
  CHECK(kind == GPUHIST_NOTICE_NAME_DIFFERS);
  CHECK(std::string_view(notice) == "is named .gz but holds text; it is counted as text");
  CHECK(gpuhist_results_notice(named, 0, 1, &kind, &notice) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("notice 1"));
  CHECK(gpuhist_results_notice(named, 1, 0, &kind, &notice) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_notice(named, 0, 0, nullptr, &notice) == GPUHIST_INVALID_ARGUMENT);
}

TEST_CASE("C: a file without a path, standard input and unknown names are refused") {
  const gpuhist_options options = host();
  owned_results result;
  CHECK(gpuhist_count_file(nullptr, &options, result.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_count_file("x", &options, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_count_file("-", &options, result.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("standard input"));
  gpuhist_options unknown = host();
  const char* const name = "nope";
  unknown.schemes = &name;
  unknown.scheme_count = 1;
  CHECK(gpuhist_count_file("x", &unknown, result.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(result.get() == nullptr);
}

TEST_CASE("C: threads read names, inputs and JSON of one result at once") {
  const owned_counter counter = make(host());
  for (int i = 0; i < 100; ++i) {
    const owned_input input = open(counter, std::to_string(i).c_str());
    feed(input, "abc");
    CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  }
  const owned_results results = finish(counter);
  std::vector<std::jthread> reading;
  for (int i = 0; i < 4; ++i) {
    reading.emplace_back([&results] {
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

}  // namespace gpuhist
