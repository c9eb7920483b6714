// The C interface of filters of files, of fields of JSON lines, and of notices.
#include "c_handles.hpp"
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.h>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using test::temporary_folder;
using testing::bytes_of;
using testing::error_names;
using testing::finish;
using testing::host;
using testing::make;
using testing::open;
using testing::sized;

std::string c_zstd_frame(std::string_view text) {
  std::string made;
  for (const std::byte each : test::zstd_frame_of(bytes_of(text))) made += static_cast<char>(each);
  return made;
}

// All of its text is decoded.
std::string with_wrong_checksum(std::string frame) {
  frame.back() = static_cast<char>(frame.back() ^ 1);
  return frame;
}

std::int32_t add_kept_text(void* context, const void* bytes, std::size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), size);
  return 0;
}

std::int32_t add_notice(void* context, const char* text) {
  static_cast<std::vector<std::string>*>(context)->emplace_back(text);
  return 0;
}

struct dropped_unit {
  std::uint64_t number = 0;
  std::int32_t verified = 0;
  std::uint64_t field_bytes = 0;
  std::string without_field{};

  bool operator==(const dropped_unit&) const = default;
};

std::int32_t add_dropped_unit(void* context, const gpuhist_unit* unit) {
  auto info = sized<gpuhist_unit_info>();
  REQUIRE(gpuhist_unit_describe(unit, &info) == GPUHIST_OK);
  static_cast<std::vector<dropped_unit>*>(context)->push_back({.number = info.number,
                                                               .verified = info.verified,
                                                               .field_bytes = info.field_bytes,
                                                               .without_field = info.without_field});
  return 0;
}

gpuhist_unit_options lines_where(const char* condition, std::uint32_t filter) {
  auto made = sized<gpuhist_unit_options>();
  made.where = condition;
  made.filter = filter;
  return made;
}

gpuhist_unit_summary unit_summary_of(const gpuhist_results* results) {
  auto made = sized<gpuhist_unit_summary>();
  REQUIRE(gpuhist_results_units(results, &made) == GPUHIST_OK);
  return made;
}

struct filtered_file {
  std::string kept;
  std::vector<dropped_unit> dropped;
  std::vector<std::string> notices;
  gpuhist_results* results = nullptr;

  filtered_file() = default;
  filtered_file(const filtered_file&) = delete;
  filtered_file& operator=(const filtered_file&) = delete;
  ~filtered_file() { gpuhist_results_destroy(results); }

  gpuhist_status run(const std::string& path, gpuhist_options options, const gpuhist_unit_options& units) {
    options.units = &units;
    options.on_kept = add_kept_text;
    options.kept_context = &kept;
    options.on_unit = add_dropped_unit;
    options.unit_context = &dropped;
    options.on_notice = add_notice;
    options.notice_context = &notices;
    return gpuhist_count_file(path.c_str(), &options, &results);
  }
};

}  // namespace

TEST_CASE("C: a filter of a file passes the text that it keeps to a callback, and reports the other units") {
  const temporary_folder folder;
  for (const std::string& path :
       {folder.file("a", "x1\n222\nyy\n3"), folder.file("a.zst", c_zstd_frame("x1\n222\nyy\n3"))}) {
    CAPTURE(path);
    filtered_file found;
    REQUIRE(found.run(path, host(), lines_where("bytes < 4", GPUHIST_FILTER_KEEP)) == GPUHIST_OK);
    CHECK(found.kept == "x1\nyy\n3");
    REQUIRE(found.dropped.size() == 1);
    CHECK(found.dropped[0].number == 2);
    CHECK(unit_summary_of(found.results).selected == 3);
    CHECK(gpuhist_results_complete(found.results) == 1);
    CHECK(found.notices.empty());
  }
}

TEST_CASE("C: with skip_damage a filter drops the units with damaged text, and says so") {
  const temporary_folder folder;
  const std::string path =
      folder.file("a.zst", c_zstd_frame("one\ntwo\nthr") + with_wrong_checksum(c_zstd_frame("ee\nfour\nfi")) +
                               c_zstd_frame("ve\nsix\n"));
  gpuhist_options options = host();
  options.skip_damage = 1;
  filtered_file found;
  REQUIRE(found.run(path, options, lines_where("bytes > 0", GPUHIST_FILTER_KEEP)) == GPUHIST_OK);
  CHECK(found.kept == "one\ntwo\nsix\n");
  CHECK(found.dropped == std::vector<dropped_unit>{{.number = 3}, {.number = 4}, {.number = 5}, {.number = 6}});
  const gpuhist_unit_summary summary = unit_summary_of(found.results);
  CHECK(summary.seen == 7);
  CHECK(summary.selected == 3);
  CHECK(summary.unverified == 4);
  CHECK(summary.unverified_bytes == 16);
  CHECK(gpuhist_results_complete(found.results) == 0);
  CHECK(testing::input_of(found.results, 0).failure == GPUHIST_FAILURE_DAMAGED);
}

TEST_CASE("C: unverified text is in the totals with count_unverified") {
  const temporary_folder folder;
  const std::string path = folder.file("a.zst", with_wrong_checksum(c_zstd_frame("four")));
  gpuhist_options options = host();
  for (const std::int32_t counts : {0, 1}) {
    options.count_unverified = counts;
    gpuhist_results* results = nullptr;
    REQUIRE(gpuhist_count_file(path.c_str(), &options, &results) == GPUHIST_OK);
    CHECK(gpuhist_results_bytes(results) == (counts == 0 ? 0 : 4));
    gpuhist_results_destroy(results);
  }
}

TEST_CASE("C: a callback for the kept text of a file that returns another number than 0 ends the run") {
  const temporary_folder folder;
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "some line\n";
  const std::string path = folder.file("a", text);
  const gpuhist_unit_options units = lines_where("bytes > 0", GPUHIST_FILTER_KEEP);
  gpuhist_options options = host();
  options.units = &units;
  int calls = 0;
  options.kept_context = &calls;
  options.on_kept = [](void* context, const void* /*bytes*/, std::size_t /*size*/) -> std::int32_t {
    ++*static_cast<int*>(context);
    return 1;
  };
  gpuhist_results* results = nullptr;
  CHECK(gpuhist_count_file(path.c_str(), &options, &results) == GPUHIST_OK);
  CHECK(calls == 1);
  gpuhist_results_destroy(std::exchange(results, nullptr));
  options.on_kept = [](void* /*context*/, const void* /*bytes*/, std::size_t /*size*/) -> std::int32_t {
    throw std::runtime_error("from a callback");
  };
  CHECK(gpuhist_count_file(path.c_str(), &options, &results) == GPUHIST_CALLBACK);
  CHECK(error_names("gpuhist_options.on_kept threw an exception: from a callback"));
  CHECK(results == nullptr);
}

TEST_CASE("C: the value of a field of JSON lines is measured, and the first line without it is reported") {
  constexpr std::string_view text = "{\"t\":\"abc\"}\n{\"t\":5}\n\n{\"t\":\"\\u00e9\"}\n";
  const temporary_folder folder;
  gpuhist_unit_options units = lines_where("bytes > 2", GPUHIST_FILTER_KEEP);
  units.jsonl_field = "t";
  const std::vector<dropped_unit> expected = {
      {.number = 2, .verified = 1, .field_bytes = 0, .without_field = "the value is not a string"},
      {.number = 3, .verified = 1, .field_bytes = 0, .without_field = ""},
      {.number = 4, .verified = 1, .field_bytes = 2, .without_field = ""}};
  const std::string path = folder.file("a", text);
  filtered_file of_file;
  REQUIRE(of_file.run(path, host(), units) == GPUHIST_OK);
  CHECK(of_file.kept == "{\"t\":\"abc\"}\n");
  CHECK(of_file.dropped == expected);
  CHECK(unit_summary_of(of_file.results).without_field == 1);
  CHECK(of_file.notices ==
        std::vector<std::string>{"warning: " + path + ": line 2 is without field 't': the value is not a string"});

  filtered_file fed;
  gpuhist_options options = host();
  options.units = &units;
  options.on_unit = add_dropped_unit;
  options.unit_context = &fed.dropped;
  options.on_notice = add_notice;
  options.notice_context = &fed.notices;
  gpuhist_counter* const counter = make(options);
  auto receives = sized<gpuhist_input_options>();
  receives.on_kept = add_kept_text;
  receives.kept_context = &fed.kept;
  gpuhist_input* input = nullptr;
  REQUIRE(gpuhist_input_open_with(counter, "fed", &receives, &input) == GPUHIST_OK);
  CHECK(gpuhist_input_feed(input, text.data(), text.size()) == GPUHIST_OK);
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  fed.results = finish(counter);
  CHECK(fed.kept == of_file.kept);
  CHECK(fed.dropped == expected);
  CHECK(fed.notices ==
        std::vector<std::string>{"warning: fed: line 2 is without field 't': the value is not a string"});
  gpuhist_input_destroy(input);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: a notice about an input that is counted has a kind and a text") {
  const temporary_folder folder;
  const std::string path = folder.file("text.gz", "a line\n");
  const gpuhist_options options = host();
  gpuhist_results* results = nullptr;
  REQUIRE(gpuhist_count_file(path.c_str(), &options, &results) == GPUHIST_OK);
  CHECK(gpuhist_results_complete(results) == 1);
  REQUIRE(testing::input_of(results, 0).notices == 1);
  std::int32_t kind = -1;
  const char* text = nullptr;
  REQUIRE(gpuhist_results_notice(results, 0, 0, &kind, &text) == GPUHIST_OK);
  CHECK(kind == GPUHIST_NOTICE_NAME_DIFFERS);
  CHECK(std::string_view(text) == "is named .gz but holds text; it is counted as text");
  CHECK(gpuhist_results_notice(results, 0, 1, &kind, &text) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("notice 1"));
  CHECK(gpuhist_results_notice(results, 1, 0, &kind, &text) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_notice(results, 0, 0, nullptr, &text) == GPUHIST_INVALID_ARGUMENT);
  gpuhist_results_destroy(results);
}

TEST_CASE("C: a fed input that is damaged, or that the program fails, is reported by a notice") {
  std::vector<std::string> notices;
  gpuhist_options options = host();
  options.on_notice = add_notice;
  options.notice_context = &notices;
  gpuhist_counter* const counter = make(options);
  auto zstd = sized<gpuhist_input_options>();
  zstd.format = "zstd";
  gpuhist_input* damaged = nullptr;
  REQUIRE(gpuhist_input_open_with(counter, "damaged", &zstd, &damaged) == GPUHIST_OK);
  gpuhist_input* const failed = open(counter, "failed");
  gpuhist_input* const whole = open(counter, "whole");
  const std::string bytes = with_wrong_checksum(c_zstd_frame("text"));
  CHECK(gpuhist_input_feed(damaged, bytes.data(), bytes.size()) == GPUHIST_OK);
  CHECK(gpuhist_input_finish(damaged) == GPUHIST_OK);
  CHECK(gpuhist_input_fail(failed, "the connection was closed") == GPUHIST_OK);
  CHECK(gpuhist_input_finish(whole) == GPUHIST_OK);
  gpuhist_results* const results = finish(counter);
  REQUIRE(notices.size() == 2);
  CHECK(notices[0] == "damaged: " + std::string(testing::input_of(results, 0).error));
  CHECK(notices[0].find("checksum") != std::string::npos);
  CHECK(notices[1] == "failed: the connection was closed");
  gpuhist_results_destroy(results);
  for (gpuhist_input* const each : {damaged, failed, whole}) gpuhist_input_destroy(each);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: a callback for notices that returns another number than 0 cancels the counter") {
  gpuhist_options options = host();
  options.on_notice = [](void* /*context*/, const char* /*text*/) -> std::int32_t { return 1; };
  gpuhist_counter* const counter = make(options);
  gpuhist_input* const failed = open(counter, "failed");
  gpuhist_input* const next = open(counter, "next");
  CHECK(gpuhist_input_fail(failed, "a cause") == GPUHIST_OK);
  while (gpuhist_input_feed(next, "x", 1) == GPUHIST_OK) {
  }
  CHECK(gpuhist_input_feed(next, "x", 1) == GPUHIST_CLOSED);
  gpuhist_results* const results = finish(counter);
  CHECK(gpuhist_results_complete(results) == 0);
  gpuhist_results_destroy(results);
  gpuhist_input_destroy(failed);
  gpuhist_input_destroy(next);
  gpuhist_counter_destroy(counter);
}

TEST_CASE("C: fields for files are refused for counters, and a callback without a filter for files") {
  const auto refused = [](const gpuhist_options& options, std::string_view part) {
    gpuhist_counter* counter = nullptr;
    CHECK(gpuhist_counter_create(&options, &counter) == GPUHIST_INVALID_ARGUMENT);
    CHECK(error_names(part));
  };
  gpuhist_options options = host();
  options.on_kept = add_kept_text;
  refused(options, "gpuhist_options.on_kept: only for gpuhist_count_file");
  gpuhist_results* results = nullptr;
  CHECK(gpuhist_count_file("/dev/null", &options, &results) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options.on_kept: requires gpuhist_unit_options.filter"));
  options = host();
  options.skip_damage = 1;
  refused(options, "gpuhist_options.skip_damage: only for gpuhist_count_file");
  options = host();
  options.count_unverified = 1;
  refused(options, "gpuhist_options.count_unverified: only for gpuhist_count_file");
}

}  // namespace gpuhist
