// Units of files, and of inputs that a program feeds, which are those of a file with the same bytes, however these are
// fed. The callbacks for them: what they may not do, their exceptions, and how waits for them end.
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <gpuhist/gpuhist.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using test::temporary_folder;
using testing::message_of;

std::string written(const temporary_folder& folder, const std::string& name, std::string_view text) {
  const std::string path = folder / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

file_options options_of(std::vector<std::string> inputs, unit_options units) {
  file_options made;
  made.counting = {.schemes = {"classes"}, .counting_engine = engine::host, .threads = 2};
  made.inputs = std::move(inputs);
  made.counting.units = std::move(units);
  return made;
}

bool begins(std::string_view text, std::string_view with) { return text.starts_with(with); }

}  // namespace

TEST_CASE("selected units are events, in order, with their place and values; the outcome has the totals of units") {
  const temporary_folder folder;
  const std::string path = written(folder, "a", "ab\n12\n\n345");
  std::vector<unit> found;
  file_events events;
  events.on_unit = [&](const unit& each) { found.push_back(each); };
  const file_outcome outcome = count_files(
      options_of({path}, {.where = "digit > 0.5", .top = 2, .top_by = "bytes", .distribution_of = "1 / count(digit)"}),
      events);
  REQUIRE(found.size() == 2);
  CHECK(found[0].input == path);
  CHECK(found[0].number == 2);
  CHECK(found[0].line == 2);
  CHECK(found[0].offset == 3);
  CHECK(found[0].bytes == 3);
  CHECK(found[0].verified);
  REQUIRE(found[0].values.size() == 1);
  CHECK(found[0].values[0].name == "digit");
  CHECK(found[0].values[0].value == doctest::Approx(2.0 / 3));
  CHECK(found[1].number == 4);
  CHECK(found[1].offset == 7);
  const unit_summary units = outcome.result.units().value();
  CHECK(units.seen == 4);
  CHECK(units.bytes == 10);
  CHECK(units.selected == 2);
  CHECK(units.selected_bytes == 6);
  REQUIRE(units.top.size() == 2);
  CHECK(units.top[0].found.number == 1);
  CHECK(units.top[0].value == 3);
  CHECK(units.top[1].found.number == 2);
  REQUIRE(units.distribution.size() == 2);
  CHECK(units.distribution[1].from == 0.5);
  CHECK(units.distribution[1].units == 1);
  CHECK(units.without_value == 2);
}

TEST_CASE("the units of each rule are counted, and each unit has the names of the rules that hold") {
  const temporary_folder folder;
  const std::string path = written(folder, "a", "12\nab\n12345\nabcdef\n");
  std::vector<std::vector<std::string>> found;
  file_events events;
  events.on_unit = [&](const unit& each) { found.push_back(each.rules); };
  const file_outcome outcome =
      count_files(options_of({path}, {.where = "digit > 0.5", .rules = {"short=bytes < 4", "bytes == 7"}}), events);
  CHECK(found ==
        std::vector<std::vector<std::string>>{{"digit > 0.5", "short"}, {"short"}, {"digit > 0.5"}, {"bytes == 7"}});
  const unit_summary units = outcome.result.units().value();
  CHECK(units.selected == 4);
  REQUIRE(units.rules.size() == 3);
  const unit_rule& digits = units.rules[0];
  CHECK(digits.name == "digit > 0.5");
  CHECK(digits.condition == "digit > 0.5");
  CHECK((digits.units == 2 && digits.bytes == 9 && digits.first_units == 2 && digits.first_bytes == 9));
  const unit_rule& short_lines = units.rules[1];
  CHECK(short_lines.name == "short");
  CHECK(short_lines.condition == "bytes < 4");
  CHECK((short_lines.units == 2 && short_lines.bytes == 6 && short_lines.first_units == 1));
  CHECK(short_lines.first_bytes == 3);
  CHECK(units.rules[2].first_bytes == 7);
}

TEST_CASE("a run with a line without field is incomplete if it must fail; a counter refuses that") {
  const temporary_folder folder;
  const std::string path = written(folder, "a", "{\"text\":\"12\"}\n\n{}\n");
  for (const missing_field action : {missing_field::fail, missing_field::drop, missing_field::by_condition}) {
    const file_outcome outcome =
        count_files(options_of({path}, {.where = "bytes > 1", .jsonl_field = "text", .without_field = action}));
    CHECK(outcome.status == (action == missing_field::fail ? run_status::incomplete : run_status::complete));
    CHECK(outcome.result.complete());
    CHECK(outcome.result.units()->without_field == 1);
    CHECK(outcome.result.units()->selected == 1);
  }
  counting_options options;
  options.units = {.jsonl_field = "text", .without_field = missing_field::fail};
  CHECK_THROWS_WITH_AS(counter{options},
                       "--without-field: fail is for files; compare unit_summary::without_field with 0", error);
}

TEST_CASE("units are counted without events too, and an outcome without units has no summary") {
  const temporary_folder folder;
  const std::string path = written(folder, "a", std::string("a,b1,,", 6));
  const file_outcome outcome =
      count_files(options_of({path}, {.each = unit_options::kind::record, .delimiter = ',', .where = "bytes == 1"}));
  const unit_summary units = outcome.result.units().value();
  CHECK(units.seen == 3);
  CHECK(units.selected == 1);
  file_options plain = options_of({path}, {});
  plain.counting.units.reset();
  CHECK_FALSE(count_files(plain).result.units().has_value());
  CHECK_FALSE(results().units().has_value());
}

TEST_CASE("lines are counted by match, key and time, also in memory") {
  const std::string text =
      "2025-10-10T13:58:01Z INFO a 5\n2025-10-10T13:58:59Z ERROR b 7\n  at x\n2025-10-10T13:57:00Z INFO a 9\n";
  const temporary_folder folder;
  file_options options = options_of({written(folder, "a", text)},
                                    {.matches = {"error=ERROR"}, .group_by = "field:3", .event_time = "iso"});
  options.counting.schemes = {"digits=0-9"};
  options.counting.windows = window_options{.measured_in = window_options::measure::milliseconds, .length = 60'000};
  std::vector<alert> alerts;
  file_events events;
  events.on_alert = [&](const alert& each) { alerts.push_back(each); };
  options.counting.alert_if = {"match(error) == 1 && lines == 3"};
  counter fed(options.counting);
  fed.open_input("fed").feed(text);
  for (const results& found : {count_files(options, events).result, fed.finish()}) {
    const line_summary lines = found.units().value().lines.value();
    REQUIRE(lines.matches.size() == 1);
    CHECK(lines.matches[0].name == "error");
    CHECK(lines.matches[0].lines == 1);
    CHECK(lines.unmatched.lines == 3);
    REQUIRE(lines.groups.size() == 2);
    CHECK(lines.groups[0].key == "a");
    CHECK(lines.groups[0].lines == 2);
    CHECK(lines.groups[0].counts == std::vector<std::vector<std::uint64_t>>{{30, 30}});
    CHECK(lines.groups[1].key == "b");
    CHECK(lines.number_of_groups == 2);
    CHECK(lines.without_key.lines == 1);
    REQUIRE(lines.windows.size() == 2);
    CHECK(lines.windows[0].start == 1'760'104'620'000'000'000);
    CHECK(lines.windows[0].lines_by_key == std::vector<std::uint64_t>{1, 0});
    CHECK(lines.windows[1].lines == 3);
    CHECK(lines.windows[1].bytes == 68);
  }
  REQUIRE(alerts.size() == 1);
  CHECK((alerts[0].of == alert::unit::event_window));
  CHECK(alerts[0].event_start == 1'760'104'680'000'000'000);
}

TEST_CASE("groups and windows have the values of the distribution, also in memory") {
  const std::string text =
      "2025-10-10T13:58:01Z a 5.25\n2025-10-10T13:58:59Z b -7\n  at x\n2025-10-10T13:57:00Z a 9.5\n";
  const temporary_folder folder;
  file_options options =
      options_of({written(folder, "a", text)},
                 {.distribution_of = R"(number("field:3"))", .group_by = "field:2", .event_time = "iso"});
  options.counting.windows = window_options{.measured_in = window_options::measure::milliseconds, .length = 60'000};
  counter fed(options.counting);
  fed.open_input("fed").feed(text);
  for (const results& found : {count_files(options).result, fed.finish()}) {
    const unit_summary units = found.units().value();
    CHECK(units.sum == 7.75);
    CHECK(units.mean == 7.75 / 3);
    REQUIRE(units.lines->groups.size() == 3);
    const value_summary a = units.lines->groups[0].values.value();
    CHECK(a.units == 2);
    CHECK(a.sum == 14.75);
    CHECK(a.mean == 7.375);
    REQUIRE(a.quantiles.size() == 4);
    CHECK(a.quantiles[0].value == 5.25);
    CHECK(units.lines->groups[1].values->sum == -7.0);
    CHECK(units.lines->groups[2].values->without_value == 1);
    CHECK_FALSE(units.lines->groups[2].values->sum);
    REQUIRE(units.lines->windows.size() == 2);
    CHECK(units.lines->windows[0].values->sum == 9.5);
    CHECK(units.lines->windows[1].values->sum == -1.75);
    CHECK(units.lines->windows[1].values->without_value == 1);
  }
  options.counting.units->distribution_of.clear();
  CHECK_FALSE(count_files(options).result.units()->lines->groups[0].values);
}

TEST_CASE("windows of event time that close while the run lasts are reported by a callback, and late lines counted") {
  const std::string text =
      "2025-10-10T13:58:01Z INFO a\n2025-10-10T13:58:59Z ERROR b\n2025-10-10T13:59:10Z INFO a\n"
      "2025-10-10T13:58:10Z ERROR c\n  at x\n";
  const temporary_folder folder;
  file_options options = options_of({written(folder, "a", text)}, {.matches = {"error=ERROR"},
                                                                   .group_by = "field:3",
                                                                   .event_time = "iso",
                                                                   .allowed_lateness = std::chrono::seconds(10)});
  options.counting.windows = window_options{.measured_in = window_options::measure::milliseconds, .length = 60'000};
  const line_summary all = count_files(options).result.units().value().lines.value();
  REQUIRE(all.windows.size() == 2);  // without a callback they are in the result
  CHECK(all.late.lines == 2);
  CHECK(all.late.matches.at(0).lines == 1);
  std::vector<line_summary> closed;
  file_events events;
  events.on_event_window = [&](const line_summary& window) { closed.push_back(window); };
  const line_summary rest = count_files(options, events).result.units().value().lines.value();
  CHECK(rest.windows.empty());
  CHECK(rest.late.lines == 2);
  CHECK(rest.number_of_groups == 3);
  REQUIRE(closed.size() == 2);
  REQUIRE(closed[0].windows.size() == 1);
  CHECK(closed[0].windows[0].start == 1'760'104'680'000'000'000);
  CHECK(closed[0].windows[0].lines == 2);
  CHECK(closed[0].matches.at(0).lines == 1);
  CHECK(closed[0].number_of_groups == 2);
  CHECK(closed[1].windows.at(0).lines == 1);
  counting_options fed = options.counting;
  CHECK_THROWS_WITH_AS(counter{fed}, doctest::Contains("--allowed-lateness"), error);
}

TEST_CASE("approximate groups have bounds, and their number is an estimate") {
  counting_options options;
  options.units = unit_options{.group_by = "field:1", .approximate = true};
  options.memory_limit = std::uint64_t{48} << 20U;
  counter counted(options);
  constexpr std::uint64_t keys = 60'000;
  std::string text;
  for (std::uint64_t i = 0; i < keys; ++i) text += std::to_string(i) + std::string(200, 'x') + "\noften\n";
  counted.open_input("fed").feed(text);
  const line_summary lines = counted.finish().units().value().lines.value();
  CHECK(lines.groups.front().key == "often");
  CHECK(lines.groups.front().lines == keys);
  CHECK_FALSE(lines.groups.front().lines_at_most);
  REQUIRE(lines.number_of_groups_error);
  const std::uint64_t four_errors = 4 * *lines.number_of_groups_error;
  CHECK(lines.number_of_groups + four_errors >= keys + 1);
  CHECK(lines.number_of_groups <= keys + 1 + four_errors);
  REQUIRE(lines.other_group_lines_at_most);
  std::uint64_t sum = lines.other_groups.lines;
  for (const line_group& each : lines.groups) {
    sum += each.lines;
    if (each.key != "often") CHECK(each.lines == 1);
    CHECK(each.lines_at_most.value_or(each.lines) <= each.lines + *lines.other_group_lines_at_most);
  }
  CHECK(sum == 2 * keys);
  options.units->group_by = {};
  CHECK_THROWS_WITH_AS(counter{options}, doctest::Contains("approximate"), gpuhist::error);
}

TEST_CASE("windows of event time that are too long are refused") {
  file_options options = options_of({"/dev/null"}, {.event_time = "iso"});
  options.counting.windows =
      window_options{.measured_in = window_options::measure::milliseconds, .length = 18'446'744'073'710};
  CHECK_THROWS_WITH_AS(count_files(options), doctest::Contains("--window"), error);
}

TEST_CASE("an input has the lines that match in it") {
  const temporary_folder folder;
  const std::string first = written(folder, "a.log", "GET /\nPOST /pay\nGET /pay\n");
  const std::string second = written(folder, "b.log", "PUT /\n");
  const results result = count_files(options_of({first, second}, {.matches = {"pay=/pay", "get=GET"}})).result;
  const auto numbers = [&](std::size_t input) {
    std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> made;
    for (const match_count& each : result.input(input).matches) made.emplace_back(each.name, each.lines, each.bytes);
    return made;
  };
  using expected = std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>;
  CHECK(numbers(0) == expected{{"pay", 2, 19}, {"get", 2, 15}});
  CHECK(numbers(1) == expected{{"pay", 0, 0}, {"get", 0, 0}});
  CHECK(count_files(options_of({first}, {})).result.input(0).matches.empty());
}

TEST_CASE(
    "changes in logs are in the result, as values and as JSON, and reported units have their text if it is asked for") {
  std::string text;
  for (int minute = 0; minute < 60; ++minute) {
    const std::string time = "2025-10-10T13:" + std::string(minute < 10 ? "0" : "") + std::to_string(minute) + ":";
    for (int i = 10; i < 60; ++i)
      text += time + std::to_string(i) + (minute == 40 && i < 40 ? "Z no disk\n" : "Z read 1\n");
  }
  const temporary_folder folder;
  const std::string path = written(folder, "a.log.1", text);
  const results result = count_files(options_of({path}, {.changes = true})).result;
  const std::vector<log_change> changes = result.units()->changes;
  REQUIRE(changes.size() == 1);
  constexpr std::int64_t second = 1'000'000'000;
  CHECK(changes[0].start == 1'760'103'600 * second);  // 13:40
  CHECK(changes[0].end >= changes[0].start + 60 * second);
  CHECK(changes[0].input == path);
  CHECK(changes[0].line == 40 * 50 + 1);
  CHECK(changes[0].text == "2025-10-10T13:40:10Z no disk");
  const auto is_new_kind = [](const log_difference& each) {
    return each.what == "kind" && each.of == "<time> no disk" && each.before == 0 && each.inside > 0 &&
           each.words.starts_with("lines of the kind `<time> no disk` from 0 to ");
  };
  CHECK(std::ranges::any_of(changes[0].differences, is_new_kind));
  const std::string found = result.to_json();
  CHECK(doctest::String(found.c_str()) == doctest::Contains(R"("changes":[{"stream":")"));
  CHECK(doctest::String(found.c_str()) == doctest::Contains(R"("start":"2025-10-10T13:40:00Z")"));
  CHECK(doctest::String(found.c_str()) == doctest::Contains(R"("text":"2025-10-10T13:40:10Z no disk")"));
  for (const bool is_shown : {false, true}) {
    file_events events;
    std::vector<std::string> texts;
    events.on_unit = [&](const unit& each) { texts.push_back(each.text); };
    CHECK(count_files(options_of({path}, {.where = "lower > 0.18", .show_text = is_shown}), events).status ==
          run_status::complete);
    REQUIRE_FALSE(texts.empty());
    CHECK((texts.front() == (is_shown ? "2025-10-10T13:40:10Z no disk" : "")));
  }
}

TEST_CASE("a field of JSONL is measured, and lines without it are counted and noticed") {
  const temporary_folder folder;
  const std::string path = written(folder, "a", "{\"text\":\"12\\n\"}\nx\n\n{\"text\":\"a\"}");
  std::vector<unit> found;
  std::vector<std::string> notices;
  file_events events;
  events.on_unit = [&](const unit& each) { found.push_back(each); };
  events.on_notice = [&](std::string_view text) { notices.emplace_back(text); };
  const file_outcome outcome =
      count_files(options_of({path}, {.where = "bytes == 3 && digit > 0.5", .jsonl_field = "text"}), events);
  CHECK(outcome.status == run_status::complete);
  REQUIRE(found.size() == 1);
  CHECK(found[0].number == 1);
  CHECK(found[0].bytes == 16);
  CHECK(found[0].field_bytes == 3);
  CHECK(found[0].without_field.empty());
  const unit_summary units = outcome.result.units().value();
  CHECK(units.seen == 4);
  CHECK(units.without_field == 1);
  CHECK(notices == std::vector<std::string>{"warning: " + path + ": line 2 is without field 'text': malformed JSON"});
}

TEST_CASE("errors of units name the options") {
  const temporary_folder folder;
  const std::string path = written(folder, "a", "a\n");
  CHECK(begins(message_of(options_of({path}, {.where = "digits > 1"})), "--where: there is no \"digits\""));
  CHECK(begins(message_of(options_of({path}, {.top = 1, .top_by = "bites"})), "--top: there is no"));
  CHECK(begins(message_of(options_of({path}, {.top = 1})), "--top: "));
  CHECK(begins(message_of(options_of({path}, {.top_by = "bytes"})), "--top: "));
  CHECK(begins(message_of(options_of({path}, {.top = 1'000'001, .top_by = "bytes"})), "--top: "));
  CHECK(begins(message_of(options_of({path}, {.distribution_of = "bytes > 1"})), "--distribution-of"));
  CHECK(begins(message_of(options_of({path}, {.each = unit_options::kind::part})), "--each"));
  CHECK(begins(message_of(options_of({path}, {.each = unit_options::kind::window})), "--each"));
  CHECK(begins(message_of(options_of({path}, {.each = unit_options::kind::record, .jsonl_field = "a"})),
               "--jsonl-field: requires --each line"));
  CHECK(begins(message_of(options_of({path}, {.jsonl_field = "\xff"})), "--jsonl-field"));
  file_options followed = options_of({path}, {.changes = true});
  followed.follow = true;
  CHECK(begins(message_of(followed), "--follow"));
  CHECK(begins(message_of(options_of({path}, {.allowed_lateness = std::chrono::seconds(1)})),
               "--allowed-lateness: requires --event-time"));
}

TEST_CASE("an exception of on_unit ends the run and is thrown to the caller") {
  const temporary_folder folder;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "12\n";
  const std::string path = written(folder, "a", text);
  for (const unit_options::kind each : {unit_options::kind::line, unit_options::kind::input}) {
    unsigned calls = 0;
    file_events events;
    events.on_unit = [&](const unit&) {
      ++calls;
      throw std::runtime_error("enough");
    };
    CHECK_THROWS_WITH_AS(
        static_cast<void>(count_files(options_of({path}, {.each = each, .where = "bytes > 0"}), events)), "enough",
        std::runtime_error);
    CHECK(calls == 1);
  }
}

namespace {

using namespace testing;

counting_options options_of(unit_options units) {
  return {.schemes = {"s:x=x"}, .units = std::move(units), .counting_engine = engine::host, .threads = 2};
}

std::string lines_of(unsigned seed, std::size_t lines) {
  std::mt19937 random(seed);
  std::string made;
  for (std::size_t i = 0; i < lines; ++i) {
    for (auto left = random() % 40; left > 0; --left) made += "xy z"[random() % 4];
    made += random() % 9 == 0 ? ';' : '\n';
  }
  return made + "xxy";
}

// What is known of a unit without the library.
struct plain_unit {
  std::uint64_t number = 1;
  std::uint64_t line = 1;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  double share = 0;

  bool operator==(const plain_unit&) const = default;
};

// The units that `delimiter` ends.
std::vector<plain_unit> units_of(std::string_view text, char delimiter) {
  std::vector<plain_unit> made;
  std::size_t at = 0;
  std::uint64_t line = 1;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(delimiter, at), text.size() - 1) + 1;
    const std::string_view unit = text.substr(at, end - at);
    made.push_back({.number = made.size() + 1,
                    .line = line,
                    .offset = at,
                    .bytes = unit.size(),
                    .share = static_cast<double>(std::ranges::count(unit, 'x')) / static_cast<double>(unit.size())});
    line += static_cast<std::uint64_t>(std::ranges::count(unit, '\n'));
    at = end;
  }
  return made;
}

plain_unit plain(const unit& found) {
  return {.number = found.number,
          .line = found.line,
          .offset = found.offset,
          .bytes = found.bytes,
          .share = found.values.at(0).value.value_or(-1)};
}

enum class way { feed, borrow, lend };

void feed(input& to, std::string_view text, std::size_t piece, way chosen = way::feed) {
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    const std::span<const std::byte> next = bytes_of(text.substr(0, piece));
    if (chosen == way::feed) to.feed(next);
    if (chosen == way::borrow) to.feed_borrowed(next, {});
    if (chosen != way::lend) continue;
    for (std::size_t at = 0; at < next.size();) {
      lent_buffer buffer = to.lend(next.size() - at);
      const std::size_t size = buffer.bytes().size();
      std::ranges::copy(next.subspan(at, size), buffer.bytes().begin());
      buffer.commit(size);
      at += size;
    }
  }
}

struct found_units {
  std::vector<unit> reported;
  results result;
};

found_units count_fed(const counting_options& options, std::string_view text, std::size_t piece,
                      way chosen = way::feed) {
  found_units made;
  counter counts(options, {.on_unit = [&](const unit& each) { made.reported.push_back(each); }});
  input fed = counts.open_input("text");
  feed(fed, text, piece, chosen);
  fed.finish();
  made.result = counts.finish();
  return made;
}

std::vector<plain_unit> plain(std::span<const unit> found) {
  std::vector<plain_unit> made;
  for (const unit& each : found) made.push_back(plain(each));
  return made;
}

void check_equal(const unit_summary& a, const unit_summary& b) {
  const auto totals = [](const unit_summary& of) {
    return std::tuple(of.seen, of.bytes, of.selected, of.selected_bytes, of.without_value);
  };
  CHECK(totals(a) == totals(b));
  REQUIRE(a.top.size() == b.top.size());
  for (std::size_t i = 0; i < a.top.size(); ++i) {
    CHECK(a.top[i].value == b.top[i].value);
    CHECK(plain(a.top[i].found) == plain(b.top[i].found));
  }
  REQUIRE(a.distribution.size() == b.distribution.size());
  for (std::size_t i = 0; i < a.distribution.size(); ++i) {
    CHECK(std::tuple(a.distribution[i].from, a.distribution[i].to, a.distribution[i].units) ==
          std::tuple(b.distribution[i].from, b.distribution[i].to, b.distribution[i].units));
  }
}

const unit_options lines_with_x{.where = "s.x > 0"};

}  // namespace

TEST_CASE("units of a fed input are those of a plain loop, and of a file, in pieces of any size and fed in any way") {
  const temporary_folder folder;
  const std::string text = lines_of(1, 12'000);
  const std::string path = folder.file("text", text);
  for (const char delimiter : {'\n', ';'}) {
    const counting_options options = options_of({.each = unit_options::kind::record,
                                                 .delimiter = delimiter,
                                                 .where = "s.x > 0.4",
                                                 .top = 7,
                                                 .top_by = "s.x",
                                                 .distribution_of = "bytes"});
    std::vector<plain_unit> expected = units_of(text, delimiter);
    const std::uint64_t seen = expected.size();
    std::erase_if(expected, [](const plain_unit& each) { return each.share <= 0.4; });
    std::vector<unit> of_file;
    file_events events;
    events.on_unit = [&](const unit& each) { of_file.push_back(each); };
    const unit_summary summary = count_files({.inputs = {path}, .counting = options}, events).result.units().value();
    for (const auto& [piece, chosen] : std::vector<std::pair<std::size_t, way>>{{1, way::feed},
                                                                                {3, way::feed},
                                                                                {777, way::feed},
                                                                                {777, way::lend},
                                                                                {text.size(), way::feed},
                                                                                {text.size(), way::borrow},
                                                                                {text.size(), way::lend}}) {
      CAPTURE(piece);
      const found_units found = count_fed(options, text, piece, chosen);
      CHECK(plain(found.reported) == expected);
      CHECK(plain(of_file) == expected);
      CHECK(
          std::ranges::all_of(found.reported, [](const unit& each) { return each.verified && each.input == "text"; }));
      CHECK(found.result.complete());
      CHECK(found.result.bytes() == text.size());
      const unit_summary of_fed = found.result.units().value();
      CHECK(of_fed.seen == seen);
      check_equal(of_fed, summary);
    }
  }
}

TEST_CASE("units of a compressed input are those of its text, and its frame decides whether they are verified") {
  const std::string text = lines_of(2, 20'000);
  const auto packed = test::zstd_frame_of(bytes_of(text));
  std::vector<unit> reported;
  counter counts(options_of({.where = "s.x > 0.4"}), {.on_unit = [&](const unit& each) { reported.push_back(each); }});
  input fed = counts.open_input("text.zst", {.format = "zstd"});
  for (std::size_t at = 0; at < packed.size(); at += 1000) {
    fed.feed(std::span(packed).subspan(at, std::min<std::size_t>(1000, packed.size() - at)));
  }
  fed.finish();
  const results result = counts.finish();
  CHECK(result.complete());
  std::vector<plain_unit> expected = units_of(text, '\n');
  CHECK(result.units()->seen == expected.size());
  std::erase_if(expected, [](const plain_unit& each) { return each.share <= 0.4; });
  CHECK(plain(reported) == expected);
  CHECK(std::ranges::none_of(reported, &unit::verified));
}

TEST_CASE("inputs that several threads feed at once have units of their own") {
  constexpr unsigned threads = 4;
  std::map<std::string, std::vector<plain_unit>> found;
  counter counts(options_of({.where = "s.x > 0.4", .top = 3, .top_by = "s.x"}),
                 {.on_unit = [&](const unit& each) { found[each.input].push_back(plain(each)); }});
  std::vector<std::string> texts;
  for (unsigned i = 0; i < threads; ++i) texts.push_back(lines_of(10 + i, 3000));
  {
    std::vector<std::jthread> feeding;
    for (unsigned i = 0; i < threads; ++i) {
      feeding.emplace_back([&, i] {
        input fed = counts.open_input(std::to_string(i));
        feed(fed, texts[i], 501);
        fed.finish();
      });
    }
  }
  const results result = counts.finish();
  std::uint64_t seen = 0;
  std::vector<double> shares;
  for (unsigned i = 0; i < threads; ++i) {
    std::vector<plain_unit> expected = units_of(texts[i], '\n');
    seen += expected.size();
    for (const plain_unit& each : expected) shares.push_back(each.share);
    std::erase_if(expected, [](const plain_unit& each) { return each.share <= 0.4; });
    CHECK(found[std::to_string(i)] == expected);
  }
  std::ranges::sort(shares, std::greater());
  std::vector<double> highest;
  const unit_summary units = result.units().value();
  for (const ranked_unit& each : units.top) highest.push_back(each.value);
  CHECK(units.seen == seen);
  CHECK(highest == std::vector<double>(shares.begin(), shares.begin() + 3));
}

TEST_CASE("a snapshot has the units that were complete before it, and finish() those that inputs leave open") {
  counter counts(options_of({.where = "s.x > 0.5"}));
  input fed = counts.open_input("text");
  fed.feed("xxx\ny\nxx");
  const unit_summary before = counts.snapshot().units().value();
  CHECK(before.seen == 2);
  CHECK(before.bytes == 6);
  CHECK(before.selected == 1);
  const unit_summary after = counts.finish().units().value();
  CHECK(after.seen == 3);
  CHECK(after.bytes == 8);
  CHECK(after.selected == 2);
}

TEST_CASE("inputs and windows that are fed are units") {
  std::vector<unit> reported;
  counter inputs(options_of({.each = unit_options::kind::input, .where = "s.x > 0.5", .top = 1, .top_by = "bytes"}),
                 {.on_unit = [&](const unit& each) { reported.push_back(each); }});
  for (const std::string_view text : {"xxy", "yyy", "xxxx"}) {
    input fed = inputs.open_input(std::string(text));
    fed.feed(text);
    fed.finish();
  }
  const unit_summary of_inputs = inputs.finish().units().value();
  CHECK(of_inputs.seen == 3);
  REQUIRE(reported.size() == 2);
  CHECK(reported[0].input == "xxy");
  CHECK(reported[1].input == "xxxx");
  REQUIRE(of_inputs.top.size() == 1);
  CHECK(of_inputs.top[0].found.input == "xxxx");

  reported.clear();
  counting_options options = options_of({.each = unit_options::kind::window, .where = "s.x > 0.5"});
  options.windows = window_options{.length = 4};
  counter windows(options, {.on_unit = [&](const unit& each) { reported.push_back(each); }});
  input fed = windows.open_input("text");
  fed.feed("xxxxyyyyxxxy");
  fed.finish();
  CHECK(windows.finish().units()->seen == 3);
  REQUIRE(reported.size() == 2);
  CHECK(reported[0].number == 0);
  CHECK(reported[1].offset == 8);
}

TEST_CASE("a counter without units has none") {
  counting_options options = options_of({});
  options.units.reset();
  counter counts(options);
  input fed = counts.open_input("text");
  fed.feed("x\n");
  CHECK_FALSE(counts.snapshot().units().has_value());
  CHECK_FALSE(counts.finish().units().has_value());
}

TEST_CASE("on_unit is called on one thread, which is not the one that feeds, before feed() returns") {
  std::vector<std::thread::id> callers;
  std::atomic<std::size_t> calls = 0;
  counter counts(options_of(lines_with_x), {.on_unit = [&](const unit&) {
                   callers.push_back(std::this_thread::get_id());
                   ++calls;
                 }});
  input fed = counts.open_input("text");
  fed.feed("x\n");
  CHECK(calls == 1);
  fed.feed("y\nx");
  CHECK(calls == 1);
  fed.finish();
  CHECK(calls == 2);
  counts.finish();
  REQUIRE(callers.size() == 2);
  CHECK(callers[0] == callers[1]);
  CHECK(callers[0] != std::this_thread::get_id());
}

TEST_CASE("in on_unit, calls of the counter and its inputs are refused, except cancel()") {
  counter* counts = nullptr;
  input* fed = nullptr;
  std::vector<std::optional<errc>> refusals;
  counter made(options_of(lines_with_x), {.on_unit = [&](const unit&) {
                 refusals.push_back(error_of([&] { fed->feed("x\n"); }));
                 refusals.push_back(error_of([&] { static_cast<void>(counts->snapshot()); }));
                 refusals.push_back(error_of([&] { static_cast<void>(counts->finish()); }));
                 counts->cancel();
               }});
  counts = &made;
  input opened = made.open_input("text");
  fed = &opened;
  static_cast<void>(error_of([&] { opened.feed("x\n"); }));
  CHECK(error_of([&] { opened.feed("x\n"); }) == errc::closed);
  CHECK_FALSE(made.finish().complete());
  CHECK(refusals == std::vector<std::optional<errc>>(3, errc::misuse));
}

TEST_CASE("an exception of on_unit ends the counting, and is thrown by finish()") {
  using kind = unit_options::kind;
  for (const unit_options& asked : {lines_with_x, unit_options{.each = kind::input, .where = "s.x > 0"}}) {
    std::atomic<unsigned> calls = 0;
    counter counts(options_of(asked), {.on_unit = [&](const unit&) {
                     ++calls;
                     throw std::runtime_error("enough");
                   }});
    static_cast<void>(error_of([&] {
      input fed = counts.open_input("text");
      fed.feed("x\nx\nx\n");
      fed.finish();
    }));
    CHECK_THROWS_WITH_AS(static_cast<void>(counts.finish()), "enough", std::runtime_error);
    CHECK(calls == 1);
  }
}

TEST_CASE("cancel() ends the wait of feed() for a callback that blocks") {
  std::promise<void> may_continue;
  std::atomic<bool> is_blocked = false;
  counter counts(options_of(lines_with_x), {.on_unit = [&](const unit&) {
                   is_blocked = true;
                   may_continue.get_future().wait();
                 }});
  input fed = counts.open_input("text");
  std::optional<errc> refused;
  {
    const std::jthread feeding([&] { refused = error_of([&] { fed.feed("x\n"); }); });
    while (!is_blocked) std::this_thread::yield();
    counts.cancel();
  }
  CHECK(refused == errc::closed);
  may_continue.set_value();
  CHECK_FALSE(counts.finish().complete());
}

TEST_CASE("a counter and its input may be destroyed without finish(), with a unit that is open") {
  std::atomic<unsigned> calls = 0;
  {
    counter counts(options_of(lines_with_x), {.on_unit = [&](const unit&) { ++calls; }});
    {
      input dropped = counts.open_input("dropped");
      dropped.feed("xx");
    }
    CHECK(calls == 1);
    input left = counts.open_input("left");
    left.feed("x\nxx");
    CHECK(calls == 2);
  }
  auto counts = std::make_unique<counter>(options_of(lines_with_x));
  input outliving = counts->open_input("text");
  outliving.feed("x");
  counts.reset();
  CHECK(error_of([&] { outliving.feed("x\n"); }) == errc::closed);
}

TEST_CASE("an input that fails ends its last unit, and others go on") {
  counter counts(options_of({.where = "s.x > 0"}));
  input failed = counts.open_input("failed");
  failed.feed("x\nx");
  failed.fail("lost");
  input good = counts.open_input("good");
  good.feed("y\nx");
  good.finish();
  const results result = counts.finish();
  CHECK_FALSE(result.complete());
  CHECK(result.units()->seen == 4);
  CHECK(result.units()->selected == 3);
}

TEST_CASE("errors of the units of a counter name the options") {
  using kind = unit_options::kind;
  const auto begins = [](std::string_view text, std::string_view with) { return text.starts_with(with); };
  CHECK(begins(message_of(options_of({.where = "digits > 1"})), "--where: there is no \"digits\""));
  CHECK(begins(message_of(options_of({.top = 1, .top_by = "bites"})), "--top: "));
  CHECK(begins(message_of(options_of({.top = 1'000'001, .top_by = "bytes"})), "--top: "));
  CHECK(begins(message_of(options_of({.each = kind::part})), "--each: "));
  CHECK(begins(message_of(options_of({.each = kind::window})), "--each: "));
  CHECK(begins(message_of(options_of({.filter = unit_filter::keep})), "unit_options::filter: requires"));
}

}  // namespace gpuhist
