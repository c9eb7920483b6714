// The built-in schemes, each byte compared with an independent oracle; and schemes that users define: the buckets that
// they make, and the position and cause in error messages.
#include "config/scheme.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using gpuhist::config::find_scheme;
using gpuhist::config::make_schemes;
using gpuhist::config::parse_custom_scheme;
using gpuhist::config::quote;
using gpuhist::config::scheme;
using gpuhist::config::scheme_names;
using gpuhist::config::usage_error;
using gpuhist::test::usage_error_of;

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

namespace {

using names = std::vector<std::string>;

/// All bytes of a bucket, in order.
std::string members(const scheme& made, const std::string& bucket) {
  std::string all;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (made.buckets.at(made.bucket_of[byte]) == bucket) all += static_cast<char>(byte);
  }
  return all;
}

std::string members(const std::string& definition, const std::string& bucket) {
  return members(parse_custom_scheme(definition), bucket);
}

std::string error_of(const names& typed) {
  return usage_error_of([&] { make_schemes(typed, false); });
}

names names_of(const std::vector<scheme>& schemes) {
  names all;
  for (const scheme& each : schemes) all.push_back(each.name);
  return all;
}

/// One of the spellings of a byte.
std::string typed(unsigned byte, std::mt19937& random) {
  constexpr const char* digits = "0123456789abcdefABCDEF";
  const char c = static_cast<char>(byte);
  const bool plain = byte >= 0x20 && byte < 0x7f;
  if (std::string("\\-;=").find(c) != std::string::npos && random() % 2 == 0) return {'\\', c};
  if (plain && std::string("\\-;=").find(c) == std::string::npos && random() % 4 != 0) return {c};
  const auto upper = [&](unsigned digit) { return digits[digit + (digit >= 10 && random() % 2 == 0 ? 6 : 0)]; };
  return {'\\', 'x', upper(byte >> 4U), upper(byte & 15U)};
}

}  // namespace

TEST_CASE("a definition names its buckets in order, and bytes outside every bucket are other") {
  const scheme made = parse_custom_scheme("vowels=aeiou;digits=0-9");
  CHECK(made.name.empty());
  CHECK(made.buckets == names{"vowels", "digits", "other"});
  CHECK(members(made, "vowels") == "aeiou");
  CHECK(members(made, "digits") == "0123456789");
  CHECK(members(made, "other").size() == 256 - 15);
}

TEST_CASE("there is no bucket other if every byte is in a bucket") {
  const scheme made = parse_custom_scheme("low=\\x00-\\x7f;high=\\x80-\\xFF");
  CHECK(made.buckets == names{"low", "high"});
  CHECK(members(made, "low").size() == 128);
}

TEST_CASE("a definition may have a name, and end with a semicolon") {
  const scheme made = parse_custom_scheme("quotes:single=';double=\";");
  CHECK(made.name == "quotes");
  CHECK(made.buckets == names{"single", "double", "other"});
  CHECK(members(made, "double") == "\"");
}

TEST_CASE("a minus that is first, last or escaped is a character") {
  CHECK(members("x=-+", "x") == "+-");
  CHECK(members("x=+-", "x") == "+-");
  CHECK(members("x=+-;y=a", "x") == "+-");
  CHECK(members("x=-", "x") == "-");
  CHECK(members("x=a\\-c", "x") == "-ac");
  CHECK(members("x=a-c-", "x") == "-abc");
  CHECK(members("x=+--", "x") == "+,-");  // a range up to '-'
  CHECK(members("x=\\--/", "x") == "-./");
}

TEST_CASE("every escape is its byte, also at the ends of ranges") {
  CHECK(members(R"(x=\n\t\r\0\\\-\;\=\:\,\x7F)", "x") == std::string("\0\t\n\r,-:;=\\\x7f", 11));
  CHECK(members(R"(x=\t-\r)", "x") == "\t\n\v\f\r");
  CHECK(members(R"(x=\x41-C)", "x") == "ABC");
  CHECK(members("x=:,", "x") == ",:");  // special in names only
  CHECK(members("x= ", "x") == " ");
}

TEST_CASE("a character that is repeated in a bucket counts once") { CHECK(members("x=aab-da-c", "x") == "abcd"); }

TEST_CASE("any partition of bytes into buckets can be defined, and is parsed as it was defined") {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = 1 + random() % (round % 10 == 0 ? 60 : 6);
    std::vector<std::string> wanted(count);
    std::vector<std::string> written(count);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::size_t bucket = random() % (count + 1);
      if (bucket == count) continue;  // other
      wanted[bucket] += static_cast<char>(byte);
      written[bucket] += typed(byte, random);
    }
    std::string definition;
    names buckets;
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted[i].empty()) continue;
      buckets.push_back("b\xc3\xb6 " + std::to_string(i));
      definition += (definition.empty() ? "" : ";") + buckets.back() + "=" + written[i];
    }
    if (definition.empty()) continue;
    CAPTURE(definition);
    const scheme made = parse_custom_scheme(definition);
    for (std::size_t i = 0, at = 0; i < count; ++i) {
      if (!wanted[i].empty()) CHECK(members(made, buckets[at++]) == wanted[i]);
    }
  }
}

TEST_CASE("an invalid definition is refused with the position, the error and the remedy") {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"a=abc;b=xyzc", "12: 'c' is in bucket \"a\" and in bucket \"b\"; remove it from one of them"},
      {"a=a-f;b=A-z", "9: 'a' is in bucket \"a\" and in bucket \"b\"; remove it from one of them"},
      {"a=\\n;b=\\x0a", "8: '\\x0a' is in bucket \"a\" and in bucket \"b\"; remove it from one of them"},
      {"a=a;other=b", "5: \"other\" is the bucket of all other bytes; use another name"},
      {"a=a;a=b", "5: bucket \"a\" is defined twice; write all of its characters after one '='"},
      {"=abc", "1: a bucket has no name; write bucket=characters"},
      {"a=x;=abc", "5: a bucket has no name; write bucket=characters"},
      {"a=", "3: bucket \"a\" is empty; write its characters after the '='"},
      {"a=;b=c", "3: bucket \"a\" is empty; write its characters after the '='"},
      {"a=x;b", "5: \"b\" has no characters; write bucket=characters, and \\; for the character ';'"},
      {"a=x;;b=y", "5: a bucket is missing; write bucket=characters;bucket=characters"},
      {";a=x", "1: a bucket is missing; write bucket=characters;bucket=characters"},
      {"a=z-a", "3: the range from 'z' to 'a' is reversed; write the lower one first"},
      {"a=a-c-e", "6: '-' after a range is ambiguous; write \\- for the character"},
      {"a=x\\", "4: the escape is incomplete; write \\\\ for the character '\\'"},
      {"a=\\q", "3: there is no escape \"\\q\"; the escapes are \\n \\t \\r \\0 \\\\ \\- \\; \\= \\: \\, \\xNN"},
      {"a=\\x4", "3: \\x takes two hexadecimal digits, as in \\x0a"},
      {"a=\\xg0", "3: \\x takes two hexadecimal digits, as in \\x0a"},
      {"vowels=aeiou,digits=0-9",
       "20: '=' among the characters; write \\= for the character, or ';' before the next bucket"},
      {"gr\xc3\xb6\xc3\x9f"
       "e=x\xc3\xa4",
       "8: this character is not ASCII; buckets hold bytes: write \\xc3\\xa4"},
      {"a=\xff\xff", "3: this character is not ASCII; buckets hold bytes: write \\xff"},
      {"letters,a=b", "8: a name may not contain ','; give each definition in a value of its own"},
      {"n:a:b=c", "4: a name may not contain ':'; use UTF-8 without control characters and , : ; ="},
      {":a=b", "1: the name before ':' is empty; write NAME:bucket=characters, or no ':'"},
      {"a\xff=b", "2: a name may not contain '\\xff'; use UTF-8 without control characters and , : ; ="},
      {"a\xc2\x9b=b", "2: a name may not contain '\\xc2\\x9b'; use UTF-8 without control characters and , : ; ="},
      {"a=x; b=y", "5: a name may neither begin nor end with a blank; remove the blank"},
  };
  for (const auto& [definition, message] : refused) {
    CHECK(error_of({definition}) == quote(definition) + ", character " + message);
  }
  CHECK(error_of({"a\x1b=b"}) ==
        "\"a\\x1b=b\", character 2: a name may not contain '\\x1b'; use UTF-8 without control characters and , : ; =");
}

TEST_CASE("any text is parsed or refused") {
  std::mt19937 random(6);
  constexpr std::string_view alphabet = "ab-\\;=:,x0 \xc3\xa4\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto remaining = random() % 12; remaining > 0; --remaining) text += alphabet[random() % alphabet.size()];
    try {
      const scheme made = parse_custom_scheme(text + "=");
      for (const auto bucket : made.bucket_of) REQUIRE(bucket < made.buckets.size());
    } catch (const usage_error&) {
    }
  }
}

TEST_CASE("schemes keep their order, repeated names are dropped, definitions without a name are numbered") {
  CHECK(names_of(make_schemes({"bytes", "a=b", "letters", "bytes", "mine:c=d", "e=f"}, false)) ==
        names{"bytes", "custom", "letters", "mine", "custom-2"});
  CHECK(names_of(make_schemes({"a=b", "custom-2:a=b", "e=f", "custom:a=c"}, false)) ==
        names{"custom-3", "custom-2", "custom-4", "custom"});
  CHECK(make_schemes({}, true).empty());
}

TEST_CASE("a definition may not have the name of another scheme") {
  CHECK(error_of({"letters:a=b"}) == "\"letters:a=b\": \"letters\" is a built-in scheme; use another name");
  CHECK(error_of({"mine:a=b", "mine:a=c"}) == "\"mine:a=c\": \"mine\" is the name of two schemes; use another name");
}

TEST_CASE("with ignore_case every scheme puts A-Z into the buckets of a-z, and nothing else changes") {
  const names typed = {"letters", "alphabet", "bytes", "classes", "utf8", "x=a-c;y=D-F"};
  const auto exact = make_schemes(typed, false);
  const auto folded = make_schemes(typed, true);
  REQUIRE(exact.size() == folded.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    CAPTURE(exact[i].name);
    CHECK(folded[i].buckets == exact[i].buckets);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::size_t as = byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
      CHECK(folded[i].bucket_of[byte] == exact[i].bucket_of[as]);
    }
  }
}
