// Runs over units whose caller takes what is found of each input apart.
#include "unit_oracle.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {
namespace {

using ending = input_observer::ending;

unit_plan plan_of_lines() {
  return {.shape = lines,
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
               pipeline::units::units_by_input{
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
