// Units in the C interface: options, the callbacks for units and for kept text, the summary, and errors.
#include "c_handles.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.h>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {
namespace {

using testing::error_names;
using testing::finish;
using testing::host;
using testing::make;
using testing::open;
using testing::sized;

constexpr std::array<const char*, 1> of_x = {"s:x=x"};

gpuhist_options options_of(const gpuhist_unit_options& units) {
  gpuhist_options made = host();
  made.schemes = of_x.data();
  made.scheme_count = of_x.size();
  made.units = &units;
  return made;
}

struct seen_unit {
  std::string input;
  std::vector<std::uint64_t> place;  // number, line, offset, bytes
  std::string name;                  // of the first value
  double value = 0;

  bool operator==(const seen_unit&) const = default;
};

seen_unit seen(const gpuhist_unit* unit) {
  auto info = sized<gpuhist_unit_info>();
  REQUIRE(gpuhist_unit_describe(unit, &info) == GPUHIST_OK);
  CHECK(info.verified == 1);
  CHECK(info.values == 1);
  const char* name = nullptr;
  seen_unit made{.input = info.input, .place = {info.number, info.line, info.offset, info.bytes}, .name = {}};
  REQUIRE(gpuhist_unit_value(unit, 0, &name, &made.value) == GPUHIST_OK);
  made.name = name;
  CHECK(gpuhist_unit_value(unit, info.values, &name, &made.value) == GPUHIST_INVALID_ARGUMENT);
  return made;
}

std::int32_t note_unit(void* context, const gpuhist_unit* unit) {
  static_cast<std::vector<seen_unit>*>(context)->push_back(seen(unit));
  return 0;
}

std::int32_t note_kept(void* context, const void* bytes, std::size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), size);
  return 0;
}

constexpr std::string_view text = "xy\nyyy\nxxx\n\nx";

const std::vector<seen_unit> lines_with_x = {{"text", {1, 1, 0, 3}, "count(s.x)", 1},
                                             {"text", {3, 3, 7, 4}, "count(s.x)", 3},
                                             {"text", {5, 5, 12, 1}, "count(s.x)", 1}};

void check_summary(const gpuhist_results* results) {
  auto summary = sized<gpuhist_unit_summary>();
  REQUIRE(gpuhist_results_units(results, &summary) == GPUHIST_OK);
  CHECK(summary.seen == 5);
  CHECK(summary.bytes == text.size());
  CHECK(summary.selected == 3);
  CHECK(summary.selected_bytes == 8);
  CHECK(summary.ranked == 2);
  CHECK(summary.without_value == 2);
  double value = 0;
  const gpuhist_unit* unit = nullptr;
  REQUIRE(gpuhist_results_ranked_unit(results, 0, &value, &unit) == GPUHIST_OK);
  CHECK(value == 4);
  CHECK(seen(unit).place == std::vector<std::uint64_t>{2, 2, 3, 4});
  REQUIRE(gpuhist_results_ranked_unit(results, 1, &value, &unit) == GPUHIST_OK);
  CHECK(seen(unit).place == std::vector<std::uint64_t>{3, 3, 7, 4});
  CHECK(gpuhist_results_ranked_unit(results, 2, &value, &unit) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("there is no ranked unit 2 of 2"));
  // bytes for each x: 3, 4/3 and 1
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < summary.ranges; ++i) {
    double from = 0;
    double to = 0;
    numbers.push_back(0);
    REQUIRE(gpuhist_results_value_range(results, i, &from, &to, &numbers.back()) == GPUHIST_OK);
    CHECK(from < to);
  }
  CHECK(numbers == std::vector<std::uint64_t>{1, 1, 1});
  double from = 0;
  std::uint64_t number = 0;
  CHECK(gpuhist_results_value_range(results, summary.ranges, &from, &from, &number) == GPUHIST_INVALID_ARGUMENT);
}

gpuhist_unit_options everything() {
  auto made = sized<gpuhist_unit_options>();
  made.where = "count(s.x) > 0";
  made.top = 2;
  made.top_by = "bytes";
  made.distribution_of = "bytes / count(s.x)";
  return made;
}

}  // namespace

TEST_CASE("C: selected units of a fed input are passed to a callback, and the results have their summary") {
  const gpuhist_unit_options units = everything();
  std::vector<seen_unit> found;
  gpuhist_options options = options_of(units);
  options.on_unit = note_unit;
  options.unit_context = &found;
  gpuhist_counter* const counter = make(options);
  gpuhist_input* const input = open(counter, "text");
  for (const char& each : text) CHECK(gpuhist_input_feed(input, &each, 1) == GPUHIST_OK);
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  gpuhist_results* const results = finish(counter);
  CHECK(found == lines_with_x);
  check_summary(results);
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: units of a file are those of a fed input") {
  const test::temporary_folder folder;
  const std::string path = folder.file("text", text);
  const gpuhist_unit_options units = everything();
  std::vector<seen_unit> found;
  gpuhist_options options = options_of(units);
  options.on_unit = note_unit;
  options.unit_context = &found;
  gpuhist_results* results = nullptr;
  REQUIRE(gpuhist_count_file(path.c_str(), &options, &results) == GPUHIST_OK);
  for (seen_unit& each : found) {
    CHECK(each.input == path);
    each.input = "text";
  }
  CHECK(found == lines_with_x);
  check_summary(results);
  gpuhist_results_destroy(results);
}

TEST_CASE("C: a filter passes the text of the units that it keeps, by the delimiter, to the callback of the input") {
  for (const std::uint32_t filter : {GPUHIST_FILTER_KEEP, GPUHIST_FILTER_DROP}) {
    auto units = sized<gpuhist_unit_options>();
    units.each = GPUHIST_UNIT_RECORD;
    units.delimiter = ';';
    units.where = "s.x > 0.4";
    units.filter = filter;
    gpuhist_counter* const counter = make(options_of(units));
    std::string kept;
    auto receives = sized<gpuhist_input_options>();
    receives.on_kept = note_kept;
    receives.kept_context = &kept;
    gpuhist_input* input = nullptr;
    REQUIRE(gpuhist_input_open_with(counter, "text", &receives, &input) == GPUHIST_OK);
    CHECK(gpuhist_input_feed(input, "xx;yy;x", 7) == GPUHIST_OK);
    CHECK(kept == (filter == GPUHIST_FILTER_KEEP ? "xx;" : "yy;"));
    CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
    CHECK(kept == (filter == GPUHIST_FILTER_KEEP ? "xx;x" : "yy;"));
    gpuhist_results_destroy(finish(counter));
    gpuhist_input_destroy(input);
    gpuhist_counter_destroy(counter);
  }
}

TEST_CASE("C: a callback for units or kept text that returns another number than 0 cancels the counter") {
  auto units = sized<gpuhist_unit_options>();
  units.where = "count(s.x) > 0";
  gpuhist_options options = options_of(units);
  options.on_unit = [](void* /*context*/, const gpuhist_unit* /*unit*/) -> std::int32_t { return 1; };
  gpuhist_counter* counter = make(options);
  gpuhist_input* input = open(counter, "text");
  static_cast<void>(gpuhist_input_feed(input, "x\n", 2));
  CHECK(gpuhist_input_feed(input, "x\n", 2) == GPUHIST_CLOSED);
  gpuhist_results* results = finish(counter);
  CHECK(gpuhist_results_complete(results) == 0);
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);

  units.filter = GPUHIST_FILTER_KEEP;
  counter = make(options_of(units));
  auto receives = sized<gpuhist_input_options>();
  receives.on_kept = [](void* /*context*/, const void* /*bytes*/, std::size_t /*size*/) -> std::int32_t { return 1; };
  REQUIRE(gpuhist_input_open_with(counter, "text", &receives, &input) == GPUHIST_OK);
  static_cast<void>(gpuhist_input_feed(input, "x\n", 2));
  CHECK(gpuhist_input_feed(input, "x\n", 2) == GPUHIST_CLOSED);
  results = finish(counter);
  CHECK(gpuhist_results_complete(results) == 0);
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: no exception of on_unit and on_kept leaves a function") {
  auto units = sized<gpuhist_unit_options>();
  units.where = "count(s.x) > 0";
  gpuhist_options options = options_of(units);
  options.on_unit = [](void* /*context*/, const gpuhist_unit* /*unit*/) -> std::int32_t {
    throw std::runtime_error("from a callback");
  };
  gpuhist_counter* counter = make(options);
  gpuhist_input* input = open(counter, "text");
  static_cast<void>(gpuhist_input_feed(input, "x\n", 2));
  gpuhist_results* results = nullptr;
  CHECK(gpuhist_counter_finish(counter, &results) == GPUHIST_CALLBACK);
  CHECK(error_names("gpuhist_options.on_unit threw an exception: from a callback"));
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);

  units.filter = GPUHIST_FILTER_KEEP;
  counter = make(options_of(units));
  auto receives = sized<gpuhist_input_options>();
  receives.on_kept = [](void* /*context*/, const void* /*bytes*/, std::size_t /*size*/) -> std::int32_t { throw 5; };
  REQUIRE(gpuhist_input_open_with(counter, "text", &receives, &input) == GPUHIST_OK);
  CHECK(gpuhist_input_feed(input, "x\n", 2) == GPUHIST_CLOSED);
  CHECK(gpuhist_counter_finish(counter, &results) == GPUHIST_CALLBACK);
  CHECK(error_names("gpuhist_input_options.on_kept threw an exception"));
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: errors of units name the field") {
  gpuhist_counter* counter = nullptr;
  const auto refused = [&](const gpuhist_unit_options& units, std::string_view part) {
    const gpuhist_options options = options_of(units);
    CHECK(gpuhist_counter_create(&options, &counter) == GPUHIST_INVALID_ARGUMENT);
    CAPTURE(gpuhist_error_text());
    CHECK(error_names(part));
  };
  const auto valid = sized<gpuhist_unit_options>();
  gpuhist_unit_options units = valid;
  units.size = 1;
  refused(units, "gpuhist_unit_options.size");
  units = valid;
  units.each = 5;
  refused(units, "gpuhist_unit_options.each: there is no unit 5");
  units = valid;
  units.filter = 3;
  refused(units, "gpuhist_unit_options.filter: there is no filter 3");
  units = valid;
  units.delimiter = 256;
  refused(units, "gpuhist_unit_options.delimiter: 256 is not a byte");
  units = valid;
  units.where = "nothing_like_it > 1";
  refused(units, "unit_options::where");
  units = valid;
  units.top = 1;
  units.top_by = "bites";
  refused(units, "unit_options::top_by");

  units = valid;
  units.where = "bytes > 1";
  units.filter = GPUHIST_FILTER_KEEP;
  gpuhist_options options = options_of(units);
  gpuhist_results* results = nullptr;
  CHECK(gpuhist_count_file("/dev/null", &options, &results) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options.on_kept: gpuhist_unit_options.filter requires it"));
  counter = make(options);
  gpuhist_input* input = nullptr;
  CHECK(gpuhist_input_open(counter, "text", &input) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("input_options::on_kept"));
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: results without units have no summary, and null is refused") {
  gpuhist_counter* const counter = make(host());
  gpuhist_results* const results = finish(counter);
  auto summary = sized<gpuhist_unit_summary>();
  CHECK(gpuhist_results_units(results, &summary) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options.units"));
  CHECK(gpuhist_results_units(nullptr, &summary) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_unit_describe(nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_unit_value(nullptr, 0, nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_ranked_unit(nullptr, 0, nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_value_range(nullptr, 0, nullptr, nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  gpuhist_results_destroy(results);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: a value that a unit does not have is not a number") {
  auto units = sized<gpuhist_unit_options>();
  units.where = "chi2 > 1 || bytes > 0";
  double value = 0;
  gpuhist_options options = options_of(units);
  options.on_unit = [](void* context, const gpuhist_unit* unit) -> std::int32_t {
    const char* name = nullptr;
    return gpuhist_unit_value(unit, 0, &name, static_cast<double*>(context)) == GPUHIST_OK ? 0 : 1;
  };
  options.unit_context = &value;
  gpuhist_counter* const counter = make(options);
  gpuhist_input* const input = open(counter, "text");
  CHECK(gpuhist_input_feed(input, "x\n", 2) == GPUHIST_OK);
  gpuhist_results_destroy(finish(counter));
  CHECK(std::isnan(value));
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

}  // namespace gpuhist
