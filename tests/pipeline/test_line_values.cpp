// The values of a field of JSONL as units: with any pieces of text, and with values that are counted by hand.
#include "report/units/line_values.hpp"

#include "tests/pipeline/unit_oracle.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist::test {
namespace {

using report::units::field_of_lines;
using report::units::input_fault;

constexpr std::size_t longest = 200;

unit_plan plan_of_field(std::string_view where) {
  unit_plan made = plan_of(text_lines, where);
  made.field = field_of_lines{.name = "text", .max_bytes = longest};
  return made;
}

struct valued_line {
  std::string line;
  std::optional<std::string> value;  // nothing: without field
};

const std::vector<valued_line>& samples() {
  static const std::vector<valued_line> all = {
      {R"({"text":""})", ""},
      {R"({"text":"12"})", "12"},
      {R"({"id":7,"text":"a\nb 1\n"})", "a\nb 1\n"},
      {R"({"text":"\u0031\u00e9"})", "1\xc3\xa9"},
      {"{\"text\":\"1\xf0\x9f\x98\x80\"}\r", "1\xf0\x9f\x98\x80"},
      {R"({"n":1e999,"text":"x 9 y"})", "x 9 y"},
      {"{}", std::nullopt},
      {"9", std::nullopt},
      {"{\"text\":\"1\xff\"}", std::nullopt},
      {R"({"text":")" + std::string(longest - 12, '1') + "\"}", std::string(longest - 12, '1')},
      {R"({"text":")" + std::string(longest - 11, '1') + "\"}", std::nullopt},
  };
  return all;
}

struct expected_units {
  std::string text;
  std::vector<std::uint64_t> with_digits;  // numbers of lines with more digits than other bytes
  std::uint64_t without_field = 0;
};

expected_units random_lines(std::mt19937& random, std::size_t number) {
  expected_units made;
  for (std::size_t i = 1; i <= number; ++i) {
    const valued_line& chosen = samples()[random() % samples().size()];
    made.text += chosen.line + '\n';
    if (!chosen.value) ++made.without_field;
    if (chosen.value && 2 * digits_of(*chosen.value) > chosen.value->size()) made.with_digits.push_back(i);
  }
  return made;
}

void check_numbers(measured_run& run, const expected_units& expected) {
  std::vector<std::uint64_t> found;
  for (const unit_record& each : run.selected) found.push_back(each.place.number);
  CHECK(found == expected.with_digits);
  CHECK(run.run().result().totals.without_field == expected.without_field);
  CHECK(run.run().result().totals.bytes == expected.text.size());
}

}  // namespace

TEST_CASE("values of a field do not depend on the pieces in which the text is read, of any size from 1 byte") {
  std::mt19937 random(5);
  const expected_units expected = random_lines(random, 40);
  for (std::size_t size = 1; size < 700; size += size < 80 ? 1 : 61) {
    CAPTURE(size);
    for (const char* condition : {"digit > 0.5", "digit > 0.5 && entropy >= 0"}) {
      measured_run run(plan_of_field(condition));
      run.read(expected.text, {size});
      check_numbers(run, expected);
    }
  }
}

TEST_CASE("values of a field are exact in large texts of random pieces") {
  std::mt19937 random(6);
  const expected_units expected = random_lines(random, 20'000);
  for (int i = 0; i < 5; ++i) {
    std::vector<std::size_t> sizes(50);
    for (std::size_t& each : sizes) each = 1 + random() % (random() % 2 == 0 ? 50 : 100'000);
    measured_run run(plan_of_field("digit > 0.5"));
    run.read(expected.text, sizes);
    check_numbers(run, expected);
  }
}

TEST_CASE("the record of a line has the counts of its value, and the place of the line") {
  const std::string text = "{}\n{\"text\":\"1\\n\"}\n";
  for (const std::size_t size : {1U, 5U, 100U}) {
    measured_run run(plan_of_field("lines == 1 && words == 1 && bytes == 2 && malformed == 0"));
    run.read(text, {size});
    REQUIRE(run.selected.size() == 1);
    const unit_record& found = run.selected[0];
    CHECK(found.place == unit_place{.number = 2, .line = 2, .offset = 3, .bytes = 15});
    CHECK(found.counts.bytes() == 2);
    REQUIRE(found.field);
    CHECK(found.field->bytes == 2);
  }
}

TEST_CASE("the first line without field of each input is reported when the input ends") {
  const unit_plan plan = plan_of_field("bytes > 0");
  const partition identity = partition::identity();
  const unit_meter meter(plan, identity, nullptr);
  std::vector<input_fault> reported;
  unit_run run(meter, {}, [&](const input_fault& found) { reported.push_back(found); });
  const auto read = [&](const std::string& name, std::uint64_t order, std::string_view text) {
    const auto reader = run.open(name, order);
    reader->take(std::as_bytes(std::span(text)), true);
    CHECK_FALSE(run.wants_publishing());
    reader->end(input_observer::ending::whole);
  };
  read("good", 0, "{\"text\":\"x\"}\n\n");
  CHECK_FALSE(run.wants_publishing());
  read("bad", 1, "{\"text\":\"x\"}\n\n{\"text\":1}\nx\n\n{");
  CHECK(run.wants_publishing());
  run.publish();
  REQUIRE(reported.size() == 1);
  CHECK(*reported[0].input == "bad");
  CHECK(reported[0].cause == "line 3 is without field 'text': the value is not a string; 3 lines are without field");
}

TEST_CASE("several inputs are read at the same time, also with lines that need much memory") {
  unit_plan plan = plan_of_field("digit > 0.5");
  plan.field->max_bytes = std::size_t{1} << 20U;
  measured_run run(std::move(plan));
  const std::string line = R"({"text":")" + std::string(500'000, '1') + "\"}\n{\"text\":\"a\"}\n";
  std::vector<std::jthread> readers;
  for (std::uint64_t i = 0; i < 4; ++i) {
    readers.emplace_back([&, i] {
      const auto reader = run.run().open("input", i);
      for (int times = 0; times < 5; ++times) reader->take(std::as_bytes(std::span(line)).first(line.size()), true);
      reader->end(input_observer::ending::whole);
    });
  }
  readers.clear();
  CHECK(run.run().result().totals.selected == 20);
  CHECK(run.run().result().totals.seen == 40);
}

}  // namespace gpuhist::test
