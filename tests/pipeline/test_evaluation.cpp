// Expressions evaluated for batches of units, compared with an evaluation of one unit, and with Kleene's tables.
#include "config/expression.hpp"
#include "report/conditions/formula.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

using gpuhist::config::expression;
using gpuhist::pipeline::gates::evaluation;
using gpuhist::pipeline::gates::is_unknown;
using gpuhist::pipeline::gates::unknown;

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
