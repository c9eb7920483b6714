// The built-in schemes: each byte is compared with an independent oracle.
#include "config/scheme.hpp"
#include "config/usage_error.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

using gpuhist::config::find_scheme;
using gpuhist::config::scheme;
using gpuhist::config::scheme_names;

namespace {

std::string bucket_of(const scheme& made, int byte) {
  return made.buckets.at(made.bucket_of[static_cast<std::size_t>(byte)]);
}

std::string class_by_cctype(int byte) {  // the tests never call setlocale: this is the C locale
  if (byte >= 128) return "non-ascii";
  if (std::isspace(byte) != 0) return "space";
  if (std::iscntrl(byte) != 0) return "control";
  if (std::isupper(byte) != 0) return "upper";
  if (std::islower(byte) != 0) return "lower";
  if (std::isdigit(byte) != 0) return "digit";
  return std::ispunct(byte) != 0 ? "punctuation" : "(none)";
}

std::string letters_by_range(int byte) {
  for (const std::string range : {"a-d", "e-h", "i-l", "m-p", "q-t", "u-x", "y-z"}) {
    if (byte >= range.front() && byte <= range.back()) return range;
  }
  return "other";
}

}  // namespace

TEST_CASE("letters are seven ranges of lower case letters, and the rest is other") {
  const scheme letters = find_scheme("letters");
  CHECK(letters.buckets == std::vector<std::string>{"a-d", "e-h", "i-l", "m-p", "q-t", "u-x", "y-z", "other"});
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    CHECK(bucket_of(letters, byte) == letters_by_range(byte));
  }
}

TEST_CASE("bytes has one bucket per byte value, named in hexadecimal, and no bucket other") {
  const scheme bytes = find_scheme("bytes");
  CHECK(bytes.buckets.size() == 256);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "0x%02x", static_cast<unsigned>(byte));
    CHECK(bucket_of(bytes, byte) == name);
    CHECK(bytes.bucket_of[static_cast<std::size_t>(byte)] == byte);
  }
}

TEST_CASE("classes are those of the C locale, cover every byte and have no bucket other") {
  const scheme classes = find_scheme("classes");
  CHECK(classes.buckets ==
        std::vector<std::string>{"upper", "lower", "digit", "space", "punctuation", "control", "non-ascii"});
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    CHECK(bucket_of(classes, byte) == class_by_cctype(byte));
  }
}

TEST_CASE("every scheme is listed by its name, and its buckets have distinct names and at least one byte") {
  CHECK(scheme_names() == std::vector<std::string_view>{"letters", "alphabet", "bytes", "classes", "utf8"});
  for (const std::string_view name : scheme_names()) {
    const scheme made = find_scheme(name);
    CHECK(made.name == name);
    CHECK(std::set<std::string>(made.buckets.begin(), made.buckets.end()).size() == made.buckets.size());
    const std::set<std::uint16_t> reached(made.bucket_of.begin(), made.bucket_of.end());
    CHECK(reached.size() == made.buckets.size());
    CHECK(*reached.rbegin() == made.buckets.size() - 1);
  }
}

TEST_CASE("an unknown scheme is a usage error that lists the names and suggests the nearest one") {
  CHECK_THROWS_WITH_AS(find_scheme("leters"),
                       "there is no scheme \"leters\"; known are letters, alphabet, bytes, classes, utf8; did you mean "
                       "letters?",
                       gpuhist::config::usage_error);
  CHECK_THROWS_WITH_AS(find_scheme("vowels"),
                       "there is no scheme \"vowels\"; known are letters, alphabet, bytes, classes, utf8; "
                       "bucket=characters;... defines one",
                       gpuhist::config::usage_error);
}

TEST_CASE("alphabet has a bucket per lower case letter, and the rest is other") {
  const scheme alphabet = find_scheme("alphabet");
  CHECK(alphabet.buckets.size() == 27);
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    const bool letter = byte < 128 && std::islower(byte) != 0;
    CHECK(bucket_of(alphabet, byte) == (letter ? std::string(1, static_cast<char>(byte)) : "other"));
  }
}

TEST_CASE("utf8 classifies every byte by its role in UTF-8") {
  std::array<std::string, 256> part;
  part.fill("never-utf8");
  for (unsigned point = 0; point < 0x110000; ++point) {  // encoded by hand: bytes that never come up stay never-utf8
    if (point < 0x80) {
      part.at(point) = "ascii";
      continue;
    }
    const unsigned tails = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    const unsigned mark = tails == 1 ? 0xc0U : tails == 2 ? 0xe0U : 0xf0U;
    part.at(mark | point >> (6 * tails)) = "lead-" + std::to_string(tails + 1);
    for (unsigned i = 0; i < tails; ++i) part.at(0x80U | (point >> (6 * i) & 0x3fU)) = "continuation";
  }
  const scheme utf8 = find_scheme("utf8");
  CHECK(utf8.buckets == std::vector<std::string>{"ascii", "continuation", "lead-2", "lead-3", "lead-4", "never-utf8"});
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    CHECK(bucket_of(utf8, byte) == part.at(static_cast<std::size_t>(byte)));
  }
}

TEST_CASE("a bucket is found by its name, and by its former name as long as no other bucket has that") {
  using gpuhist::config::find_bucket;
  using gpuhist::config::find_formerly_named;
  const scheme utf8 = find_scheme("utf8");
  CHECK(find_bucket(utf8, "never-utf8") == 5);
  CHECK(find_formerly_named(utf8, "invalid") == 5);
  CHECK_FALSE(find_bucket(utf8, "invalid"));
  CHECK_FALSE(find_formerly_named(utf8, "never-utf8"));
  CHECK_FALSE(find_formerly_named(utf8, "lead"));
  scheme reused{"reused", {"a", "b"}, {}, {{"a", 1}, {"c", 1}}};
  CHECK(find_bucket(reused, "a") == 0);
  CHECK_FALSE(find_formerly_named(reused, "a"));
  CHECK(find_formerly_named(reused, "c") == 1);
}

TEST_CASE("a list of names is that of the buckets, with former names or without, in the same order only") {
  using names = std::vector<std::string>;
  const scheme utf8 = find_scheme("utf8");
  const auto same = [&](const names& list) { return gpuhist::config::are_buckets_of(utf8, list); };
  CHECK(same(utf8.buckets));
  CHECK(same({"ascii", "continuation", "lead-2", "lead-3", "lead-4", "invalid"}));
  CHECK_FALSE(same({"ascii", "continuation", "lead-2", "lead-3", "invalid", "lead-4"}));
  CHECK_FALSE(same({"ascii", "continuation", "lead-2", "lead-3", "lead-4"}));
  CHECK_FALSE(same({"ascii", "continuation", "lead-2", "lead-3", "lead-4", "other"}));
  CHECK_FALSE(same({"ascii", "continuation", "lead-2", "lead-3", "lead-4", "invalid", "never-utf8"}));
  CHECK_FALSE(same({}));
}
