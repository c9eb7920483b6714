// Units of files through the interface of the library: options, events, the outcome, and errors that name the fields.
#include "error_kind.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
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

TEST_CASE("errors of units name the fields") {
  const temporary_folder folder;
  const std::string path = written(folder, "a", "a\n");
  CHECK(begins(message_of(options_of({path}, {.where = "digits > 1"})), "unit_options::where: there is no \"digits\""));
  CHECK(begins(message_of(options_of({path}, {.top = 1, .top_by = "bites"})), "unit_options::top_by: there is no"));
  CHECK(begins(message_of(options_of({path}, {.top = 1})), "unit_options::top_by: "));
  CHECK(begins(message_of(options_of({path}, {.top_by = "bytes"})), "unit_options::top: "));
  CHECK(begins(message_of(options_of({path}, {.top = 1'000'001, .top_by = "bytes"})), "unit_options::top: "));
  CHECK(begins(message_of(options_of({path}, {.distribution_of = "bytes > 1"})), "unit_options::distribution_of"));
  CHECK(begins(message_of(options_of({path}, {.each = unit_options::kind::part})), "counting_options::units"));
  CHECK(begins(message_of(options_of({path}, {.each = unit_options::kind::window})), "counting_options::units"));
  CHECK(begins(message_of(options_of({path}, {.each = unit_options::kind::record, .jsonl_field = "a"})),
               "unit_options::jsonl_field: requires counting_options::units line"));
  CHECK(begins(message_of(options_of({path}, {.jsonl_field = "\xff"})), "unit_options::jsonl_field"));
  file_options followed = options_of({path}, {.where = "bytes > 1"});
  followed.follow = true;
  CHECK(begins(message_of(followed), "counting_options::units"));
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

}  // namespace gpuhist
