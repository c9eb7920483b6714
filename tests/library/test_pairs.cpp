// Pairs through the public interface, compared with a loop over the plain texts.
#include "fed_text.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <array>
#include <numeric>

namespace gpuhist {
namespace {

using testing::random_text;

// vowels, digits, other
std::size_t bucket_of(char letter) {
  return std::string_view("aeiou").find(letter) != std::string_view::npos ? 0 : letter >= '0' && letter <= '9' ? 1 : 2;
}

std::vector<std::uint64_t> pairs_of(std::string_view text, std::size_t begin = 0) {
  std::vector<std::uint64_t> found(9);
  for (std::size_t i = std::max<std::size_t>(begin, 1); i < text.size(); ++i) {
    ++found[bucket_of(text[i - 1]) * 3 + bucket_of(text[i])];
  }
  return found;
}

std::vector<std::uint64_t> sum(std::vector<std::uint64_t> left, const std::vector<std::uint64_t>& right) {
  std::ranges::transform(left, right, left.begin(), std::plus<>{});
  return left;
}

counting_options with_pairs() {
  return {
      .schemes = {"v:vowels=aeiou;digits=0-9"}, .byte_counts = true, .pairs = true, .counting_engine = engine::host};
}

results count(const std::vector<std::string>& texts, unsigned seed) {
  std::mt19937 random(seed);
  counter counts(with_pairs());
  for (const std::string& each : texts) {
    input fed = counts.open_input("x");
    for (std::size_t at = 0; at < each.size();) {
      const std::size_t size = 1 + random() % 3000;
      fed.feed(std::string_view(each).substr(at, size));
      at += size;
    }
  }
  return counts.finish();
}

}  // namespace

TEST_CASE("pairs of what is fed are those of the texts: none spans two inputs") {
  const std::vector<std::string> texts = {random_text(100'000, 1), "", "a", random_text(5000, 2)};
  const results counted = count(texts, 1);
  REQUIRE(counted.has_pairs());
  std::vector<std::uint64_t> total(9);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(counted.pairs("v", i) == pairs_of(texts[i]));
    total = sum(total, pairs_of(texts[i]));
  }
  CHECK(counted.pairs("v") == total);
}

TEST_CASE("pairs are merged, written and read") {
  const results first = count({random_text(3000, 1), random_text(10, 2)}, 1);
  const results second = count({random_text(500, 3)}, 2);
  const std::array parts = {first, second};
  const std::vector<std::uint64_t> total = sum(first.pairs("v"), second.pairs("v"));
  const results merged = results::merge(parts);
  CHECK(merged.pairs("v") == total);
  CHECK(merged.pairs("v", 1) == first.pairs("v", 1));
  const read_options options{.schemes = {"v:vowels=aeiou;digits=0-9"}, .pairs = true};
  const results read = results::read(merged.to_json(), options);
  CHECK(read.pairs("v") == total);
  CHECK(read.pairs("v", 2) == second.pairs("v"));
  const std::array mixed = {read, first};
  CHECK(results::merge(mixed).pairs("v") == sum(total, first.pairs("v")));
}

TEST_CASE("without pairs there are none: in results, in their sum, and in a text that is read") {
  counter plain({.schemes = {"v:vowels=aeiou;digits=0-9"}, .byte_counts = true, .counting_engine = engine::host});
  const results without = plain.finish();
  CHECK_FALSE(without.has_pairs());
  CHECK_THROWS_WITH_AS(static_cast<void>(without.pairs("v")), "the result has no pairs; set counting_options::pairs",
                       error);
  const std::array parts = {count({"abc"}, 1), without};
  CHECK_FALSE(results::merge(parts).has_pairs());
  const read_options options{.schemes = {"v:vowels=aeiou;digits=0-9"}, .pairs = true};
  CHECK_THROWS_AS(static_cast<void>(results::read(without.to_json(), options)), error);
}

TEST_CASE("pairs of too many classes are refused, with the name of the field") {
  CHECK_THROWS_WITH_AS(counter({.schemes = {"bytes"}, .pairs = true}),
                       "counting_options::pairs: scheme bytes divides the byte values into 256 classes; pairs are "
                       "counted for at most 32; give counting_options::schemes with fewer buckets, such as letters or "
                       "classes",
                       error);
}

TEST_CASE("a window has the pairs whose second byte is in it") {
  const std::string text = random_text(10'000, 4);
  counting_options options = with_pairs();
  options.windows = window_options{.length = 700, .per_input = true};
  options.alert_if = {"conditional_entropy >= 0"};
  std::vector<window> windows;
  std::size_t alerts = 0;
  counter counts(options, {.on_window = [&](const window& closed) { windows.push_back(closed); },
                           .on_alert = [&](const alert&) { ++alerts; }});
  counts.open_input("x").feed(text);
  static_cast<void>(counts.finish());
  REQUIRE(windows.size() == 15);
  CHECK(alerts >= windows.size());
  for (const window& each : windows) {
    CHECK(each.pairs("v") == pairs_of(std::string_view(text).substr(0, each.end_offset()), each.first_offset()));
  }
}

}  // namespace gpuhist
