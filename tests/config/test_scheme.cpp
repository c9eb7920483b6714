// The built-in schemes, byte by byte, against oracles written the other way round.
#include "config/scheme.hpp"
#include "config/usage_error.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <cstdio>
#include <set>
#include <string>

using gpuhist::config::find_scheme;
using gpuhist::config::scheme;
using gpuhist::config::scheme_names;

namespace {

std::string bucket_of(const scheme& one, int byte) {
  return one.buckets.at(one.bucket_of[static_cast<std::size_t>(byte)]);
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

TEST_CASE("bytes has one bucket a byte value, named in hexadecimal, and no other") {
  const scheme bytes = find_scheme("bytes");
  CHECK(bytes.buckets.size() == 256);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "0x%02x", static_cast<unsigned>(byte));
    CHECK(bucket_of(bytes, byte) == name);
    CHECK(bytes.bucket_of[static_cast<std::size_t>(byte)] == byte);
  }
}

TEST_CASE("classes are those of the C locale, cover every byte and have no other") {
  const scheme classes = find_scheme("classes");
  CHECK(classes.buckets ==
        std::vector<std::string>{"upper", "lower", "digit", "space", "punctuation", "control", "non-ascii"});
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    CHECK(bucket_of(classes, byte) == class_by_cctype(byte));
  }
}

TEST_CASE("every scheme is listed under its name, has buckets of distinct names, and none that no byte can reach") {
  CHECK(scheme_names() == std::vector<std::string_view>{"letters", "bytes", "classes"});
  for (const std::string_view name : scheme_names()) {
    const scheme one = find_scheme(name);
    CHECK(one.name == name);
    CHECK(std::set<std::string>(one.buckets.begin(), one.buckets.end()).size() == one.buckets.size());
    const std::set<std::uint16_t> reached(one.bucket_of.begin(), one.bucket_of.end());
    CHECK(reached.size() == one.buckets.size());
    CHECK(*reached.rbegin() == one.buckets.size() - 1);
  }
}

TEST_CASE("an unknown scheme is a usage error that lists the names and suggests the near one") {
  CHECK_THROWS_WITH_AS(
      find_scheme("leters"),
      "--buckets: there is no scheme \"leters\"; known are letters, bytes, classes; did you mean letters?",
      gpuhist::config::usage_error);
  CHECK_THROWS_WITH_AS(find_scheme("vowels"),
                       "--buckets: there is no scheme \"vowels\"; known are letters, bytes, classes",
                       gpuhist::config::usage_error);
}
