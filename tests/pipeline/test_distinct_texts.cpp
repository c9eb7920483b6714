// Different texts: the table and its sorted runs compared with a set.
#include "report/units/distinct_texts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace gpuhist::report::units;

namespace {

// So little that there are runs of three tiers.
const distinct_texts::limits small{.in_memory = 1024 * sizeof(text_hash)};

text_hash hash_of(const std::string& text) { return text_hash::of(std::as_bytes(std::span(text))); }

// Of so many different texts, about a third of which occur again.
std::vector<text_hash> random_texts(std::size_t number, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<text_hash> made;
  made.reserve(number);
  for (std::size_t i = 0; i < number; ++i) {
    const std::uint64_t text = random() % number;
    made.push_back(hash_of(std::string(text % 50, 'x') + std::to_string(text)));
  }
  return made;
}

text_numbers numbers_of(const std::set<text_hash>& texts) {
  text_numbers made;
  for (const text_hash& each : texts) made += {.texts = 1, .bytes = each.bytes};
  return made;
}

std::vector<text_hash> all_of(const distinct_texts& from) {
  std::vector<text_hash> made;
  from.for_each([&](std::span<const text_hash> texts) { made.insert(made.end(), texts.begin(), texts.end()); });
  return made;
}

constexpr std::size_t many = 100'000;  // more than 64 runs

}  // namespace

TEST_CASE("the texts of a sum that is spilled are those of a set, each once and in ascending order") {
  for (const std::size_t number : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, many}) {
    const std::vector<text_hash> texts = random_texts(number, 7);
    const std::set<text_hash> expected(texts.begin(), texts.end());
    for (const distinct_texts::limits& allowed : {distinct_texts::limits(), small}) {
      distinct_texts found(allowed);
      const std::span<const text_hash> all(texts);
      found.add(all.first(number / 3));
      found.add(all.subspan(number / 3));
      CHECK(found.all().texts == number);
      CHECK(found.distinct() == numbers_of(expected));
      CHECK(all_of(found) == std::vector(expected.begin(), expected.end()));
    }
  }
}

TEST_CASE("of texts that are looked up, each that was added before is found, and no other") {
  for (const unsigned seed : {1U, 2U}) {
    const std::vector<text_hash> texts = random_texts(many, seed);
    std::set<text_hash> expected;
    distinct_texts found(small);
    std::size_t wrong = 0;
    for (const text_hash& each : texts) wrong += found.add_next(each) == expected.insert(each).second;
    CHECK(wrong == 0);
    CHECK(found.all().texts == many);
    CHECK(found.distinct() == numbers_of(expected));
    CHECK(all_of(found) == std::vector(expected.begin(), expected.end()));
  }
}

TEST_CASE("sums of texts do not depend on how they were divided, and are those of what was recorded of them") {
  const std::vector<text_hash> texts = random_texts(many, 3);
  const std::set<text_hash> expected(texts.begin(), texts.end());
  constexpr std::size_t parts = 7;
  distinct_texts sum(small);
  distinct_texts recorded(small);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = texts.size() * part / parts;
    const std::size_t end = texts.size() * (part + 1) / parts;
    distinct_texts of_part(part % 2 == 0 ? small : distinct_texts::limits());
    of_part.add(std::span(texts).subspan(begin, end - begin));
    sum.add(of_part);
    recorded.add_counted(of_part.all(), {});
    of_part.for_each([&](std::span<const text_hash> each) { recorded.add_counted({}, each); });
  }
  for (const distinct_texts* each : {&sum, &recorded}) {
    CHECK(each->all().texts == many);
    CHECK(each->distinct() == numbers_of(expected));
    CHECK(each->memory() <= 1024 * sizeof(text_hash));
  }
  const distinct_texts copy = sum;
  sum.add(texts);
  CHECK(copy.distinct() == numbers_of(expected));
  CHECK(sum.distinct() == numbers_of(expected));
}

TEST_CASE("a text that comes in pieces has the hash of the whole") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * i);
  text_hasher hasher;
  CHECK(hasher.take() == text_hash::of({}));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{77}, std::size_t{5000}}) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      hasher.add(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    }
    CHECK(hasher.take() == hash_of(text));
  }
}
