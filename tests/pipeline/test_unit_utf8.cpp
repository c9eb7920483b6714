// `malformed` in formulas of units, compared with a judgement of each unit by a second implementation.
#include "config/expression.hpp"
#include "config/scheme.hpp"
#include "report/units/unit_meter.hpp"
#include "report/units/unit_run.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

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
