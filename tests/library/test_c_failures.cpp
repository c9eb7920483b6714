// The C interface: files, and failures of the counting.
#include "c_handles.hpp"
#include "fed_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {
namespace {

using testing::byte_counts;
using testing::error_names;
using testing::finish;
using testing::host;
using testing::make;
using testing::open;
using testing::random_text;
using testing::sized;

[[noreturn]] void throw_from_callback(void* /*context*/) { throw std::runtime_error("from a callback"); }

}  // namespace

TEST_CASE("a file is counted as by a counter, and what it lacks is in the result") {
  const test::temporary_folder folder;
  const std::string text = random_text(300000, 9);
  const std::string path = folder.file("text", text);
  const gpuhist_options options = host();
  gpuhist_results* result = nullptr;
  REQUIRE(gpuhist_count_file(path.c_str(), &options, &result) == GPUHIST_OK);
  CHECK(gpuhist_results_complete(result) == 1);
  std::vector<std::uint64_t> counts(256);
  REQUIRE(gpuhist_results_counts(result, "bytes", counts.data(), counts.size()) == GPUHIST_OK);
  CHECK(counts == byte_counts(text));
  gpuhist_results_destroy(result);
  REQUIRE(gpuhist_count_file((folder / "missing").c_str(), &options, &result) == GPUHIST_OK);
  CHECK(gpuhist_results_complete(result) == 0);
  auto found = sized<gpuhist_input_result>();
  REQUIRE(gpuhist_results_input(result, 0, &found) == GPUHIST_OK);
  CHECK(found.failure == GPUHIST_FAILURE_UNREADABLE);
  gpuhist_results_destroy(result);
}

TEST_CASE("a file without a path, standard input and unknown names are refused") {
  const gpuhist_options options = host();
  gpuhist_results* result = nullptr;
  CHECK(gpuhist_count_file(nullptr, &options, &result) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_count_file("x", &options, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_count_file("-", &options, &result) == GPUHIST_INVALID_ARGUMENT);
  CHECK(std::string_view(gpuhist_error_text()).find("standard input") != std::string_view::npos);
  gpuhist_options unknown = host();
  const char* const name = "nope";
  unknown.schemes = &name;
  unknown.scheme_count = 1;
  CHECK(gpuhist_count_file("x", &unknown, &result) == GPUHIST_INVALID_ARGUMENT);
  CHECK(result == nullptr);
}

TEST_CASE("a callback for windows that does not return 0 ends the reading of a file") {
  const test::temporary_folder folder;
  const std::string path = folder.file("text", std::string(3000000, 'a'));
  gpuhist_options options = host();
  options.window_length = 1000;
  int calls = 0;
  options.window_context = &calls;
  options.on_window = [](void* context, const gpuhist_window* window) -> std::int32_t {
    auto info = sized<gpuhist_window_info>();
    CHECK(gpuhist_window_describe(window, &info) == GPUHIST_OK);
    CHECK(info.bytes <= 1000);
    ++*static_cast<int*>(context);
    return 1;
  };
  gpuhist_results* result = nullptr;
  REQUIRE(gpuhist_count_file(path.c_str(), &options, &result) == GPUHIST_OK);
  CHECK(calls > 0);
  gpuhist_results_destroy(result);
}

TEST_CASE("C: why counting failed is a status") {
  gpuhist_counter* const counter = make(host());
  gpuhist_input* const input = open(counter, "text");
  CHECK(gpuhist_input_feed_borrowed(input, "abc", 3, throw_from_callback, nullptr) == GPUHIST_OK);
  gpuhist_results* const failed = finish(counter);
  CHECK(gpuhist_results_failure(failed) == GPUHIST_CALLBACK);
  CHECK(std::string_view(gpuhist_results_error(failed)) == "a release callback failed: from a callback");
  CHECK(gpuhist_results_bytes(failed) == 3);
  gpuhist_results_destroy(failed);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
  gpuhist_counter* const other = make(host());
  gpuhist_results* const good = finish(other);
  CHECK(gpuhist_results_failure(good) == GPUHIST_OK);
  gpuhist_results_destroy(good);
  gpuhist_counter_destroy(other);
  CHECK(gpuhist_results_failure(nullptr) == GPUHIST_OK);
}

TEST_CASE("C: a size that no structure has is refused before the structure is read or written") {
  gpuhist_counter* counter = nullptr;
  gpuhist_options options = host();
  options.size = static_cast<std::size_t>(1) << 40U;
  CHECK(gpuhist_counter_create(&options, &counter) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options.size"));
  counter = make(host());
  gpuhist_input* const input = open(counter, "text");
  gpuhist_results* const results = finish(counter);
  auto found = sized<gpuhist_input_result>();
  found.size = ~std::size_t{0};
  CHECK(gpuhist_results_input(results, 0, &found) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_input_result.size"));
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: no exception of a callback leaves a function") {
  CHECK(gpuhist_input_feed_borrowed(nullptr, "a", 1, throw_from_callback, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("input is null"));
  gpuhist_options options = host();
  options.window_length = 10;
  options.on_window = [](void* context, const gpuhist_window* /*window*/) -> std::int32_t {
    throw_from_callback(context);
  };
  gpuhist_counter* const counter = make(options);
  gpuhist_input* const input = open(counter, "text");
  const std::string text(95, 'a');
  CHECK(gpuhist_input_feed(input, text.data(), text.size()) == GPUHIST_OK);
  gpuhist_results* results = nullptr;
  CHECK(gpuhist_counter_finish(counter, &results) == GPUHIST_CALLBACK);
  CHECK(error_names("gpuhist_options.on_window threw an exception: from a callback"));
  CHECK(results == nullptr);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

}  // namespace gpuhist
