// Text functions of the reports: UTF-8 against an independent encoder, base64 and grouping by example.
#include "report/formats/text.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <cstdint>
#include <string>

using gpuhist::pipeline::base64;
using gpuhist::pipeline::columns;
using gpuhist::pipeline::cut_to;
using gpuhist::pipeline::from_base64;
using gpuhist::pipeline::grouped;
using gpuhist::pipeline::is_utf8;
using gpuhist::pipeline::utf8_sequence;

namespace {

std::string encoded(std::uint32_t point, std::size_t length) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (length == 1) return {static_cast<char>(point)};
  if (length == 2) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
  if (length == 3) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

std::size_t length_of(std::uint32_t point) { return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4; }

}  // namespace

TEST_CASE("every code point is UTF-8 only in its shortest form, and surrogates are not UTF-8") {
  std::size_t wrong = 0;
  for (std::uint32_t point = 0; point < 0x200000; ++point) {
    const bool exists = point < 0x110000 && (point < 0xd800 || point > 0xdfff);
    for (std::size_t length = length_of(point); length <= 4; ++length) {
      const bool right = exists && length == length_of(point);
      if (utf8_sequence(encoded(point, length)) != (right ? length : 0)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a sequence that is truncated, or continued by another byte, is not UTF-8") {
  for (const std::string sequence : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    CHECK(is_utf8("a" + sequence + "b"));
    for (std::size_t length = 1; length < sequence.size(); ++length) {
      CHECK_FALSE(is_utf8(sequence.substr(0, length)));
      CHECK_FALSE(is_utf8(sequence.substr(0, length) + "xyz"));
    }
  }
  CHECK_FALSE(is_utf8("\x80"));
  CHECK_FALSE(is_utf8("\xff"));
  CHECK(is_utf8(""));
}

TEST_CASE("base64 gives the test vectors of RFC 4648") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("fooba") == "Zm9vYmE=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(123456) == "123,456");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(UINT64_MAX) == "18,446,744,073,709,551,615");
}

TEST_CASE("a text that is too wide keeps its end") {
  CHECK(cut_to("path/to/file", 12) == "path/to/file");
  CHECK(cut_to("path/to/file", 11) == ".../to/file");
  CHECK(cut_to("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4", 4) == "...\xc3\xa4");
  CHECK(columns("\xc3\xa4\xe2\x82\xac!") == 3);
}

TEST_CASE("in a UTF-8 locale wide characters take two columns and combining ones none; elsewhere each takes one") {
  const std::string wide = "\u691c\u7d22";  // two ideographs
  const std::string combining = "e\u0301";  // e with a combining acute accent
  const std::string emoji = "\U0001f600";
  CHECK(columns("plain") == 5);
  const std::string before = std::setlocale(LC_CTYPE, nullptr);
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
  CHECK(columns(wide) == 4);
  CHECK(columns(combining) == 1);
  CHECK(columns(emoji) == 2);
  CHECK(columns("\u00e4\u20ac!") == 3);
  CHECK(columns("\u0378") == 1);  // not assigned
  CHECK(cut_to(wide + wide, 7) == "..." + wide);
  CHECK(cut_to(wide + wide, 6) == "...\u7d22");
  CHECK(cut_to("a" + combining + combining + combining, 4) == "a" + combining + combining + combining);
  CHECK(cut_to("ab" + combining + combining + combining, 4) == "..." + combining);
  std::setlocale(LC_CTYPE, "C");
  CHECK(columns(wide) == 2);
  CHECK(columns(combining) == 2);
  std::setlocale(LC_CTYPE, before.c_str());
}

TEST_CASE("base64 is decoded, and text that it never produces is refused") {
  std::string raw;
  for (int i = 0; i < 300; ++i) {
    CHECK(from_base64(base64(raw)) == raw);
    raw += static_cast<char>(i * 37);
  }
  for (const char* const wrong :
       {"A", "AA", "AAA", "AA=", "AB==", "AAB=", "A===", "====", "AA==AA==", "A A=", "AAA\n"}) {
    CHECK_FALSE(from_base64(wrong));
  }
}
