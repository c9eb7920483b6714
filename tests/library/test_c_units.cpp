// Units, filters and fields of JSON lines in the C interface: options, callbacks, the summary, and errors.
#include "c_handles.hpp"
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.h>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {
namespace {

using test::temporary_folder;
using namespace testing;

constexpr std::array<const char*, 1> of_x = {"s:x=x"};

gpuhist_options options_of(const gpuhist_unit_options& units) {
  gpuhist_options made = host();
  made.schemes = of_x.data();
  made.scheme_count = of_x.size();
  made.units = &units;
  return made;
}

gpuhist_unit_options lines_where(const char* condition, std::uint32_t filter = GPUHIST_FILTER_NONE) {
  auto made = sized<gpuhist_unit_options>();
  made.where = condition;
  made.filter = filter;
  return made;
}

gpuhist_unit_summary summary_of(const gpuhist_results* results) {
  auto made = sized<gpuhist_unit_summary>();
  REQUIRE(gpuhist_results_units(results, &made) == GPUHIST_OK);
  return made;
}

struct seen_unit {
  std::vector<std::uint64_t> place{};  // number, line, offset, bytes
  std::string name{};                  // of the first value
  double value = 0;

  bool operator==(const seen_unit&) const = default;
};

seen_unit seen(const gpuhist_unit* unit) {
  auto info = sized<gpuhist_unit_info>();
  REQUIRE(gpuhist_unit_describe(unit, &info) == GPUHIST_OK);
  CHECK(std::string_view(info.input) == "text");
  CHECK(info.verified == 1);
  CHECK(info.values == 1);
  const char* name = nullptr;
  seen_unit made{.place = {info.number, info.line, info.offset, info.bytes}};
  REQUIRE(gpuhist_unit_value(unit, 0, &name, &made.value) == GPUHIST_OK);
  made.name = name;
  CHECK(gpuhist_unit_value(unit, info.values, &name, &made.value) == GPUHIST_INVALID_ARGUMENT);
  return made;
}

struct dropped_unit {
  std::uint64_t number = 0;
  std::int32_t verified = 0;
  std::uint64_t field_bytes = 0;
  std::string without_field{};

  bool operator==(const dropped_unit&) const = default;
};

struct filtered {
  std::string kept{};
  std::vector<dropped_unit> dropped{};
  std::vector<std::string> notices{};
  gpuhist_unit_summary summary{};
  std::int32_t complete = 0;
};

// The units that a filter keeps are in `found`, and the others, with the callback for them.
gpuhist_options filter_options(const gpuhist_unit_options& units, filtered& found) {
  gpuhist_options options = host();
  options.units = &units;
  options.on_unit = [](void* context, const gpuhist_unit* unit) -> std::int32_t {
    auto info = sized<gpuhist_unit_info>();
    REQUIRE(gpuhist_unit_describe(unit, &info) == GPUHIST_OK);
    static_cast<std::vector<dropped_unit>*>(context)->push_back(
        {info.number, info.verified, info.field_bytes, info.without_field});
    return 0;
  };
  options.unit_context = &found.dropped;
  options.on_notice = testing::add_notice;
  options.notice_context = &found.notices;
  return options;
}

void add_results(filtered& found, const gpuhist_results* results) {
  found.summary = summary_of(results);
  found.complete = gpuhist_results_complete(results);
}

filtered filtered_file(const std::string& path, const gpuhist_unit_options& units, std::int32_t skip_damage = 0) {
  filtered found;
  gpuhist_options options = filter_options(units, found);
  options.skip_damage = skip_damage;
  options.on_kept = testing::append_text;
  options.kept_context = &found.kept;
  add_results(found, count_file(path, options));
  return found;
}

filtered filtered_input(const char* name, std::string_view text, const gpuhist_unit_options& units) {
  filtered found;
  const owned_counter counter = make(filter_options(units, found));
  auto receives = sized<gpuhist_input_options>();
  receives.on_kept = testing::append_text;
  receives.kept_context = &found.kept;
  const owned_input input = open(counter, name, &receives);
  feed(input, text);
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  add_results(found, finish(counter));
  return found;
}

std::string zstd_frame(std::string_view text, std::byte damage = {}) {
  std::string made = test::string_of(test::zstd_frame_of(bytes_of(text)));
  made.back() = static_cast<char>(static_cast<std::byte>(made.back()) ^ damage);  // in the checksum
  return made;
}

}  // namespace

TEST_CASE("C: selected units are passed to a callback, and the results have their summary") {
  constexpr std::string_view text = "xy\nyyy\nxxx\n\nx";
  gpuhist_unit_options units = lines_where("count(s.x) > 0");
  units.top = 2;
  units.top_by = "bytes";
  units.distribution_of = "bytes / count(s.x)";
  std::vector<seen_unit> found;
  gpuhist_options options = options_of(units);
  options.on_unit = [](void* context, const gpuhist_unit* unit) -> std::int32_t {
    static_cast<std::vector<seen_unit>*>(context)->push_back(seen(unit));
    return 0;
  };
  options.unit_context = &found;
  const owned_counter counter = make(options);
  const owned_input input = open(counter, "text");
  feed(input, text);
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  const owned_results results = finish(counter);
  CHECK(found == std::vector<seen_unit>{{{1, 1, 0, 3}, "count(s.x)", 1},
                                        {{3, 3, 7, 4}, "count(s.x)", 3},
                                        {{5, 5, 12, 1}, "count(s.x)", 1}});
  const gpuhist_unit_summary summary = summary_of(results);
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
  std::vector<std::uint64_t> numbers(summary.ranges);
  double from = 0;
  double to = 0;
  for (std::size_t i = 0; i < summary.ranges; ++i) {
    REQUIRE(gpuhist_results_value_range(results, i, &from, &to, &numbers[i]) == GPUHIST_OK);
    CHECK(from < to);
  }
  CHECK(numbers == std::vector<std::uint64_t>{1, 1, 1});
  std::uint64_t number = 0;
  CHECK(gpuhist_results_value_range(results, summary.ranges, &from, &to, &number) == GPUHIST_INVALID_ARGUMENT);
}

TEST_CASE("C: a filter passes the text of the units that it keeps, by the delimiter, to the callback of the input") {
  for (const std::uint32_t filter : {GPUHIST_FILTER_KEEP, GPUHIST_FILTER_DROP}) {
    gpuhist_unit_options units = lines_where("s.x > 0.4", filter);
    units.each = GPUHIST_UNIT_RECORD;
    units.delimiter = ';';
    const owned_counter counter = make(options_of(units));
    std::string kept;
    auto receives = sized<gpuhist_input_options>();
    receives.on_kept = testing::append_text;
    receives.kept_context = &kept;
    const owned_input input = open(counter, "text", &receives);
    feed(input, "xx;yy;x");
    CHECK(kept == (filter == GPUHIST_FILTER_KEEP ? "xx;" : "yy;"));
    CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
    CHECK(kept == (filter == GPUHIST_FILTER_KEEP ? "xx;x" : "yy;"));
  }
}

TEST_CASE("C: a filter of a file passes the text that it keeps to a callback, and reports the other units") {
  const temporary_folder folder;
  const filtered found =
      filtered_file(folder.file("a", "x1\n222\nyy\n3"), lines_where("bytes < 4", GPUHIST_FILTER_KEEP));
  CHECK(found.kept == "x1\nyy\n3");
  REQUIRE(found.dropped.size() == 1);
  CHECK(found.dropped[0].number == 2);
  CHECK(found.summary.selected == 3);
  CHECK(found.complete == 1);
  CHECK(found.notices.empty());
}

TEST_CASE("C: with skip_damage a filter drops the units with damaged text, and says so") {
  const temporary_folder folder;
  const std::string path = folder.file(
      "a.zst", zstd_frame("one\ntwo\nthr") + zstd_frame("ee\nfour\nfi", std::byte{1}) + zstd_frame("ve\nsix\n"));
  const filtered found = filtered_file(path, lines_where("bytes > 0", GPUHIST_FILTER_KEEP), 1);
  CHECK(found.kept == "one\ntwo\nsix\n");
  CHECK(found.dropped == std::vector<dropped_unit>{{3}, {4}, {5}, {6}});
  CHECK(found.summary.seen == 7);
  CHECK(found.summary.selected == 3);
  CHECK(found.summary.unverified == 4);
  CHECK(found.summary.unverified_bytes == 16);
  CHECK(found.complete == 0);
}

TEST_CASE("C: unverified text is in the totals with count_unverified") {
  const temporary_folder folder;
  const std::string path = folder.file("a.zst", zstd_frame("four", std::byte{1}));
  gpuhist_options options = host();
  for (const std::int32_t counts : {0, 1}) {
    options.count_unverified = counts;
    CHECK(gpuhist_results_bytes(count_file(path, options)) == (counts == 0 ? 0 : 4));
  }
}

TEST_CASE("C: the value of a field of JSON lines is measured, and the first line without it is reported") {
  constexpr std::string_view text = "{\"t\":\"abc\"}\n{\"t\":5}\n\n{\"t\":\"\\u00e9\"}\n";
  const temporary_folder folder;
  const std::string path = folder.file("a", text);
  gpuhist_unit_options units = lines_where("bytes > 2", GPUHIST_FILTER_KEEP);
  units.jsonl_field = "t";
  for (const filtered& found : {filtered_file(path, units), filtered_input(path.c_str(), text, units)}) {
    CHECK(found.kept == "{\"t\":\"abc\"}\n");
    CHECK(found.dropped ==
          std::vector<dropped_unit>{{2, 1, 0, "the value is not a string"}, {3, 1, 0, ""}, {4, 1, 2, ""}});
    CHECK(found.summary.without_field == 1);
    CHECK(found.notices ==
          std::vector<std::string>{"warning: " + path + ": line 2 is without field 't': the value is not a string"});
  }
}

TEST_CASE("C: errors of units name the field") {
  const auto refused = [](const auto& change, std::string_view part) {
    gpuhist_unit_options units = sized<gpuhist_unit_options>();
    change(units);
    const gpuhist_options options = options_of(units);
    owned_counter none;
    CHECK(gpuhist_counter_create(&options, none.out()) == GPUHIST_INVALID_ARGUMENT);
    CAPTURE(gpuhist_error_text());
    CHECK(error_names(part));
  };
  using units = gpuhist_unit_options;
  refused([](units& of) { of.size = 1; }, "gpuhist_unit_options.size");
  refused([](units& of) { of.each = 5; }, "gpuhist_unit_options.each: there is no unit 5");
  refused([](units& of) { of.filter = 3; }, "gpuhist_unit_options.filter: there is no filter 3");
  refused([](units& of) { of.delimiter = 256; }, "gpuhist_unit_options.delimiter: 256 is not a byte");
  refused([](units& of) { of.where = "nothing_like_it > 1"; }, "--where: ");
  refused(
      [](units& of) {
        of.top = 1;
        of.top_by = "bites";
      },
      "--top: ");
}

TEST_CASE("C: fields for files are refused for counters, and a callback and a filter require each other") {
  const gpuhist_unit_options units = lines_where("bytes > 1", GPUHIST_FILTER_KEEP);
  owned_results results;
  const gpuhist_options filters = options_of(units);
  CHECK(gpuhist_count_file("/dev/null", &filters, results.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options.on_kept: gpuhist_unit_options.filter requires it"));
  const owned_counter counter = make(filters);
  owned_input input;
  CHECK(gpuhist_input_open(counter, "text", input.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("input_options::on_kept"));

  std::array<gpuhist_options, 3> refused = {host(), host(), host()};
  refused[0].on_kept = testing::append_text;
  refused[1].skip_damage = 1;
  refused[2].count_unverified = 1;
  CHECK(gpuhist_count_file("/dev/null", refused.data(), results.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options.on_kept: requires gpuhist_unit_options.filter"));
  constexpr std::array<std::string_view, 3> fields = {"on_kept", "skip_damage", "count_unverified"};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    owned_counter none;
    CHECK(gpuhist_counter_create(&refused.at(i), none.out()) == GPUHIST_INVALID_ARGUMENT);
    CHECK(error_names("gpuhist_options." + std::string(fields.at(i)) + ": only for gpuhist_count_file"));
  }
}

TEST_CASE("C: results without units have no summary, and null is refused") {
  const owned_results results = finish(make(host()));
  auto summary = sized<gpuhist_unit_summary>();
  CHECK(gpuhist_results_units(results, &summary) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options.units"));
  CHECK(gpuhist_results_units(nullptr, &summary) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_unit_describe(nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_unit_value(nullptr, 0, nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_ranked_unit(nullptr, 0, nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_value_range(nullptr, 0, nullptr, nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
}

TEST_CASE("C: a value that a unit does not have is not a number") {
  const gpuhist_unit_options units = lines_where("chi2 > 1 || bytes > 0");
  double value = 0;
  gpuhist_options options = options_of(units);
  options.on_unit = [](void* context, const gpuhist_unit* unit) -> std::int32_t {
    const char* name = nullptr;
    return gpuhist_unit_value(unit, 0, &name, static_cast<double*>(context)) == GPUHIST_OK ? 0 : 1;
  };
  options.unit_context = &value;
  const owned_counter counter = make(options);
  const owned_input input = open(counter, "text");
  feed(input, "x\n");
  CHECK(gpuhist_results_complete(finish(counter)) == 1);
  CHECK(std::isnan(value));
}

}  // namespace gpuhist
