#include "fed_text.hpp"
#include "tests/io/archive_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <thread>

namespace gpuhist {
namespace {

using test::temporary_folder;
using namespace testing;

counting_options host(std::vector<std::string> schemes = {"bytes"}) {
  return {.schemes = std::move(schemes), .counting_engine = engine::host, .threads = 2};
}

// Frames of 64 KiB, so that several threads decode them.
std::string zstd_of(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); at += 65536) {
    made += test::string_of(test::zstd_frame_of(bytes_of(text.substr(at, 65536))));
  }
  return made;
}

// An archive whose first entry is a folder: its type flag is '5'. The checksum of the header changes by 5.
std::string tar_with_folder() {
  constexpr std::size_t type_flag = 156;
  constexpr std::size_t checksum = 148;
  std::string tar = test::archive_of({{"files", ""}, {"files/a", "first"}}, archive_write_set_format_ustar);
  const unsigned long sum = std::stoul(tar.substr(checksum, 6), nullptr, 8) + 5;
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), "%06lo", sum);
  tar.replace(checksum, 6, digits.data());
  tar[type_flag] = '5';
  return tar;
}

}  // namespace

TEST_CASE("content that its name does not promise is counted with a notice, or refused") {
  const temporary_folder folder;
  file_options options{.inputs = {folder.file("text.gz", "a line\n")}, .counting = host()};
  const results counted = count_files(options).result;
  CHECK(counted.complete());
  REQUIRE(counted.input(0).notices.size() == 1);
  CHECK(counted.input(0).notices[0].type == input_notice::kind::name_differs);
  CHECK(counted.input(0).notices[0].text == "is named .gz but holds text; it is counted as text");
  CHECK(results::read(counted.to_json()).input(0).notices[0].text == counted.input(0).notices[0].text);
  options.strict_names = true;
  const input_result refused = count_files(options).result.input(0);
  CHECK(refused.kind == failure::refused);
  CHECK(refused.error == "is named .gz but holds text, which --strict-names refuses; rename it");
}

TEST_CASE("every byte of every file is counted once, plain or compressed, named, listed or found in a tree") {
  const temporary_folder folder;
  const std::vector<std::string> texts = {random_text(3000000, 1), "", std::string(700000, 'x') + "\n", "abc"};
  std::filesystem::create_directory(folder / "tree");
  const std::string named = folder.file("named", texts[0]);
  const std::string empty = folder.file("empty", texts[1]);
  const std::string compressed = folder.file("compressed.zst", zstd_of(texts[2]));
  static_cast<void>(folder.file("tree/found.txt", texts[3]));
  static_cast<void>(folder.file("tree/excluded.log", "not counted"));
  const std::string list = folder.file("list", compressed + "\n" + folder / "tree" + "\n");
  const file_outcome outcome = count_files({.inputs = {named, empty},
                                            .counting = host(),
                                            .list = list_options{.path = list},
                                            .trees = tree_options{.exclude = {"*.log"}}});
  const results& result = outcome.result;
  CHECK(outcome.status == run_status::complete);
  CHECK(result.complete());
  CHECK_FALSE(result.error_kind());
  REQUIRE(result.inputs() == texts.size());
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    CHECK(result.counts("bytes", i) == byte_counts(texts[i]));
    CHECK(result.input(i).lines == byte_counts(texts[i])['\n']);
    CHECK(result.input(i).complete);
    all += texts[i];
  }
  CHECK(result.counts("bytes") == byte_counts(all));
  CHECK(result.input(0).name == named);
  CHECK(result.input(2).format == "zstd");
  CHECK(result.input(2).compressed_bytes == std::filesystem::file_size(compressed));
}

TEST_CASE("damaged, truncated, missing and refused inputs are failures of the result, and the others are counted") {
  const temporary_folder folder;
  const std::string text = random_text(200000, 2);
  std::string damaged = zstd_of(text);
  damaged[100000] ^= 1;
  const std::string whole = zstd_of(text);
  const file_outcome outcome = count_files(
      {.inputs = {folder.file("damaged.zst", damaged), folder.file("short.zst", whole.substr(0, whole.size() - 10)),
                  folder / "missing", folder / "", folder.file("good", text)},
       .counting = host()});
  CHECK(outcome.status == run_status::incomplete);
  const results& result = outcome.result;
  CHECK_FALSE(result.complete());
  CHECK(result.input(0).kind == failure::damaged);
  CHECK(result.counts("bytes", 0) == byte_counts(text.substr(0, 65536)));  // the frames before the damaged one
  CHECK(result.input(1).kind == failure::damaged);
  CHECK(result.counts("bytes", 1) == byte_counts(text.substr(0, std::size_t{3} * 65536)));
  CHECK(result.input(2).kind == failure::unreadable);
  CHECK(result.input(3).kind == failure::refused);
  CHECK(result.input(4).complete);
  CHECK(result.counts("bytes", 4) == byte_counts(text));
}

TEST_CASE("members of an archive are inputs, and state whether they or the archive around them are damaged") {
  const temporary_folder folder;
  const std::string tar = test::archive_of({{"a", "first"}, {"b", "second"}}, archive_write_set_format_ustar);
  std::string damaged = zstd_of(tar);
  damaged.back() ^= 1;  // the checksum of the frame
  const std::string compressed = folder.file("x.tar.zst", damaged);
  const file_outcome outcome = count_files({.inputs = {folder.file("y.tar", tar), compressed}, .counting = host()});
  const results& result = outcome.result;
  std::vector<input_result> inputs;
  for (std::size_t i = 0; i < result.inputs(); ++i) inputs.push_back(result.input(i));
  REQUIRE(inputs.size() == 5);
  CHECK(inputs[0].name == folder / "y.tar/a");
  CHECK(inputs[0].complete);
  CHECK(result.counts("bytes", 1) == byte_counts("second"));
  CHECK(inputs[2].name == compressed);
  CHECK(inputs[2].kind == failure::damaged);
  CHECK_FALSE(inputs[2].is_failure_of_archive);
  for (const std::size_t member : {3U, 4U}) {
    CHECK(inputs[member].kind == failure::damaged);
    CHECK(inputs[member].is_failure_of_archive);
    CHECK(inputs[member].bytes == 0);
    CHECK(inputs[member].unverified_bytes > 0);
  }
  CHECK(result.bytes() == 11);
}

TEST_CASE("a name with a zero byte is refused, and not opened as the name before it") {
  const temporary_folder folder;
  const std::string path = folder.file("text", "abc");
  const std::string list = folder.file("list", path + std::string("\0", 1) + path + std::string("\0", 1));
  const results named = count_files({.inputs = {path + std::string("\0x", 2)}, .counting = host()}).result;
  CHECK(named.input(0).kind == failure::refused);
  CHECK(named.bytes() == 0);
  const results listed = count_files({.counting = host(), .list = list_options{.path = list}}).result;
  REQUIRE(listed.inputs() == 1);
  CHECK(listed.input(0).kind == failure::refused);
  CHECK(listed.input(0).error.find("--null reads") != std::string::npos);
  const results both = count_files({.counting = host(), .list = list_options{.path = list, .terminator = '\0'}}).result;
  CHECK(both.complete());
  CHECK(both.bytes() == 6);
}

TEST_CASE("names that are no inputs have a kind, so that a program need not read their cause") {
  const temporary_folder folder;
  std::filesystem::create_directory(folder / "tree");
  std::filesystem::create_symlink("nowhere", folder / "tree/link");
  REQUIRE(::mkfifo((folder / "tree/fifo").c_str(), 0600) == 0);
  static_cast<void>(folder.file("tree/x.tar", tar_with_folder()));
  const results result = count_files({.inputs = {folder / "tree"}, .counting = host(), .trees = tree_options{}}).result;
  std::vector<skipped_kind> kinds;
  for (const skipped_inputs& each : result.skipped()) kinds.push_back(each.kind);
  std::ranges::sort(kinds);
  CHECK(kinds == std::vector{skipped_kind::link, skipped_kind::special, skipped_kind::directory});
  counting_options kept = host();
  kept.byte_counts = true;
  const results written = count_files({.inputs = {folder / "tree"}, .counting = kept, .trees = tree_options{}}).result;
  for (const skipped_inputs& each : results::read(written.to_json()).skipped()) {
    CHECK(each.kind == skipped_kind::unknown);
    CHECK_FALSE(each.cause.empty());
  }
}

TEST_CASE("a value that is not possible is an error that names its option") {
  const auto refuses = [](const file_options& options, const std::string& option) {
    CAPTURE(option);
    CHECK(error_of([&] { static_cast<void>(count_files(options)); }) == errc::invalid_argument);
    const std::string message = message_of(options);
    CAPTURE(message);
    CHECK(message.starts_with(option + ": "));
  };
  refuses({}, "file_options::inputs");
  refuses({.inputs = {"-"}, .counting = host()}, "file_options::inputs");
  refuses({.inputs = {"x"}, .counting = {.schemes = {"nope"}}}, "--buckets");
  refuses({.inputs = {"x"}, .counting = {.measures = {"nope"}}}, "--measures");
  refuses({.inputs = {"x"}, .counting = {.measures = {"jsd"}}}, "--measures");
  refuses({.inputs = {"x"}, .counting = {.baseline = results()}}, "--baseline");
  refuses({.inputs = {"x"}, .counting = {.previous_windows = 1}}, "--baseline");
  refuses({.inputs = {"x"}, .counting = {.windows = window_options{}}}, "--window");
  refuses({.inputs = {"x"}, .counting = {.windows = window_options{.length = 2, .step = 3}}}, "--step");
  refuses({.inputs = {"x"}, .counting = {.fail_if = {"bytes >"}}}, "--fail-if");
  refuses({.inputs = {"x"}, .counting = {.fail_fast = true}}, "--fail-fast");
  refuses({.inputs = {"x"}, .counting = {.counting_engine = static_cast<engine>(9)}}, "--engine");
  refuses({.inputs = {"x"}, .counting = {.counting_engine = engine::host, .devices = {0}}}, "--devices");
  refuses({.inputs = {"x"}, .counting = {.kernel = "nope"}}, "--kernel");
  refuses({.inputs = {"x"}, .counting = {.streams = 1000}}, "--streams");
  refuses({.inputs = {"x"}, .counting = {.threads = 100000}}, "--threads");
  refuses({.inputs = {"x"}, .counting = {.memory_limit = 1}}, "--memory-limit");
  refuses({.inputs = {"x"}, .format = "nope"}, "--input-format");
  refuses({.inputs = {"x"}, .dictionary = "/nowhere"}, "--zstd-dictionary");
  refuses({.inputs = {"x"}, .snapshot_every = std::chrono::milliseconds(0)}, "--snapshot-every");
  refuses({.inputs = {"x"}, .slots = 1}, "--slots");
  refuses({.inputs = {"x"}, .counting = host(), .list = list_options{.path = "names"}, .follow = true}, "--follow");
  refuses({.inputs = {"x"}, .pass_through = pass_through_options{}}, "pass_through_options");
}

TEST_CASE("windows are published in their order, each with its counts and measures") {
  const temporary_folder folder;
  const std::string text = random_text(100000, 3);
  counting_options counting = host();
  counting.windows = window_options{.length = 30000, .step = 10000};
  counting.byte_counts = true;
  std::vector<window> windows;
  file_events events;
  events.on_window = [&](const window& next) { windows.push_back(next); };
  const std::string path = folder.file("text", text);
  CHECK(count_files({.inputs = {path}, .counting = counting}, events).status == run_status::complete);
  REQUIRE(windows.size() >= 8);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    CAPTURE(i);
    const window& each = windows[i];
    const std::string_view part = std::string_view(text).substr(i * 10000, 30000);
    CHECK(each.index() == i);
    CHECK(each.input() == path);
    CHECK(each.first_offset() == i * 10000);
    CHECK(each.end_offset() == i * 10000 + part.size());
    CHECK(each.counts("bytes") == byte_counts(part));
    CHECK(each.lines() == byte_counts(part)['\n']);
    CHECK(each.verified());
    CHECK(each.measure("entropy").value.value_or(0) > 7);
  }
  CHECK(windows.front().end_reason() == window::end::full);
}

TEST_CASE("conditions are reported with their values, and decide the status") {
  const temporary_folder folder;
  const std::string path = folder.file("text", "aaaab");
  counting_options counting = host({"letters"});
  counting.fail_if = {"a-d > 0.5"};
  counting.alert_if = {"bytes > 100"};
  std::vector<alert> alerts;
  file_events events;
  events.on_alert = [&](const alert& next) { alerts.push_back(next); };
  CHECK(count_files({.inputs = {path}, .counting = counting}, events).status == run_status::condition_held);
  REQUIRE(alerts.size() == 1);
  CHECK(alerts[0].fails);
  CHECK(alerts[0].condition == "a-d > 0.5");
  CHECK(alerts[0].of == alert::unit::input);
  CHECK(alerts[0].input == path);
  CHECK(alerts[0].end_offset == 5);
  REQUIRE(alerts[0].values.size() == 1);
  CHECK(alerts[0].values[0].value == 1);
}

TEST_CASE("with fail_fast a condition ends the reading") {
  const temporary_folder folder;
  counting_options counting = host({"letters"});
  counting.fail_if = {"a-d > 0.5"};
  counting.fail_fast = true;
  std::vector<std::string> inputs = {folder.file("first", "aaaa")};
  for (int i = 0; i < 500; ++i) inputs.push_back(folder.file("other" + std::to_string(i), "x"));
  const file_outcome outcome = count_files({.inputs = inputs, .counting = counting});
  CHECK(outcome.status == run_status::condition_held);
  CHECK(outcome.ended_by_condition);
}

TEST_CASE("snapshots and inputs are published as results") {
  const temporary_folder folder;
  const std::string text = random_text(4000000, 4);
  const std::vector<std::string> inputs = {folder.file("a", text), folder.file("b", "xyz"), folder / "missing"};
  std::vector<results> snapshots;
  std::vector<results> finished;
  file_events events;
  events.on_snapshot = [&](const results& now) { snapshots.push_back(now); };
  events.on_input = [&](const results& input) { finished.push_back(input); };
  static_cast<void>(
      count_files({.inputs = inputs, .counting = host(), .snapshot_every = std::uint64_t{1000000}}, events));
  CHECK_FALSE(snapshots.empty());
  for (const results& each : snapshots) {
    CHECK(each.type() == results::kind::snapshot);
    CHECK_FALSE(each.complete());
    CHECK(each.bytes() <= text.size() + 3);
  }
  REQUIRE(finished.size() == 3);
  CHECK(finished[0].counts("bytes") == byte_counts(text));
  CHECK(finished[0].inputs() == 1);
  CHECK(finished[1].counts("bytes", 0) == byte_counts("xyz"));
  CHECK(finished[2].input(0).kind == failure::unreadable);
}

TEST_CASE("an exception of a callback ends the run and is thrown unchanged") {
  struct stopped_by_test {};
  const temporary_folder folder;
  const std::string path = folder.file("text", random_text(3000000, 5));
  counting_options counting = host();
  counting.alert_if = {"bytes > 0"};
  counting.windows = window_options{.length = 1000};
  const file_options options{.inputs = {path, path}, .counting = counting, .snapshot_every = std::uint64_t{100000}};
  const auto throws = [](const auto&) { throw stopped_by_test(); };
  CHECK_THROWS_AS(static_cast<void>(count_files(options, {{.on_window = throws}})), stopped_by_test);
  CHECK_THROWS_AS(static_cast<void>(count_files(options, {{.on_alert = throws}})), stopped_by_test);
  file_events events;
  events.on_snapshot = throws;
  CHECK_THROWS_AS(static_cast<void>(count_files(options, events)), stopped_by_test);
  events = {};
  events.on_input = throws;
  CHECK_THROWS_AS(static_cast<void>(count_files(options, events)), stopped_by_test);
  events = {};
  events.on_input = [](const results&) { throw std::system_error(ENOSPC, std::system_category()); };
  CHECK_THROWS_AS(static_cast<void>(count_files(options, events)), std::system_error);  // not gpuhist::error
}

TEST_CASE("a stop that another thread requests ends the run, with the counts of what was read") {
  const temporary_folder folder;
  const std::string path = folder.file("text", "abc");
  std::stop_source stop;
  counting_options counting = host();
  counting.stop = stop.get_token();
  counting.alert_if = {"bytes > 2"};
  std::jthread other;
  file_events events;
  events.on_alert = [&](const alert&) {
    if (!other.joinable()) other = std::jthread([&] { stop.request_stop(); });
  };
  const file_outcome outcome = count_files({.inputs = {path}, .counting = counting, .follow = true}, events);
  CHECK(outcome.result.bytes() == 3);
  CHECK((outcome.status == run_status::complete || outcome.status == run_status::stopped));
}

TEST_CASE("a run whose stop was requested before it reads nothing, and has not failed") {
  const temporary_folder folder;
  std::stop_source stop;
  stop.request_stop();
  counting_options counting = host();
  counting.stop = stop.get_token();
  const file_outcome outcome = count_files({.inputs = {folder.file("text", "abc")}, .counting = counting});
  CHECK(outcome.status == run_status::stopped);
  CHECK_FALSE(outcome.result.complete());
  CHECK(outcome.result.bytes() == 0);
}

TEST_CASE("runs on several threads at once are independent") {
  const temporary_folder folder;
  constexpr unsigned runs = 4;
  std::vector<std::string> texts;
  for (unsigned i = 0; i < runs; ++i) texts.push_back(random_text(1000000 + i, i));
  std::vector<file_outcome> outcomes(runs);
  {
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < runs; ++i) {
      running.emplace_back([&, i] {
        const std::string path = folder.file("text" + std::to_string(i), texts[i]);
        outcomes[i] = count_files({.inputs = {path}, .counting = host()});
      });
    }
  }
  for (unsigned i = 0; i < runs; ++i) CHECK(outcomes[i].result.counts("bytes") == byte_counts(texts[i]));
}

TEST_CASE("many finished inputs are kept in memory, or in an unnamed file of the folder that is named") {
  const temporary_folder folder;
  const temporary_folder reports;
  const std::string list = folder / "list";
  {
    std::ofstream names(list);
    for (int i = 0; i < 20000; ++i) names << folder / "missing" << i << "\n";
  }
  counting_options counting = host();
  for (const std::string& temporary : {std::string(), reports / ""}) {
    counting.temporary_folder = temporary;
    const file_outcome outcome = count_files({.counting = counting, .list = list_options{.path = list}});
    CHECK(outcome.result.inputs() == 20000);
    CHECK(outcome.result.input(19999).name == folder / "missing19999");
    CHECK(reports.entries() == 0);
  }
  counting.temporary_folder = folder / "none";
  const file_outcome outcome = count_files({.counting = counting, .list = list_options{.path = list}});
  CHECK(outcome.status == run_status::incomplete);
  CHECK(outcome.result.error().find(folder / "none: No such file or directory; make room there, or give "
                                             "another --temporary-folder") != std::string_view::npos);
  CHECK(outcome.result.error_kind() == errc::system);
}

}  // namespace gpuhist
