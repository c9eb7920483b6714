// The ranking and the distribution of units, compared with sorted and counted values.
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
      for (const piece& each : split(texts[input], lines)) {
        double value = static_cast<double>(each.text.size());
        if (formula == "-words") value = -static_cast<double>(words_of(each.text, lines));
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
        measured_run run({.shape = lines, .each = "line", .top = ranking{.number = number, .by = formula_of(formula)}});
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
  measured_run run({.shape = lines, .each = "line", .distribution = formula_of("1 / count(digit)")});
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
