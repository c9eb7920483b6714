// A user of the library reads the names of fields: no message asks for an option of the command.
#include "fed_text.hpp"
#include "tests/io/archive_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {
namespace {

using namespace std::string_view_literals;
using test::temporary_folder;
using testing::bytes_of;
using testing::message_of;

constexpr std::string_view zlib_text = "\x78\x9c\x4b\x04\x00\x00\x62\x00\x62"sv;

counting_options host() { return {.schemes = {"letters"}, .counting_engine = engine::host, .threads = 2}; }

std::string zstd_of(std::string_view text, int window_log = 0) {
  return test::string_of(
      test::zstd_frame_of(bytes_of(text), {.content_size = window_log == 0, .window_log = window_log}));
}

// A frame of one byte that names dictionary 5.
std::string zstd_with_dictionary() { return std::string("\x28\xb5\x2f\xfd\x21\x05\x01\x09\x00\x00"sv) + "a"; }

void check_text(std::string_view message, const std::string& field) {
  CAPTURE(message);
  CAPTURE(field);
  CHECK(message.find(field) != std::string_view::npos);
  CHECK(message.find("--") == std::string_view::npos);
}

// The failure of the last input.
std::string failure_of_files(const file_options& options) {
  const results result = count_files(options).result;
  return result.input(result.inputs() - 1).error;
}

std::string failure_of_fed(std::string_view bytes, const input_options& options, std::uint64_t memory_limit = 0) {
  counting_options counting = host();
  counting.memory_limit = memory_limit;
  counter counts(counting);
  input fed = counts.open_input("fed", options);
  fed.feed(bytes);
  fed.finish();
  return counts.finish().input(0).error;
}

}  // namespace

TEST_CASE("failures of files name the fields that change the limit, the format or the way of reading") {
  const temporary_folder folder;
  const std::string large(500000, 'a');
  const auto with = [](std::string path) { return file_options{.inputs = {std::move(path)}, .counting = host()}; };

  file_options limited = with(folder.file("bomb.zst", zstd_of(large)));
  limited.max_output = 1000;
  check_text(failure_of_files(limited), "of file_options::max_output");
  limited = with(folder.file("bomb.tar", test::archive_of({{"a", large}}, archive_write_set_format_ustar)));
  limited.max_output = 1000;
  check_text(failure_of_files(limited), "of file_options::max_output");

  file_options small = with(folder.file("window.zst", zstd_of(large, 27)));
  small.counting.memory_limit = std::uint64_t{64} << 20U;
  check_text(failure_of_files(small), "left of counting_options::memory_limit");

  check_text(failure_of_files(with(folder / "")), "file_options::trees");
  check_text(failure_of_files(with(folder.file("unknown.zst", "\x01\x02\x03\xff"))), "give file_options::format raw");
  check_text(failure_of_files(with(folder.file("unknown.tar", "\x01\x02\x03\xff"))), "give file_options::format");
  check_text(failure_of_files(with(folder.file("packed", zlib_text))), "file_options::format raw");
  check_text(failure_of_files(with(folder.file("trained.zst", zstd_with_dictionary()))), "file_options::dictionary");
  const std::string archive =
      test::archive_of({{"a.7z", "7z\xbc\xaf\x27\x1c" + large}}, archive_write_set_format_ustar);
  check_text(failure_of_files(with(folder.file("nested.tar", archive))), "file_options::pass_through");
  check_text(failure_of_files({.counting = host(), .list = list_options{.path = folder / "missing"}}),
             "file_options::list");
}

TEST_CASE("a compressed file that is followed is refused by the name of the field") {
  const temporary_folder folder;
  std::stop_source stop;
  counting_options counting = host();
  counting.stop = stop.get_token();
  counting.alert_if = {"bytes > 2"};
  file_events events;
  events.on_alert = [&](const alert&) { stop.request_stop(); };
  const file_outcome outcome = count_files({.inputs = {folder.file("packed", zstd_of("a")), folder.file("text", "abc")},
                                            .counting = counting,
                                            .follow = true},
                                           events);
  check_text(outcome.result.input(0).error, "file_options::follow");
}

TEST_CASE("failures of inputs that are fed name fields of input_options and of the counter") {
  const std::string large(500000, 'a');
  check_text(failure_of_fed(zstd_of(large), {.format = "zstd", .max_output = 1000}), "of input_options::max_output");
  check_text(failure_of_fed(zlib_text, {.format = ""}), "input_options::format raw");
  check_text(failure_of_fed(zstd_of(large, 27), {.format = "zstd"}, std::uint64_t{64} << 20U),
             "left of counting_options::memory_limit");
  check_text(failure_of_fed(zstd_with_dictionary(), {.format = "zstd"}), "count_files() and file_options::dictionary");
}

TEST_CASE("a memory limit that is too low for a counter names no field that a counter does not have") {
  counting_options options = host();
  options.memory_limit = 1000;
  const std::string message = message_of([&] { const counter counts(options); });
  check_text(message, "give a higher counting_options::memory_limit");
  CHECK(message.find("file_options") == std::string::npos);
}

TEST_CASE("conditions and schemes that are refused name fields") {
  const auto refusal = [](const counting_options& options) {
    return message_of([&] { const counter counts(options); });
  };
  counting_options options = host();
  options.fail_if = {"nothing_like_it > 1"};
  check_text(refusal(options), "measures (counting_options::measures)");
  options.fail_if = {"jsd > 0.1"};
  check_text(refusal(options), "give counting_options::baseline");
  options = host();
  options.schemes = {"letters,a=b"};
  check_text(refusal(options), "counting_options::schemes");
}

TEST_CASE("results that cannot be read back name fields of read_options and counting_options") {
  const auto json_of = [](counting_options options, std::string_view text) {
    options.counting_engine = engine::host;
    options.threads = 1;
    counter counts(options);
    counts.open_input("text").feed(text);
    return counts.finish().to_json();
  };
  const auto refusal = [](const std::string& json, const read_options& options) {
    return message_of([&] { static_cast<void>(results::read(json, options)); });
  };
  check_text(refusal(json_of({.schemes = {"letters"}}, "abc"), {}), "count again with byte_counts");
  check_text(refusal(json_of({.schemes = {"bytes"}, .ignore_case = true}, "abc"), {}), "give ignore_case");
  check_text(refusal(json_of({.schemes = {"letters"}, .byte_counts = true}, "abc"), {.pairs = true}),
             "count again with pairs schemes classes");
  check_text(refusal("no json", {}), "results::to_json() with byte_counts");
}

}  // namespace gpuhist
