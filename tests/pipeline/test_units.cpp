// Units of texts, compared with an oracle that splits the text, counts its bytes and evaluates conditions by hand; and
// `malformed` in formulas, compared with a judgement of each unit by a second implementation.
#include "config/expression.hpp"
#include "config/scheme.hpp"
#include "report/units/unit_meter.hpp"
#include "report/units/unit_run.hpp"

#include "tests/support/campaign.hpp"
#include "unit_oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gpuhist::test;
using namespace gpuhist;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;

namespace {

using unit_predicate = std::function<bool(const std::string& text, const unit_shape& shape)>;

struct condition_case {
  std::string_view typed;
  unit_predicate holds;
};

/// Conditions of every kind, and what they mean.
const std::vector<condition_case>& conditions() {
  static const std::vector<condition_case> all = {
      {"digit > 0.5", [](const std::string& t, const unit_shape&) { return share(digits_of(t), t) > 0.5; }},
      {"count(digit) == 2", [](const std::string& t, const unit_shape&) { return digits_of(t) == 2; }},
      {"bytes <= 2 || lines == 0",
       [](const std::string& t, const unit_shape&) { return t.size() <= 2 || lines_of(t) == 0; }},
      {"words >= 2", [](const std::string& t, const unit_shape& s) { return words_of(t, s) >= 2; }},
      {"words == 1 && !(digit > 0)",
       [](const std::string& t, const unit_shape& s) { return words_of(t, s) == 1 && digits_of(t) == 0; }},
      {"lower >= digit && bytes.0x00 == 0",
       [](const std::string& t, const unit_shape&) {
         return count_if(t, is_lower) >= digits_of(t) && t.find('\0') == std::string::npos;
       }},
      {"count(lower) / count(digit) >= 1",  // unknown without digits
       [](const std::string& t, const unit_shape&) {
         return digits_of(t) > 0 && count_if(t, is_lower) >= digits_of(t);
       }},
      {"!(1 / count(digit) > 0.6)", [](const std::string& t, const unit_shape&) { return digits_of(t) > 1; }},
      {"1 / count(digit) > 2 || bytes == 1", [](const std::string& t, const unit_shape&) { return t.size() == 1; }},
      {"1 > 0", [](const std::string&, const unit_shape&) { return true; }},
      {"entropy > 1.2", [](const std::string& t, const unit_shape&) { return entropy_of(t) > 1.2; }},
      {"entropy > 1.2 && words == 1",
       [](const std::string& t, const unit_shape& s) { return entropy_of(t) > 1.2 && words_of(t, s) == 1; }},
      {"distinct == 3 || digit == 1",
       [](const std::string& t, const unit_shape&) {
         return std::set<char>(t.begin(), t.end()).size() == 3 || digits_of(t) == t.size();
       }},
  };
  return all;
}

void check_units(measured_run& run, const std::string& text, const unit_shape& shape, const unit_predicate& holds) {
  unit_totals expected;
  std::vector<piece> wanted;
  for (const piece& each : split(text, shape)) {
    const bool is_selected = holds(each.text, shape);
    expected += {.seen = 1,
                 .bytes = each.text.size(),
                 .selected = is_selected ? 1U : 0U,
                 .selected_bytes = is_selected ? each.text.size() : 0};
    if (is_selected) wanted.push_back(each);
  }
  CHECK(run.run().result().totals == expected);
  REQUIRE(run.selected.size() == wanted.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const unit_record& found = run.selected[i];
    std::vector<std::uint64_t> counts(256);
    for (const char each : wanted[i].text) ++counts[static_cast<unsigned char>(each)];
    if (found.place != wanted[i].place || !std::ranges::equal(found.counts.counts, counts) || *found.input != "input")
      ++different;
  }
  CHECK(different == 0);
}

void check_text(const std::string& text, const unit_shape& shape, const std::vector<std::size_t>& sizes) {
  for (const condition_case& each : conditions()) {
    CAPTURE(each.typed);
    measured_run run(plan_of(shape, each.typed));
    run.read(text, sizes);
    check_units(run, text, shape, each.holds);
  }
}

const std::vector<unit_shape>& shapes() {
  static const std::vector<unit_shape> all = {text_lines,      records('\0'), records(','), records('a'),
                                              records('\xff'), parts(1),      parts(7),     parts(4096)};
  return all;
}

}  // namespace

TEST_CASE("units of a text do not depend on the pieces in which it is read, of any size from 1 byte") {
  const std::vector<std::string> texts = {"",
                                          "\n",
                                          "a",
                                          "\n\n\n",
                                          "no end",
                                          "12\r\nab 1\r\n\r\n",
                                          std::string("a\0b\n\0\0c 12,\n,,", 14),
                                          "one two 33\n4 5 6\n\nlast\xff\xff"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    for (const unit_shape& shape : shapes()) {
      for (std::size_t size = 1; size <= text.size() + 1; ++size) check_text(text, shape, {size});
    }
  }
}

TEST_CASE("units of random texts in random pieces are those of the text") {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const std::string text = random_text(random, random() % 20'000, small_alphabet);
    std::vector<std::size_t> sizes(20);
    for (std::size_t& each : sizes) each = 1 + random() % (round % 2 == 0 ? 40 : 9000);
    CAPTURE(round);
    check_text(text, shapes()[static_cast<std::size_t>(round) % shapes().size()], sizes);
  }
}

TEST_CASE("a million empty lines are a million units, in one piece and in many") {
  const std::uint64_t count = unless_sampled(1'000'000U, 100'000U);
  const std::string text(count, '\n');
  for (const std::size_t size : {text.size(), std::size_t{65'537}}) {
    measured_run run(plan_of(text_lines, "bytes == 1"));
    run.read(text, {size});
    CHECK(run.run().result().totals ==
          unit_totals{.seen = count, .bytes = count, .selected = count, .selected_bytes = count});
    REQUIRE(run.selected.size() == count);
    CHECK(run.selected.back().place == unit_place{.number = count, .line = count, .offset = count - 1, .bytes = 1});
  }
}

TEST_CASE("a reader stops soon after many units were selected, so that they are published before all are kept") {
  const std::string text(1'000'000, '\n');
  measured_run run(plan_of(text_lines, "bytes == 1"));
  const auto reader = run.run().open("input", 0);
  CHECK(reader->take_some(std::as_bytes(std::span(text)), true) < 10'000);
  CHECK(run.run().wants_publishing());
  run.run().publish();
  CHECK(run.selected.size() < 10'000);
}

TEST_CASE("a line that is longer than many pieces is one unit") {
  std::string text(300'000, 'x');
  text[123'456] = '7';
  text += "\nshort\n";
  for (const std::size_t size : {1000, 65'536, 299'999, 300'001}) check_text(text, text_lines, {size});
}

TEST_CASE("words that continue in the next piece are counted once, and the delimiter of records ends a word") {
  for (const std::size_t size : {1, 2, 3, 5, 100}) {
    check_text("alpha beta\xff gamma delta\xff\xff x", records('\xff'), {size});
    check_text("aaaaaaaaaa bbbbbbbbbb\n  cccc  \n", text_lines, {size});
    check_text("aaaaaaaaaa bbbbbbbbbb\n  cccc  \n", parts(7), {size});
  }
}

TEST_CASE("rows of counters and counts of all byte values select the same units") {
  std::mt19937 random(2);
  const std::string text = random_text(random, 100'000, small_alphabet);
  for (const unit_shape& shape : shapes()) {
    for (const std::string typed : {"digit > 0.5", "count(digit) >= 2 && words >= 2", "words / lines > 1",
                                    "lower / digit > 2", "digit == 0.25 || digit == 1 / 3"}) {
      measured_run by_rows(plan_of(shape, typed));
      measured_run by_bytes(plan_of(shape, "(" + typed + ") && entropy >= 0"));
      REQUIRE(by_rows.meter().rows_suffice());
      REQUIRE_FALSE(by_bytes.meter().rows_suffice());
      by_rows.read(text, {999, 10'000, 1});
      by_bytes.read(text, {4096});
      CHECK(by_rows.run().result().totals == by_bytes.run().result().totals);
      REQUIRE(by_rows.selected.size() == by_bytes.selected.size());
      for (std::size_t i = 0; i < by_rows.selected.size(); ++i) {
        REQUIRE(by_rows.selected[i].place == by_bytes.selected[i].place);
        const std::span values(by_rows.selected[i].values);
        REQUIRE(std::ranges::equal(values, std::span(by_bytes.selected[i].values).first(values.size())));
      }
    }
  }
}

TEST_CASE(
    "a formula of up to 15 sets is computed from rows, and one of more sets from all byte values, with one result") {
  const std::string text = "abcdefghijklmnopqrstuvwxyz\nabc\nxyz\n\nq";
  for (const int sets : {1, 14, 15, 16, 17, 26}) {
    std::string typed = "0";
    for (int i = 0; i < sets; ++i) {
      constexpr std::string_view digits = "0123456789abcdef";
      const int value = 'a' + i;
      typed += std::string(" + count(bytes.0x") + digits[static_cast<std::size_t>(value / 16)] +
               digits[static_cast<std::size_t>(value % 16)] + ")";
    }
    typed += " >= 2 && words == 1";
    measured_run run(plan_of(text_lines, typed));
    CHECK(run.meter().rows_suffice() == (sets <= 15));
    run.read(text, {11});
    CAPTURE(sets);
    check_units(run, text, text_lines, [&](const std::string& t, const unit_shape& s) {
      return count_if(t, [&](unsigned char c) { return c >= 'a' && c < 'a' + sets; }) >= 2 && words_of(t, s) == 1;
    });
  }
}

TEST_CASE("units are compared with the baseline of the run") {
  measures::byte_counts baseline{};
  baseline['a'] = 3;
  baseline['\n'] = 1;
  measured_run run(plan_of(text_lines, "jsd < 0.01"), &baseline);
  run.read("aaa\nbbb\naaaaaa\n\n", {5});
  REQUIRE(run.selected.size() == 1);
  CHECK(run.selected[0].place == unit_place{.number = 1, .line = 1, .offset = 0, .bytes = 4});
}

TEST_CASE("units do not continue across a gap, in which line numbers and offsets do not advance") {
  measured_run run(plan_of(text_lines, "bytes > 0"));
  const auto reader = run.run().open("input", 0);
  run.pass(*reader, "one\ntw");
  reader->note_gap();
  run.pass(*reader, "o\nthree\n");
  reader->note_gap();
  reader->note_gap();
  run.pass(*reader, "4");
  reader->end(input_observer::ending::early);
  reader->end(input_observer::ending::early);
  run.run().publish();
  std::vector<unit_place> places;
  for (const unit_record& each : run.selected) places.push_back(each.place);
  CHECK(places == std::vector<unit_place>{{.number = 1, .line = 1, .offset = 0, .bytes = 4},
                                          {.number = 2, .line = 2, .offset = 4, .bytes = 2},
                                          {.number = 3, .line = 2, .offset = 6, .bytes = 2},
                                          {.number = 4, .line = 3, .offset = 8, .bytes = 6},
                                          {.number = 5, .line = 4, .offset = 14, .bytes = 1}});
}

TEST_CASE("the values of a selected unit are those of the names in the condition; unknown ones have none") {
  measured_run run(plan_of(text_lines, "words == 2 || chi2 > 1e300 || count(digit) == 7"));
  run.read("a 1\n", {4});
  REQUIRE(run.selected.size() == 1);
  CHECK(run.selected[0].values == std::vector<gates::named_value>{{.name = "words", .value = 2},
                                                                  {.name = "chi2", .value = std::nullopt},
                                                                  {.name = "count(digit)", .value = 1}});
}

namespace {

// The bytes that may follow `prefix` in a well-formed sequence, from table 3-7 of the Unicode standard.
bool may_continue(std::string_view prefix, unsigned char next) {
  const auto first = static_cast<unsigned char>(prefix[0]);
  const std::size_t length = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
  if (prefix.size() >= length) return false;
  if (prefix.size() > 1) return next >= 0x80 && next <= 0xbf;
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return next >= low && next <= high;
}

bool is_whole(std::string_view found) {
  const auto first = static_cast<unsigned char>(found[0]);
  return first < 0x80 || (first >= 0xc2 && first < 0xf5 &&
                          found.size() == (first < 0xe0   ? 2U
                                           : first < 0xf0 ? 3U
                                                          : 4U));
}

std::uint64_t malformed_in(std::string_view text) {
  std::uint64_t number = 0;
  while (!text.empty()) {
    std::size_t length = 1;
    while (length < text.size() && may_continue(text.substr(0, length), static_cast<unsigned char>(text[length]))) {
      ++length;
    }
    number += is_whole(text.substr(0, length)) ? 0 : 1;
    text.remove_prefix(length);
  }
  return number;
}

std::vector<std::string> units_in(std::string_view text, const units::unit_shape& shape) {
  std::vector<std::string> all(1);
  for (const char each : text) {
    all.back() += each;
    if (shape.bytes ? all.back().size() == *shape.bytes : each == static_cast<char>(shape.delimiter))
      all.emplace_back();
  }
  if (all.back().empty()) all.pop_back();
  return all;
}

units::unit_plan plan_of(const units::unit_shape& shape) {
  static const std::vector<config::scheme> schemes = {config::find_scheme("classes")};
  const auto condition = [](const char* text) {
    return gates::condition(config::parse_expression(text, schemes), schemes);
  };
  return {.shape = shape, .each = "unit", .where = condition("malformed >= 0 && words >= 0 && bytes > 0")};
}

// The number in each unit, as reported for the text in pieces of this size.
std::vector<std::uint64_t> reported_for(std::string_view text, const units::unit_shape& shape, std::size_t piece) {
  const units::unit_plan plan = plan_of(shape);
  const gpu::partition partition = gpu::partition::identity();
  const units::unit_meter meter(plan, partition, nullptr);
  std::vector<std::uint64_t> found;
  units::unit_run run(meter, [&](std::span<const units::unit_record> units) {
    for (const units::unit_record& each : units) {
      found.push_back(static_cast<std::uint64_t>(each.values.front().value.value_or(999)));
    }
  });
  const auto reader = run.open("text", 0);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader->take(bytes.subspan(at, std::min(piece, bytes.size() - at)), true);
  }
  reader->end(input_observer::ending::whole);
  run.publish();
  return found;
}

void check_units(std::string_view text, const units::unit_shape& shape) {
  std::vector<std::uint64_t> wanted;
  for (const std::string& each : units_in(text, shape)) wanted.push_back(malformed_in(each));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, text.size()}) {
    CAPTURE(piece);
    CHECK(reported_for(text, shape, piece) == wanted);
  }
}

std::string mixed_text(std::size_t parts) {
  constexpr std::array pieces = {"a",    "b c",      "\n",  "\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                 "\x80", "\xe2\x82", "\xff"};
  std::mt19937 random(7);
  std::string made;
  for (std::size_t i = 0; i < parts; ++i) made += pieces[random() % pieces.size()];
  return made;
}

}  // namespace

TEST_CASE("malformed of a unit is the number of malformed sequences of its bytes alone, however the text is cut") {
  const std::string text = mixed_text(4000);
  check_units(text, {});
  check_units(text, {.delimiter = std::byte{'b'}});
  check_units(text, {.delimiter = std::byte{0x80}});  // records that end inside a character
  for (const std::uint64_t bytes : {1U, 2U, 5U, 64U}) check_units(text, {.bytes = bytes});
}

TEST_CASE("a well-formed character that the end of a unit cuts is malformed in both parts") {
  check_units("a\xc3\xa9", {.bytes = 2});
  CHECK(reported_for("a\xc3\xa9", {.bytes = 2}, 3) == std::vector<std::uint64_t>{1, 1});
  CHECK(reported_for("a\xc3\xa9", {.bytes = 3}, 3) == std::vector<std::uint64_t>{0});
}

TEST_CASE("units of ASCII and of well-formed text have no malformed sequences") {
  std::string plain;
  for (int i = 0; i < 3000; ++i) plain += "a line\n";
  check_units(plain, {});
  check_units(plain, {.bytes = 10});
  std::string greek;
  for (int i = 0; i < 3000; ++i) greek += "\xce\xb1\xce\xb2 \xce\xb3\n";
  check_units(greek, {});
  check_units(greek, {.bytes = 4});
}

TEST_CASE("a bucket that is called malformed keeps its name") {
  const std::vector<config::scheme> own = config::make_schemes({"own:malformed=\\x80-\\xff"}, false);
  const gates::formula of_bucket(config::parse_formula("malformed", own), own);
  CHECK(of_bucket.needs_malformed() == nullptr);
}
