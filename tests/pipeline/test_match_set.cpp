// Which expressions match in each line, compared with RE2 on generated lines, and with tables.
#include "report/lines/match_set.hpp"

#include "config/usage_error.hpp"

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using gpuhist::config::usage_error;
using gpuhist::report::lines::match_expression;
using gpuhist::report::lines::match_reader;
using gpuhist::report::lines::match_set;
using gpuhist::report::lines::parse_match;
using gpuhist::report::lines::parse_match_file;

using texts = std::vector<std::string>;

std::vector<match_expression> numbered(const texts& patterns) {
  std::vector<match_expression> all;
  for (const std::string& each : patterns) all.push_back({.name = "e" + std::to_string(all.size()), .pattern = each});
  return all;
}

/// By line, then by expression. The last line lacks the delimiter if `open`.
std::vector<std::vector<bool>> matched(match_reader& reader, std::size_t expressions, const texts& lines,
                                       char delimiter = '\n', bool open = false) {
  std::string text;
  std::vector<std::uint32_t> ends;
  for (const std::string& each : lines) {
    text += each;
    if (!open || &each != &lines.back()) text += delimiter;
    ends.push_back(static_cast<std::uint32_t>(text.size()));
  }
  const std::size_t words = reader.words_per_line();
  std::vector<std::uint64_t> bits(lines.size() * words, ~std::uint64_t{0});
  reader.read(text, ends, delimiter, bits);
  std::vector<std::vector<bool>> all(lines.size(), std::vector<bool>(expressions));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t e = 0; e < expressions; ++e) all[i][e] = ((bits[i * words + e / 64] >> (e % 64)) & 1U) != 0;
  }
  return all;
}

/// One character for each line: 1 if the pattern matches in it.
std::string found(const std::string& pattern, const texts& lines, char delimiter = '\n', bool ignore_case = false) {
  const match_set set({{.name = "e", .pattern = pattern}}, ignore_case);
  match_reader reader(set);
  std::string out;
  for (const std::vector<bool>& line : matched(reader, 1, lines, delimiter)) out += line[0] ? '1' : '0';
  return out;
}

std::string error_of(const std::string& pattern) {
  try {
    const match_set set({{.name = "e", .pattern = pattern}}, false);
  } catch (const usage_error& error) {
    return error.what();
  }
  return "";
}

/// A pattern, and the same meaning in the syntax of RE2, if it differs. RE2's \w, \s and \d are those of ASCII.
struct pair {
  std::string ours;
  std::string oracle{};
};

std::string in_re2(std::string pattern) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = pattern.find(from, at)) != std::string::npos; at += to.size())
      pattern.replace(at, from.size(), to);
  };
  replace("\\w", "[\\p{L}\\p{M}\\p{Nd}\\p{Pc}]");
  replace("\\W", "[^\\p{L}\\p{M}\\p{Nd}\\p{Pc}]");
  replace("\\s", "[\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{2028}]");
  replace("\\S", "[^\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{2028}]");
  replace("\\d", "\\p{Nd}");
  replace("\\D", "\\P{Nd}");
  return pattern;
}

const std::vector<std::string> units = {
    "a",  "b", "ab", "foo", "1", "12", " ",  "-", ",", "'", "(",      ")",      "A",       "K", "s",    "_", "\r", "\t",
    "\0", "é", "É",  "ß",   "α", "Σ",  "😀", "ſ", "٣", "²", "\u00a0", "\u2028", "e\u0301", "‿", "\x0b", ".", "x"};
// RE2 accepts surrogates and overlong sequences in sets, so there are none here.
const std::vector<std::string> invalid = {"\xff", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98"};

enum class alphabet : std::uint8_t { ascii, utf8, any_bytes };

/// Short lines, and some that are longer than a vector of the processor.
std::string random_line(std::mt19937& random, alphabet of) {
  std::string line;
  const std::size_t count = random() % 8 == 0 ? random() % 90 : random() % 9;
  for (std::size_t i = 0; i < count; ++i) {
    if (of == alphabet::any_bytes && random() % 10 == 0) {
      line += invalid[random() % invalid.size()];
      continue;
    }
    const std::string& unit = units[random() % units.size()];
    const bool is_ascii = std::ranges::all_of(unit, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    line += of != alphabet::ascii || is_ascii ? unit : "z";
  }
  if (random() % 20 == 0) line += std::string(1, '\0');
  return line;
}

/// Batches of 1 to 300 lines of each alphabet; lines of all kinds are also mixed.
std::vector<texts> random_batches(std::size_t count, bool ascii_only) {
  std::mt19937 random(4711);
  std::vector<texts> all;
  for (std::size_t i = 0; i < count; ++i) {
    texts lines(i == 0 ? 1 : 1 + random() % 300);
    for (std::string& each : lines) {
      const std::size_t kind = i % 4 == 3 ? random() % 3 : i % 4;
      each = random_line(random, ascii_only ? alphabet::ascii : static_cast<alphabet>(kind));
    }
    all.push_back(std::move(lines));
  }
  return all;
}

void compare_with_re2(const texts& patterns, bool ascii_only) {
  const std::vector<texts> batches = random_batches(12, ascii_only);
  const match_set together(numbered(patterns), false);
  match_reader all(together);
  std::vector<std::vector<std::vector<bool>>> of_all;
  for (const texts& lines : batches) of_all.push_back(matched(all, patterns.size(), lines));
  for (std::size_t e = 0; e < patterns.size(); ++e) {
    const RE2 oracle(in_re2(patterns[e]));
    REQUIRE_MESSAGE(oracle.ok(), patterns[e]);
    const match_set alone({{.name = "e", .pattern = patterns[e]}}, false);
    match_reader reader(alone);
    std::size_t wrong = 0;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      const auto one = matched(reader, 1, batches[b], '\n', b % 2 == 1 && !batches[b].back().empty());
      for (std::size_t i = 0; i < batches[b].size(); ++i) {
        const bool expected = RE2::PartialMatch(batches[b][i], oracle);
        wrong += one[i][0] != expected || of_all[b][i][e] != expected ? 1U : 0U;
      }
    }
    CHECK_MESSAGE(wrong == 0, patterns[e]);
  }
}

}  // namespace

TEST_CASE("expressions match the lines of a table") {
  const texts lines = {"", "a", "ab", "a b", "ba", "é", "1", "a\r", "\xff"};
  CHECK(found("", lines) == "111111111");
  CHECK(found("x*", lines) == "111111111");
  CHECK(found("a|", lines) == "111111111");
  CHECK(found("^$", lines) == "100000000");
  CHECK(found("$", lines) == "111111111");
  CHECK(found("a$", lines) == "010010000");
  CHECK(found("^a", lines) == "011100010");
  CHECK(found("\\Aa\\z", lines) == "010000000");
  CHECK(found("^.$", lines) == "010001100");
  CHECK(found("\\s", lines) == "000100010");
  CHECK(found("[^a]", lines) == "001111110");
  CHECK(found("\\W", lines) == "000100010");
  CHECK(found("\\w$", lines) == "011111100");
  CHECK(found("\\bb", lines) == "000110000");
  CHECK(found("\\Bb", lines) == "001000000");
  CHECK(found("\\B", lines) == "101010011");
  CHECK(found("a\\n", lines) == "000000000");
  CHECK(found("\\xe9", lines) == "000001000");
  CHECK(found("(?i)É", lines) == "000001000");
  CHECK(found("A", lines, '\n', true) == "011110010");
  CHECK(found("x{0}a", lines) == "011110010");
}

TEST_CASE("word boundaries follow Unicode") {
  const texts lines = {"foo",
                       "éfoo",
                       "foo é",
                       "fooé",
                       "é foo-",
                       "\xff"
                       "foo",
                       "foo\xff",
                       "٣foo",
                       "foo\u0301"};
  CHECK(found("\\bfoo\\b", lines) == "101011100");
  CHECK(found("\\Bfoo", lines) == "010000010");
  CHECK(found("(\\bfoo|é\\b)$", lines) == "101101000");
}

TEST_CASE("the case is ignored as Unicode defines it") {
  const texts lines = {"k", "K", "\u212a", "s", "ſ", "S", "ß", "ẞ", "Σ", "ς"};
  CHECK(found("(?i)k", lines) == "1110000000");
  CHECK(found("(?i)ſ", lines) == "0001110000");
  CHECK(found("(?i)[^s]", lines) == "1110001111");
  CHECK(found("(?i)ß", lines) == "0000001100");
  CHECK(found("(?i:σ)", lines) == "0000000011");
}

TEST_CASE("lines match as RE2 finds it, in batches of each kind of text") {
  const texts patterns = {"a",
                          "ab",
                          "foo",
                          "a.b",
                          "a.*b",
                          ".",
                          "..",
                          "...",
                          "^.$",
                          "^..$",
                          "^.{3}$",
                          "^.{2,5}$",
                          "a+",
                          "a+b",
                          "(a|b)+1",
                          "^(a|b)*$",
                          "(ab)+",
                          "(ab){2}",
                          "(?:ab|foo)1",
                          "a{2}",
                          "a{2,}",
                          "a{1,2}b",
                          "^a",
                          "a$",
                          "^a$",
                          "^$",
                          "$",
                          "^",
                          "(^a|b)1",
                          "(?:^|b)a",
                          "a(?:b|$)",
                          "a|b$",
                          "^a|b",
                          "\\d",
                          "\\D",
                          "\\d+",
                          "^\\d+$",
                          "^\\D+$",
                          "\\d{2}",
                          "\\w",
                          "\\W",
                          "\\w+",
                          "^\\w+$",
                          "^\\W+$",
                          "\\w{3}",
                          "\\w+ \\w+",
                          "(?:\\w+ ){2}",
                          "(\\w+,){2}\\w",
                          "\\w-\\w",
                          "\\s",
                          "\\S",
                          "\\s\\s",
                          "^\\s",
                          "\\s$",
                          "^\\s+$",
                          "^\\S+$",
                          "\\S+ \\S+",
                          "\\S \\S+$",
                          "\\w\\s\\w",
                          "(?:\\w+\\s){2}",
                          "[ab]",
                          "[^ab]",
                          "[^ab]+$",
                          "^[^ ]+$",
                          "[a-f]+",
                          "[^a-z]",
                          "^[^a-z]+$",
                          "[\\x00-\\x1f]",
                          "[\\x00-\\x20]$",
                          "[^\\x00-\\x7f]",
                          "[^\\x20-\\x7e]",
                          "[\\x{80}-\\x{10ffff}]",
                          "[[:alpha:]]",
                          "[[:^alpha:]]",
                          "[[:punct:]]",
                          "[^[:alnum:]]",
                          "[[:upper:][:digit:]]",
                          "é",
                          "É",
                          "[é]",
                          "[^é]",
                          "[à-ÿ]",
                          "é+",
                          "éa|aé",
                          "α",
                          "[α-ω]",
                          "α.",
                          ".α",
                          "^[α-ωa-z]+$",
                          "😀",
                          "😀.",
                          "[😀-😂]+",
                          "\\p{L}",
                          "\\P{L}",
                          "\\p{Lu}",
                          "^\\p{Lu}",
                          "\\p{Greek}",
                          "\\pN",
                          "^\\PL+$",
                          "[\\p{L}1]+$",
                          "[^\\p{L}]",
                          "(?i)a",
                          "(?i)k",
                          "(?i)s",
                          "(?i)é",
                          "(?i)σ",
                          "(?i)[a-k]",
                          "(?i)[^k]",
                          "(?i)FOO",
                          "(?i:f)oo",
                          "f(?i)OO",
                          "(?i)a(?-i)b",
                          "'[^']*'",
                          "\\([^)]*\\)",
                          "\\(\\d+\\)",
                          "a?b?1",
                          ".*a.*b",
                          "a.*",
                          "^.*a$",
                          "^.*$",
                          ".+",
                          "^a.*b$",
                          "\\.",
                          "[.]",
                          "[-a]",
                          "[a-]",
                          "[]a]",
                          "a\\tb",
                          "\\t",
                          "\\r$",
                          "\\r",
                          "\\x00",
                          "\\x00$",
                          "\\x{2028}",
                          "a\\x{a0}",
                          "(a(b(1)?)?)?x",
                          "(?s).",
                          "(?s)a.b",
                          "((a|b)(1|2)){2}",
                          "(a|é)$",
                          "(foo|é|1)+ ",
                          "e\\x{301}",
                          "(?:a|b|1|2|s|K)x",
                          "x*a",
                          "[^,]*,[^,]*,[^,]*$",
                          "(?:é|a){2}",
                          "(?:[^a]b){2}"};
  CHECK(patterns.size() >= 100);
  compare_with_re2(patterns, false);
}

TEST_CASE("word boundaries match in ASCII as RE2 finds it") {
  compare_with_re2({"\\b",
                    "\\B",
                    "\\ba",
                    "a\\b",
                    "\\bfoo\\b",
                    "\\Bfoo",
                    "foo\\B",
                    "\\ba\\b|\\b1",
                    "^\\b",
                    "\\b$",
                    "\\Bo\\B",
                    "\\b.\\b",
                    "a\\b.",
                    ".\\ba",
                    "(\\bfoo|b)1",
                    "\\b(?:foo|ab)\\b",
                    "\\B-\\B",
                    "^\\B",
                    "\\bfoo\\b.*\\b12\\b",
                    "a\\bb",
                    "\\b\\B"},
                   true);
}

TEST_CASE("no match is lost at any offset of a line or batch") {
  const std::array<pair, 6> cases = {pair{"\\w$", "x"},     pair{"'[^']*'", "''"}, pair{"\\([0-9]", "(1"},
                                     pair{"[\\r ]$", "\r"}, pair{"[^abc]$", "d"},  pair{"\\s\\d+\\s", " 12 "}};
  for (const pair& each : cases) {
    const match_set set({{.name = "e", .pattern = each.ours}}, false);
    match_reader reader(set);
    for (std::size_t before = 0; before < 200; ++before) {
      const std::string line = std::string(before, '-') + each.oracle;
      const auto bits = matched(reader, 1, {line, "", std::string(before, 'a'), line});
      CHECK_MESSAGE((bits[0][0] && bits[3][0] && !bits[1][0]), each.ours, " after ", before);
    }
  }
}

TEST_CASE("records with another delimiter may contain line feeds") {
  const texts records = {"a\nb", "a", "", "b\n", "\n"};
  CHECK(found("^b", records, '\0') == "00010");
  CHECK(found("a$", records, '\0') == "01000");
  CHECK(found("a.b", records, '\0') == "00000");
  CHECK(found("(?s)a.b", records, '\0') == "10000");
  CHECK(found("a\\nb", records, '\0') == "10000");
  CHECK(found("\\s", records, '\0') == "10011");
  CHECK(found("^$", records, '\0') == "00100");
  CHECK(found("é|\\bb",
              {"éb",
               "\xff"
               "b",
               "b"},
              '\0') == "111");
}

TEST_CASE("lines that lack the delimiter are separate lines") {
  const match_set set(numbered({"a$", "^b", "ab"}), false);
  match_reader reader(set);
  const std::string text = "abb";
  const std::array<std::uint32_t, 4> ends = {1, 1, 2, 3};
  std::array<std::uint64_t, 4> bits{};
  reader.read(text, ends, '\n', bits);
  CHECK(bits == std::array<std::uint64_t, 4>{1, 0, 2, 2});
}

TEST_CASE("an empty set and an empty batch have no matches") {
  const match_set none({}, false);
  match_reader reader(none);
  CHECK(reader.words_per_line() == 0);
  reader.read("a\n", std::array<std::uint32_t, 1>{2}, '\n', {});
  const match_set one(numbered({"a"}), false);
  match_reader other(one);
  other.read("", {}, '\n', {});
  CHECK(one.size() == 1);
}

TEST_CASE("messages name the construct and point at it") {
  CHECK(error_of("ab(?=c)").find("has look-ahead, which is not supported\n    ab(?=c)\n      ^") != std::string::npos);
  CHECK(error_of("(?<!c)a").find("look-behind") != std::string::npos);
  CHECK(error_of("(a)\\1").find("back-reference") != std::string::npos);
  CHECK(error_of("(?>a)").find("atomic group") != std::string::npos);
  CHECK(error_of("(a").find("( without )") != std::string::npos);
  CHECK(error_of("a)").find(") without (") != std::string::npos);
  CHECK(error_of("[a").find("[ without ]") != std::string::npos);
  CHECK(error_of("*a").find("repetition without an operand") != std::string::npos);
  CHECK(error_of("[z-a]").find("reversed") != std::string::npos);
  CHECK(error_of("\\p{Nothing}").find("unknown Unicode property") != std::string::npos);
  CHECK(error_of("[a&&b]").find("operation on sets") != std::string::npos);
  CHECK(error_of("\xff").find("not valid UTF-8") != std::string::npos);
  CHECK(error_of("é(?:(?:ab?){1,300}[^b]){300}é").find("too large") != std::string::npos);
  CHECK(error_of(std::string(8193, 'a')).find("longer than 8 KiB") != std::string::npos);
  CHECK(error_of(std::string(500, '(')).find("nested too deep") != std::string::npos);
  CHECK_THROWS_AS(match_set({{.name = "a", .pattern = "x"}, {.name = "a", .pattern = "y"}}, false), usage_error);
}

TEST_CASE("expressions are typed as NAME=REGEX, in files one in a line") {
  CHECK(parse_match("a.b-c_1=x=y") == match_expression{.name = "a.b-c_1", .pattern = "x=y"});
  CHECK(parse_match("a=").pattern.empty());
  CHECK_THROWS_AS(parse_match("x"), usage_error);
  CHECK_THROWS_AS(parse_match("=x"), usage_error);
  CHECK_THROWS_AS(parse_match("a b=x"), usage_error);
  const auto all = parse_match_file("# names\n\na=1\r\n \t\nb= 2 ", "f");
  CHECK(all == std::vector<match_expression>{{.name = "a", .pattern = "1"}, {.name = "b", .pattern = " 2 "}});
  CHECK_THROWS_WITH_AS(parse_match_file("a=1\nb\n", "f"), "f:2: \"b\" has no name; write NAME=REGEX", usage_error);
}

TEST_CASE("any text is an expression or is refused") {
  std::mt19937 random(99);
  const std::string pieces = "ab()[]{}|*+?.^$\\-,:=!<>1dwsbpPLix&~\x01\xc3\xa9";
  const texts lines = {"ab", "", "aé\xff", std::string(3, '\0')};
  std::size_t accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string pattern(1 + random() % 10, ' ');
    for (char& c : pattern) c = pieces[random() % pieces.size()];
    try {
      accepted += found(pattern, lines).size() == 4 ? 1U : 0U;
    } catch (const usage_error&) {
      continue;
    }
  }
  CHECK(accepted > 100);
}
