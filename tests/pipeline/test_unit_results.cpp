// Expressions evaluated for batches of units, compared with an evaluation of one unit, and with Kleene's tables. The
// ranking and the distribution of units, compared with sorted and counted values; and runs whose caller takes what is
// found of each input apart.
#include "config/expression.hpp"
#include "report/conditions/formula.hpp"

#include "unit_oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

using gpuhist::config::expression;
using gpuhist::report::gates::evaluation;
using gpuhist::report::gates::is_unknown;
using gpuhist::report::gates::unknown;

namespace {

bool is_same(double a, double b) { return a == b || (is_unknown(a) && is_unknown(b)); }

/// The truth value of an expression over x and y; a truth value t is typed as x == 1, which is unknown if x is.
double truth_of(const std::string& typed, double x, double y) {
  const expression parsed = gpuhist::config::parse_expression(typed);
  std::vector<const double*> names;
  for (const auto& each : parsed.references) names.push_back(each.typed == "x" ? &x : &y);
  evaluation evaluated(parsed);
  return evaluated.values(names, 1)[0];
}

}  // namespace

TEST_CASE("truth values follow the complete tables of Kleene's logic") {
  const double none = unknown;
  struct row {
    double x, y, both, either;
  };
  for (const row& each :
       {row{1, 1, 1, 1}, row{1, 0, 0, 1}, row{1, none, none, 1}, row{0, 1, 0, 1}, row{0, 0, 0, 0},
        row{0, none, 0, none}, row{none, 1, none, 1}, row{none, 0, 0, none}, row{none, none, none, none}}) {
    CAPTURE(each.x);
    CAPTURE(each.y);
    CHECK(is_same(truth_of("x == 1 && y == 1", each.x, each.y), each.both));
    CHECK(is_same(truth_of("x == 1 || y == 1", each.x, each.y), each.either));
    // de Morgan
    CHECK(is_same(truth_of("!(!(x == 1) || !(y == 1))", each.x, each.y), each.both));
    CHECK(is_same(truth_of("!(!(x == 1) && !(y == 1))", each.x, each.y), each.either));
  }
  CHECK(truth_of("!(x == 1)", 1, 0) == 0);
  CHECK(truth_of("!(x == 1)", 0, 0) == 1);
  CHECK(is_unknown(truth_of("!(x == 1)", none, 0)));
}

TEST_CASE("every comparison with an unknown number, and with one that is not finite, is unknown") {
  for (const std::string compared : {"<", "<=", ">", ">=", "==", "!="}) {
    CAPTURE(compared);
    CHECK(is_unknown(truth_of("x " + compared + " y", unknown, 1)));
    CHECK(is_unknown(truth_of("x " + compared + " y", 1, unknown)));
    CHECK(is_unknown(truth_of("x / 0 " + compared + " y", 1, 1)));
    CHECK(is_unknown(truth_of("x * 1e308 * 1e308 " + compared + " y", 1, 1)));
  }
}

TEST_CASE("the values of a batch are those of its units one by one, for every size of the batch") {
  std::mt19937 random(1);
  const auto number = [&] { return random() % 5 == 0 ? unknown : static_cast<double>(random() % 7) - 3; };
  const std::vector<expression> all = {
      gpuhist::config::parse_formula("a"), gpuhist::config::parse_formula("7"),
      gpuhist::config::parse_formula("-a * (b + c / (a - 2 * (b - c * (a + 1))))"),
      gpuhist::config::parse_expression("a < b && !(b <= c) || a == c && (b != 1 || c >= -a / b) && a > -2"),
      gpuhist::config::parse_expression("1 > 2 || 0 / 0 == 1")};
  for (const expression& each : all) {
    CAPTURE(each.text);
    evaluation together(each);  // one object, so that a batch could have values of the one before
    evaluation alone(each);
    for (const std::size_t units : {1, 2, 255, 256, 3}) {
      std::vector<std::vector<double>> columns(each.references.size(), std::vector<double>(units));
      std::vector<const double*> names;
      for (std::size_t r = 0; r < columns.size(); ++r) {
        for (double& value : columns[r]) value = number();
        for (std::size_t before = 0; before < r; ++before) {
          if (each.references[before].typed == each.references[r].typed) columns[r] = columns[before];
        }
        names.push_back(columns[r].data());
      }
      const std::span<const double> found = together.values(names, units);
      REQUIRE(found.size() == units);
      for (std::size_t i = 0; i < units; ++i) {
        std::vector<const double*> of_one;
        for (const auto& column : columns) of_one.push_back(&column[i]);
        REQUIRE(is_same(found[i], alone.values(of_one, 1)[0]));
      }
    }
  }
}

namespace gpuhist::test {
namespace {

using ending = input_observer::ending;

unit_plan plan_of_lines() {
  return {.shape = text_lines,
          .each = "line",
          .where = condition_of("digit >= 0.5"),
          .top = ranking{.number = 2, .by = formula_of("bytes")},
          .distribution = formula_of("bytes")};
}

// A run that collects the lines of each input, and the number of calls of `ended`.
struct run_by_input {
  unit_plan plan = plan_of_lines();
  partition counted = partition::identity();
  unit_meter meter{plan, counted, nullptr};
  std::map<std::uint64_t, std::string> written{};
  int ended = 0;
  unit_run run{meter,
               {},
               {},
               nullptr,
               {.form = std::make_unique<place_lines>(), .write = {}},
               report::units::units_by_input{
                   .write = [this](std::uint64_t input, std::string_view text) { written[input] += text; },
                   .ended = [this] { ++ended; }}};
};

void pass(input_observer& to, std::string_view text) { to.take(std::as_bytes(std::span(text)), true); }

std::uint64_t order_of(std::uint64_t archive, std::uint64_t input) { return (archive << 32U) | input; }

}  // namespace

TEST_CASE("by input: units of inputs that are read in turns, also of the same name, are found apart") {
  run_by_input by;
  auto first = by.run.open("same", order_of(3, 7));
  const auto second = by.run.open("same", order_of(3, 8));
  pass(*first, "123\nab");
  pass(*second, "9\n8\nx\n");
  pass(*first, "c\n4567\n");
  first->end(ending::whole);
  second->end(ending::whole);
  by.run.publish();
  CHECK(by.written[7] == "same:1:1:0:4\nsame:3:3:8:5\n");
  CHECK(by.written[8] == "same:1:1:0:2\nsame:2:2:2:2\n");
  const auto of_first = by.run.take(7);
  const auto of_second = by.run.take(8);
  CHECK(of_first.totals == unit_totals{.seen = 3, .bytes = 13, .selected = 2, .selected_bytes = 9});
  CHECK(of_second.totals == unit_totals{.seen = 3, .bytes = 6, .selected = 2, .selected_bytes = 4});
  CHECK(of_first.values.known() == 3);
  CHECK(of_second.values.highest() == 2);
  CHECK(of_first.best.records().size() == 2);
  CHECK(by.run.result().totals.seen == 0);
  first.reset();
  CHECK(by.run.take(7).totals.seen == 0);
}

TEST_CASE("by input: an input is open until its last reader has ended or is destroyed, and publish() reports the end") {
  run_by_input by;
  CHECK_FALSE(by.run.is_open(5));
  auto first = by.run.open("a", 5);
  auto later = by.run.open_later("a", 5);
  pass(*first, "1\n2");
  pass(*later, "3\n4");
  CHECK(by.run.is_open(5));
  later->follow(std::move(first));
  CHECK(by.run.is_open(5));
  by.run.publish();
  CHECK(by.ended == 0);
  later->end(ending::early);
  CHECK_FALSE(by.run.is_open(5));
  CHECK(by.run.wants_publishing());
  by.run.publish();
  CHECK(by.ended == 1);
  CHECK(by.written[5] == "a:1:1:0:2\na:2:2:2:3\na:3:3:5:1\n");
  CHECK(by.run.take(5).totals.selected == 3);
  later.reset();
  auto other = by.run.open("b", 6);
  CHECK(by.run.is_open(6));
  other.reset();
  CHECK_FALSE(by.run.is_open(6));
}

TEST_CASE("by input: a distribution is joined from its parts") {
  distribution values;
  const std::vector<double> all = {-3.5, 0, 0, 1e-300, 1, 1.01, 7e22, std::numeric_limits<double>::quiet_NaN()};
  values.add(all);
  const distribution joined = distribution::joined(values.divided());
  CHECK(joined.bins() == values.bins());
  CHECK(joined.known() == 7);
  CHECK(joined.unknown() == 1);
  CHECK(joined.lowest() == -3.5);
  CHECK(joined.highest() == 7e22);
  CHECK(distribution::joined(distribution().divided()).bins().empty());
}

}  // namespace gpuhist::test

using namespace gpuhist::test;

TEST_CASE("ranked units are those with the highest values; equal ones in the order of inputs, read in any order") {
  std::mt19937 random(3);
  struct expected_rank {
    double value;
    std::size_t input;
    unit_place place;
  };
  std::vector<std::string> texts;
  for (int i = 0; i < 5; ++i) texts.push_back(random_text(random, 3000, small_alphabet));
  for (const std::string formula : {"bytes", "count(digit) / count(lower)", "-words", "entropy"}) {
    std::vector<expected_rank> all;
    for (std::size_t input = 0; input < texts.size(); ++input) {
      for (const piece& each : split(texts[input], text_lines)) {
        double value = static_cast<double>(each.text.size());
        if (formula == "-words") value = -static_cast<double>(words_of(each.text, text_lines));
        if (formula == "entropy") continue;  // only its independence of the order is tested
        if (formula.starts_with("count")) {
          const auto lower = static_cast<double>(count_if(each.text, is_lower));
          if (lower == 0) continue;
          value = static_cast<double>(digits_of(each.text)) / lower;
        }
        all.push_back({.value = value, .input = input, .place = each.place});
      }
    }
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.value > b.value; });
    for (const unsigned number : {1U, 3U, 100U, 1'000'000U}) {
      std::vector<ranked_unit> first;
      for (const bool backwards : {false, true}) {
        measured_run run(
            {.shape = text_lines, .each = "line", .top = ranking{.number = number, .by = formula_of(formula)}});
        for (std::size_t i = 0; i < texts.size(); ++i) {
          const std::size_t input = backwards ? texts.size() - 1 - i : i;
          run.read(texts[input], {backwards ? std::size_t{17} : std::size_t{1000}}, std::to_string(input), input);
        }
        std::vector<ranked_unit> top = run.run().result().top;
        if (backwards) {
          REQUIRE(top.size() == first.size());
          for (std::size_t i = 0; i < top.size(); ++i) {
            REQUIRE(top[i].value == first[i].value);
            REQUIRE(top[i].unit.place == first[i].unit.place);
            REQUIRE(*top[i].unit.input == *first[i].unit.input);
          }
        }
        first = std::move(top);
      }
      if (formula == "entropy") continue;
      REQUIRE(first.size() == std::min<std::size_t>(number, all.size()));
      for (std::size_t i = 0; i < first.size(); ++i) {
        REQUIRE(first[i].value == all[i].value);
        REQUIRE(first[i].unit.place == all[i].place);
        REQUIRE(*first[i].unit.input == std::to_string(all[i].input));
      }
    }
  }
}

TEST_CASE("a distribution of units counts the values of all of them, and those without one") {
  measured_run run({.shape = text_lines, .each = "line", .distribution = formula_of("1 / count(digit)")});
  run.read("1\n12\n\nabc\n1234\n99", {3});
  const distribution values = run.run().result().values;
  CHECK(values.known() == 4);
  CHECK(values.unknown() == 2);
  CHECK(values.lowest() == 0.25);
  CHECK(values.highest() == 1);
  CHECK(values.bins() == std::vector<distribution_bin>{{.from = 0.25, .to = 0.28125, .units = 1},
                                                       {.from = 0.5, .to = 0.5625, .units = 2},
                                                       {.from = 1, .to = 1.125, .units = 1}});
}

TEST_CASE("a quantile is the value of the nearest rank: exact for whole numbers to 256, else less than 1 % off") {
  std::mt19937_64 numbers(6);
  const auto random = [&](std::uint64_t from, std::uint64_t to) { return from + numbers() % (to - from + 1); };
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    std::vector<double> values(random(1, round % 2 == 0 ? 20 : 3000));
    const bool are_small = round % 4 < 2;
    for (double& each : values) {
      const auto whole = static_cast<double>(random(0, are_small ? 512 : 5'000'000)) - (are_small ? 256 : 1'000'000);
      each = are_small ? whole : whole / static_cast<double>(random(1, 1000));
    }
    distribution all;
    distribution part;
    const std::size_t half = random(0, values.size());
    all.add(std::span(values).first(half));
    part.add(std::span(values).subspan(half));
    all += distribution::joined(part.divided());
    std::ranges::sort(values);
    for (const double percent : {0.001, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      CAPTURE(percent);
      const auto thousandths = static_cast<std::size_t>(std::lround(percent * 1000));
      const std::size_t rank = (thousandths * values.size() + 99'999) / 100'000;
      const double expected = values[rank - 1];
      if (are_small) CHECK(all.quantile(percent) == expected);
      CHECK(std::abs(all.quantile(percent) - expected) <= std::abs(expected) / 256);
    }
    CHECK(all.quantile(100) >= values.back() - std::abs(values.back()) / 256);
  }
}

TEST_CASE("a sum is exact to six digits after the point, in whatever order and parts its values are added") {
  std::mt19937_64 numbers(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values;
    std::int64_t millionths = 0;
    for (std::uint64_t left = numbers() % 300; left > 0; --left) {
      const auto each = static_cast<std::int64_t>(numbers() >> (14 + numbers() % 50)) * (numbers() % 2 == 0 ? 1 : -1);
      millionths += each;
      values.push_back(static_cast<double>(each) / 1e6);
    }
    std::ranges::shuffle(values, numbers);
    distribution all;
    for (std::size_t at = 0; at < values.size(); at += 7) {
      distribution part;
      part.add(std::span(values).subspan(at, std::min<std::size_t>(7, values.size() - at)));
      all += distribution::joined(part.divided());
    }
    CAPTURE(round);
    CHECK(all.sum().value() == static_cast<double>(millionths) / 1e6);
  }
}

TEST_CASE("the text of a sum has all of its digits") {
  const auto text_of = [](const std::vector<double>& values) {
    distribution all;
    all.add(values);
    return all.sum().text();
  };
  CHECK(text_of({}) == "0");
  CHECK(text_of({0.1, 0.2, -0.05}) == "0.25");
  CHECK(text_of({0.1, -0.3}) == "-0.2");
  CHECK(text_of({-7, 6.999999}) == "-0.000001");
  CHECK(text_of({1e-7, 0.9999996}) == "1");
  CHECK(text_of({0x1p61, 0x1p60, 0.5}) == "3458764513820540928.5");
  CHECK(text_of({-0x1p61, -1, 1.25}) == "-2305843009213693951.75");
}

TEST_CASE("a sum of 2^62 or more of one sign is unknown, also in parts, and whatever is added") {
  const double most = 0x1p62;
  for (const std::vector<double>& values :
       {std::vector{most}, {-most}, {most / 2, most / 2}, {most, -most}, {1e300, -1}, {-most / 2, 1, -most / 2}}) {
    distribution all;
    for (const double each : values) {
      distribution part;
      part.add({&each, 1});
      all += distribution::joined(part.divided());
      all += part;
    }
    CHECK_FALSE(all.sum().value());
    CHECK_FALSE(all.summary({}).mean());
  }
}

TEST_CASE("each bin of a distribution has the values from its lower bound on and below its upper bound") {
  std::mt19937_64 random(4);
  std::vector<double> values = {0,
                                -0.0,
                                1,
                                -1,
                                1.125,
                                -1.125,
                                3,
                                -3,
                                1e300,
                                -1e300,
                                1e-300,
                                -1e-300,
                                0.1,
                                -0.1,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::lowest()};
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(std::ldexp(static_cast<double>(random() % 4096) - 2048, static_cast<int>(random() % 20) - 10));
  }
  distribution all;
  all.add(values);
  all.add(std::vector<double>(3, gates::unknown));
  CHECK(all.known() == values.size());
  CHECK(all.unknown() == 3);
  CHECK(all.lowest() == std::ranges::min(values));
  CHECK(all.highest() == std::ranges::max(values));
  double end = -std::numeric_limits<double>::infinity();
  std::uint64_t units = 0;
  for (const distribution_bin& bin : all.bins()) {
    CAPTURE(bin.from);
    CHECK(bin.from >= end);
    end = bin.to;
    const bool is_zero = bin.from == 0 && bin.to == 0;
    if (!is_zero && std::isfinite(bin.from) && std::isfinite(bin.to)) {
      CHECK(bin.to - bin.from <= std::min(std::abs(bin.from), std::abs(bin.to)) / 8);
    }
    const auto expected = std::ranges::count_if(
        values, [&](double each) { return is_zero ? each == 0 : each >= bin.from && each < bin.to; });
    CHECK(bin.units == static_cast<std::uint64_t>(expected));
    units += bin.units;
  }
  CHECK(units == values.size());
  CHECK(distribution().bins().empty());
}
