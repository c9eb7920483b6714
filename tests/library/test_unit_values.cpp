// Values that a program feeds: each is a unit, whatever its bytes are and wherever it lies.
#include "fed_text.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using namespace testing;
using value = std::optional<std::string_view>;

counting_options by_value(std::string where, unit_filter filter = unit_filter::none) {
  return {.schemes = {"bytes"},
          .units = unit_options{.each = unit_options::kind::value, .where = std::move(where), .filter = filter}};
}

struct fed {
  std::vector<bool> kept;
  std::vector<unit> reported;
  results counted;
};

fed feed(const counting_options& options, std::span<const value> values, std::size_t at_once) {
  fed made;
  counter counts(options, {.on_unit = [&](const unit& found) { made.reported.push_back(found); }});
  input column = counts.open_input("column");
  for (std::size_t first = 0; first < values.size(); first += at_once) {
    const std::vector<bool> more = column.feed_values(values.subspan(first, std::min(at_once, values.size() - first)));
    made.kept.insert(made.kept.end(), more.begin(), more.end());
  }
  made.counted = counts.finish();
  return made;
}

// Texts of random bytes, also empty ones and some that are absent: half of them lie together, the others apart.
struct column {
  explicit column(unsigned seed, std::size_t number) : together(random_text(number * most, seed)) {
    std::mt19937 random(seed);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < number; ++i) {
      std::size_t size = random() % most;
      if (random() % 4 == 0) size = random() % 3;
      if (random() % 10 == 0) {
        values.emplace_back();
      } else if (i % 100 < 50) {
        values.emplace_back(std::string_view(together).substr(begin, size));
        begin += size;
      } else {
        values.emplace_back(apart.emplace_back(random_text(size, seed + static_cast<unsigned>(i))));
      }
    }
  }
  column(const column&) = delete;
  column& operator=(const column&) = delete;

  static constexpr std::size_t most = 300;
  std::string together;
  std::list<std::string> apart;
  std::vector<value> values;
};

std::string joined(std::span<const value> values) {
  std::string all;
  for (const value& each : values) all += each.value_or("");
  return all;
}

bool is_word(char byte) { return std::string_view(" \t\n\v\f\r").find(byte) == std::string_view::npos; }

std::size_t words_in(std::string_view text) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_word(text[i]) && (i == 0 || !is_word(text[i - 1]))) ++words;
  }
  return words;
}

// "words < 5 || lines > 0": unknown of an absent value.
bool holds(const value& of) { return of && (words_in(*of) < 5 || std::ranges::count(*of, '\n') > 0); }

constexpr const char* condition = "words < 5 || lines > 0";

TEST_CASE("the condition is evaluated for each value alone, whatever its bytes are and wherever it lies") {
  const column data(7, 3000);
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{17}, std::size_t{3000}}) {
    const fed found = feed(by_value(condition), data.values, at_once);
    std::vector<bool> expected;
    std::size_t selected = 0;
    std::size_t absent = 0;
    for (const value& each : data.values) {
      expected.push_back(holds(each));
      if (holds(each)) ++selected;
      if (!each) ++absent;
    }
    CHECK(found.kept == expected);
    const unit_summary units = found.counted.units().value();
    CHECK(units.seen == data.values.size());
    CHECK(units.selected == selected);
    CHECK(units.without_field == absent);
    CHECK(units.bytes == joined(data.values).size());
    CHECK(found.counted.counts("bytes") == [&] {
      std::vector<std::uint64_t> counts = byte_counts(joined(data.values));
      counts.resize(found.counted.buckets("bytes").size());
      return counts;
    }());
    CHECK(found.reported.size() == selected);
  }
}

TEST_CASE("a filter returns which values are kept, and reports the others with their numbers") {
  const column data(11, 2000);
  for (const unit_filter filter : {unit_filter::keep, unit_filter::drop}) {
    const fed found = feed(by_value(condition, filter), data.values, 500);
    std::vector<std::uint64_t> dropped;
    for (std::size_t i = 0; i < data.values.size(); ++i) {
      const bool is_kept = holds(data.values[i]) == (filter == unit_filter::keep);
      CHECK(found.kept[i] == is_kept);
      if (!is_kept) dropped.push_back(i + 1);
    }
    std::vector<std::uint64_t> numbers;
    for (const unit& each : found.reported) {
      numbers.push_back(each.number);
      CHECK(each.bytes == data.values[each.number - 1].value_or("").size());
      CHECK(each.without_field == (data.values[each.number - 1] ? "" : "no value"));
    }
    CHECK(numbers == dropped);
  }
}

TEST_CASE("formulas that need all byte values or UTF-8 sequences see no byte of the value before") {
  const std::string text =
      "\xc3\xa4\xc3"
      "\xa4zz";  // the third value begins within a character
  const std::vector<value> values = {text.substr(0, 0), std::string_view(text).substr(0, 3),
                                     std::string_view(text).substr(3, 1), std::string_view(text).substr(4)};
  CHECK(feed(by_value("malformed > 0"), values, 4).kept == std::vector<bool>{false, true, true, false});
  CHECK(feed(by_value("entropy == 0"), values, 4).kept == std::vector<bool>{false, false, true, true});
}

TEST_CASE("a value that is longer than a batch is one unit") {
  std::string large(std::size_t{40} << 20U, 'a');
  large.back() = '\n';
  const std::vector<value> values = {"a b", large, "c"};
  const fed found = feed(by_value("bytes > 1000 && words == 1 && lines == 1 && entropy < 0.01"), values, 3);
  CHECK(found.kept == std::vector<bool>{false, true, false});
  REQUIRE(found.reported.size() == 1);
  CHECK(found.reported.front().number == 2);
  CHECK(found.reported.front().bytes == large.size());
  CHECK(found.counted.bytes() == large.size() + 4);
}

TEST_CASE("a value that is longer than a batch is measured after one that is absent, as after any other") {
  const std::string large(std::size_t{17} << 20U, 'x');
  const std::vector<value> values = {std::nullopt, large, "y", std::nullopt, large};
  for (const std::size_t at_once : {1U, 2U, 5U}) {
    CAPTURE(at_once);
    const fed made = feed(by_value("bytes > 1000"), values, at_once);
    CHECK(made.kept == std::vector<bool>{false, true, false, false, true});
    CHECK(made.counted.units()->without_field == 2);
  }
}

TEST_CASE("without units values are only counted, and all are kept") {
  const column data(3, 500);
  const fed found = feed({.schemes = {"bytes"}}, data.values, 100);
  CHECK(found.kept == std::vector<bool>(data.values.size(), true));
  CHECK(found.counted.bytes() == joined(data.values).size());
}

TEST_CASE("text that is no value, and values where units are others, are refused") {
  const std::vector<value> values = {"a"};
  counter by_lines({.units = unit_options{.each = unit_options::kind::line, .where = "bytes > 3"}});
  input lines = by_lines.open_input("lines");
  CHECK(error_of([&] { lines.feed_values(values); }) == errc::misuse);
  counter counts(by_value("bytes > 3"));
  input column = counts.open_input("column");
  CHECK(error_of([&] { column.feed("text"); }) == errc::misuse);
  CHECK(error_of([&] { static_cast<void>(column.lend()); }) == errc::misuse);
  int released = 0;
  CHECK(error_of([&] { column.feed_borrowed(bytes_of("text"), [&] { ++released; }); }) == errc::misuse);
  CHECK(released == 1);
  CHECK(error_of([&] { static_cast<void>(counts.open_input("zstd", {.format = "zstd"})); }) == errc::invalid_argument);
  CHECK(column.feed_values(values) == std::vector<bool>{false});
  CHECK(counts.finish().bytes() == 1);
}

TEST_CASE("values are units of counters only, without windows and what is read of lines") {
  file_options files{.inputs = {"/dev/null"}, .counting = by_value("bytes > 3")};
  CHECK(error_of([&] { static_cast<void>(count_files(files)); }) == errc::invalid_argument);
  counting_options windows = by_value("bytes > 3");
  windows.windows = window_options{.length = 10};
  CHECK(error_of([&] { const counter made(windows); }) == errc::invalid_argument);
  counting_options matches = by_value("bytes > 3");
  matches.units->matches = {"a=b"};
  CHECK(error_of([&] { const counter made(matches); }) == errc::invalid_argument);
}

TEST_CASE("ranked values have the number of their row") {
  counting_options options = by_value("");
  options.units->top = 2;
  options.units->top_by = "bytes";
  const std::vector<value> values = {"a", std::nullopt, "ccc", "", "bb"};
  const unit_summary units = feed(options, values, 2).counted.units().value();
  REQUIRE(units.top.size() == 2);
  CHECK(units.top[0].found.number == 3);
  CHECK(units.top[1].found.number == 5);
}

TEST_CASE("values are rewritten before they are fed, and the steps count what they remove") {
  text_rewriter rewriter({"strip", "short=drop words < 2", "cut [0-9]+"});
  CHECK(rewriter.rewrite("  a b 12\r\nc\n d\xff e") == "a b \nd\ufffd e");
  CHECK(rewriter.rewrite("") == "");
  const std::vector<rewriting_step> steps = rewriter.steps();
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].name == "strip");
  CHECK(steps[0].lines == 2);
  CHECK(steps[0].bytes == 3);
  CHECK(steps[1].name == "short");
  CHECK(steps[1].step == "drop words < 2");
  CHECK(steps[1].lines == 1);
  CHECK(steps[1].bytes == 1);
  CHECK(steps[2].bytes == 2);
  CHECK(error_of([] { const text_rewriter made({"drp"}); }) == errc::invalid_argument);
  counting_options options = by_value("bytes > 3");
  options.units->rewrite = {"strip"};
  CHECK(error_of([&] { const counter made(options); }) == errc::invalid_argument);
}

}  // namespace
TEST_CASE("of values that are fed, those with the text of an earlier one are counted, or dropped") {
  const column texts(5, 3000);
  std::vector<value> values = texts.values;
  values.insert(values.end(), texts.values.rbegin(), texts.values.rend());
  std::set<std::string_view> different;
  std::vector<bool> expected;
  unit_summary numbers;
  for (const value& each : values) {
    const bool is_new = each && different.insert(*each).second;
    expected.push_back(is_new || !each);
    (is_new ? numbers.distinct : numbers.duplicates) += each ? 1 : 0;
    (is_new ? numbers.distinct_bytes : numbers.duplicate_bytes) += each ? each->size() : 0;
  }
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{777}, values.size()}) {
    for (const duplicate_units action : {duplicate_units::count, duplicate_units::drop}) {
      counting_options options = by_value("", action == duplicate_units::drop ? unit_filter::drop : unit_filter::none);
      options.units->duplicates = action;
      const fed found = feed(options, values, at_once);
      const unit_summary units = found.counted.units().value();
      CHECK(units.distinct == numbers.distinct);
      CHECK(units.distinct_bytes == numbers.distinct_bytes);
      CHECK(units.duplicates == numbers.duplicates);
      CHECK(units.duplicate_bytes == numbers.duplicate_bytes);
      if (action == duplicate_units::count) continue;
      CHECK(found.kept == expected);
      CHECK(found.reported.size() == numbers.duplicates);
      CHECK(units.selected == numbers.duplicates);
      CHECK(units.rules.size() == 1);
      CHECK(units.rules.front().name == "duplicate");
      CHECK(units.rules.front().units == numbers.duplicates);
    }
  }
}

TEST_CASE("duplicates are dropped by filters only, and signatures are those of files") {
  counting_options options = by_value("bytes > 9");
  options.units->duplicates = duplicate_units::drop;
  CHECK(error_of([&] { counter counts(options); }) == errc::invalid_argument);
  options = by_value("bytes > 9");
  options.units->minhash_folder = "/nowhere";
  CHECK(error_of([&] { counter counts(options); }) == errc::invalid_argument);
}

}  // namespace gpuhist
