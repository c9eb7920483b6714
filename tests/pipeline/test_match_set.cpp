// Which expressions match in each line: tables, and a comparison with RE2 for one expression and one line at a time.
#include "report/lines/match_set.hpp"

#include "config/usage_error.hpp"

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using gpuhist::config::usage_error;
using gpuhist::report::lines::match_expression;
using gpuhist::report::lines::match_reader;
using gpuhist::report::lines::match_set;
using gpuhist::report::lines::parse_match;
using gpuhist::report::lines::parse_match_file;

using texts = std::vector<std::string>;
using generator = std::mt19937;

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

// What lines are made of: parts of the expressions below, in both cases and cut; letters that are cases of k and s;
// bytes that are not UTF-8.
const texts units = {"a",           "b",
                     "ab",          "foo",
                     "FOO",         "Fo",
                     "failed",      "faile",
                     "d",           "user=",
                     "USER=",       "user",
                     "=",           "ann",
                     "timeout",     "TimeOut",
                     "outtime",     "panic:",
                     "kiss",        "Kiss",
                     "\u212aiss",   "ki\u017f\u017f",
                     "KI\u017fS",   "task",
                     "ta\u017fk",   "\u017f",
                     "\u212a",      "s",
                     "k",           "S",
                     "1",           "12",
                     "123",         " ",
                     " ",           "  ",
                     "-",           ",",
                     "'",           "(",
                     ")",           ".",
                     "\r",          "\t",
                     "_",           "é",
                     "É",           "café",
                     "CAFÉ",        "ß",
                     "ẞ",           "α",
                     "Σ",           "ς",
                     "😀",          "٣",
                     "\u00a0",      "\u2028",
                     "e\u0301",     "\x0b",
                     "@foo",        "`foo",
                     "[b",          "{b",
                     "\xff",        "\x80",
                     "\xc3",        "\xe2\x82",
                     "\xe2\x84",    "\xc5",
                     "\xf0\x9f\x98"};

/// Short lines, empty ones, and some that are longer than a vector of the processor.
std::string random_line(generator& numbers) {
  std::string line;
  if (numbers() % 4 == 0) line.assign(numbers() % 140, '.');
  const std::size_t count = numbers() % 8 == 0 ? numbers() % 90 : numbers() % 7;
  for (std::size_t i = 0; i < count; ++i) line += units[numbers() % units.size()];
  if (numbers() % 20 == 0) line.insert(numbers() % (line.size() + 1), 1, '\0');
  return line;
}

/// 1 to 300 lines. With the delimiter NUL they have line feeds, and no NUL.
texts random_lines(generator& numbers, char delimiter) {
  texts lines(numbers() % 3 == 0 ? 1 + numbers() % 3 : 1 + numbers() % 300);
  for (std::string& each : lines) {
    each = random_line(numbers);
    if (delimiter == '\0') std::ranges::replace(each, delimiter, '\n');
  }
  return lines;
}

/// Another way to the same bits: no filter, no batch, no automaton for several expressions.
class oracle {
 public:
  oracle(const std::string& pattern, bool ignore_case) : expression_(pattern, options(ignore_case)) {
    REQUIRE_MESSAGE(expression_.ok(), pattern);
  }

  [[nodiscard]] bool matches(const std::string& line) const { return RE2::PartialMatch(line, expression_); }

 private:
  static RE2::Options options(bool ignore_case) {
    RE2::Options made(RE2::Quiet);
    made.set_case_sensitive(!ignore_case);
    return made;
  }

  RE2 expression_;
};

/// Compares the matches of all patterns in random lines.
void compare(const texts& patterns, bool ignore_case, std::uint32_t seed, std::size_t batches) {
  generator numbers(seed);
  const match_set set(numbered(patterns), ignore_case);
  match_reader reader(set);
  std::vector<std::unique_ptr<oracle>> expected;
  for (const std::string& each : patterns) expected.push_back(std::make_unique<oracle>(each, ignore_case));
  for (std::size_t b = 0; b < batches; ++b) {
    const char delimiter = b % 3 == 2 ? '\0' : '\n';
    const texts lines = random_lines(numbers, delimiter);
    const auto bits = matched(reader, patterns.size(), lines, delimiter, b % 2 == 1);
    for (std::size_t e = 0; e < patterns.size(); ++e) {
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < lines.size(); ++i) wrong += bits[i][e] != expected[e]->matches(lines[i]) ? 1U : 0U;
      CHECK_MESSAGE(wrong == 0, patterns[e], ": ", wrong, " of ", lines.size(), " lines, seed ", seed);
    }
  }
}

/// An expression with strings from the lines, so that it has needles.
std::string random_pattern(generator& numbers) {
  const texts literals = {"foo",       "failed",       "user=",  "timeout",     "panic:",    "kiss",         "task",
                          "café",      "ann",          "out",    "ss",          "k\\x{17f}", "\\x{212a}iss", "ki[sſ]s",
                          "\\.",       "fa(?:il|r)ed", "[ft]oo", "tim(e|é)out", "a\\nf",     "o\\nfoo",      "É",
                          "ta(?i:sk)", "ab",           "12",     "o\n",         "\nfa",      "d\nu"};
  const texts others = {".*",   "\\w+", " ",      "\\d",  "[a-k]?", "\\b", ".",
                        "(?i)", "\\S*", "(?s:.)", "\\pL", "\\C",    "[^a]"};
  std::string pattern;
  const std::size_t count = 1 + numbers() % 4;
  for (std::size_t i = 0; i < count; ++i) {
    const texts& from = numbers() % 3 == 0 ? others : literals;
    const std::string& part = from[numbers() % from.size()];
    pattern += numbers() % 6 == 0 ? "(?:" + part + "|" + literals[numbers() % literals.size()] + ")" : part;
    if (numbers() % 10 == 0) pattern += "|";
  }
  if (numbers() % 10 == 0) pattern = "^(?:" + pattern + ")";
  if (numbers() % 10 == 0) pattern = "(?:" + pattern + ")$";
  return pattern;
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
  CHECK(found("\\W", lines) == "000101010");
  CHECK(found("\\w$", lines) == "011110100");
  CHECK(found("\\bb", lines) == "000110000");
  CHECK(found("\\Bb", lines) == "001000000");
  CHECK(found("\\B", lines) == "101011011");
  CHECK(found("a\\n", lines) == "000000000");
  CHECK(found("\\xe9", lines) == "000001000");
  CHECK(found("(?i)É", lines) == "000001000");
  CHECK(found("A", lines, '\n', true) == "011110010");
  CHECK(found("x{0}a", lines) == "011110010");
}

TEST_CASE("word boundaries are those of ASCII") {
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
  CHECK(found("\\bfoo\\b", lines) == "111111111");
  CHECK(found("\\Bfoo", lines) == "000000000");
  CHECK(found("(\\bfoo|é\\b)$", lines) == "110001010");
}

TEST_CASE("the case is ignored as Unicode defines it") {
  const texts lines = {"k", "K", "\u212a", "s", "ſ", "S", "ß", "ẞ", "Σ", "ς"};
  CHECK(found("(?i)k", lines) == "1110000000");
  CHECK(found("(?i)ſ", lines) == "0001110000");
  CHECK(found("(?i)[^s]", lines) == "1110001111");
  CHECK(found("(?i)ß", lines) == "0000001100");
  CHECK(found("(?i:σ)", lines) == "0000000011");
}

TEST_CASE("lines match as RE2 finds it, for sets and for one expression") {
  const texts table = {"a",
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
                       "(?:[^a]b){2}",
                       "\\b",
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
                       "\\b\\B"};
  compare(table, false, 1, 12);
  compare(table, true, 2, 6);
  for (std::size_t e = 0; e < table.size(); ++e) {
    compare({table[e]}, e % 3 == 0, static_cast<std::uint32_t>(e), 6);
    const std::size_t other = e * 7 % table.size();
    compare({table[other], table[e], table[e / 2]}, false, static_cast<std::uint32_t>(e), 3);
  }
}

TEST_CASE("the filter loses no match of expressions that have strings") {
  generator numbers(17);
  for (std::uint32_t i = 0; i < 400; ++i) {
    texts patterns(i % 10 == 0 ? 1 + numbers() % 200 : 1 + numbers() % 4);
    for (std::string& each : patterns) each = random_pattern(numbers);
    compare(patterns, i % 4 == 3, i, i % 10 == 0 ? 4 : 3);
  }
}

TEST_CASE("lines are searched for the longest strings without which an expression cannot match") {
  const auto needles = [](const std::string& pattern, bool ignore_case = false) {
    const match_set set(numbered({pattern}), ignore_case);
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < set.needles().size(); ++i) sizes.push_back(set.needles()[i].size());
    CHECK(set.without_needles().empty() == !sizes.empty());
    std::ranges::sort(sizes);
    return sizes;
  };
  using sizes = std::vector<std::size_t>;
  CHECK(needles("user=\\w+ .*failed") == sizes{5, 6});  // both are searched
  CHECK(needles("(?:time|outage).*(?:card|failed)") == sizes{4, 4, 6, 6});
  CHECK(needles("failed|timeout") == sizes{6, 7});
  CHECK(needles("(?:ab|cde).*timeout") == sizes{7});
  CHECK(needles("(?:time|outage).*ab") == sizes{4, 6});
  CHECK(needles("(?i)asking") == sizes{3});  // "ing"
  CHECK(needles("asking", true) == sizes{3});
  CHECK(needles("(?P<i>asking)") == sizes{6});
  CHECK(needles("caféteria$") == sizes{5});
  CHECK(needles("caféteria") == sizes{10});  // a string is searched as it is
  CHECK(needles("failed|x").empty());
  CHECK(needles("\\d{3}$").empty());
  CHECK(needles("").empty());
}

TEST_CASE("an expression without operators is a string, also with escapes and (?i)") {
  const auto string_of = [](const std::string& pattern, bool ignore_case = false) {
    return match_set({{.name = "e", .pattern = pattern}}, ignore_case).string_of(0);
  };
  using string = gpuhist::gpu::cuda::units::searched_string;
  CHECK(string_of("connection reset") == string{.text = "connection reset"});
  CHECK(string_of(R"(a\.b\[0\]\\-)") == string{.text = R"(a.b[0]\-)"});
  CHECK(string_of("(?i)Error") == string{.text = "Error", .ignores_case = true});
  CHECK(string_of("Error", true) == string{.text = "Error", .ignores_case = true});
  CHECK(string_of("\xc3\xa4") == string{.text = "\xc3\xa4"});
  for (const char* const pattern : {"", "(?i)", "a.b", "^a", "a$", "a|b", "[ab]", "(a)", "a*", "a?", "a+", "a{2}",
                                    R"(\d)", R"(\bERROR)", R"(\x41)", "(?s)a", "(?i:a)", "(?i)\xc3\xa4"}) {
    CAPTURE(pattern);
    CHECK_FALSE(string_of(pattern).has_value());
  }
  CHECK_FALSE(string_of("\xc3\xa4", true).has_value());
  CHECK(match_set(numbered({"a", "b"}), false).strings().size() == 2);
  CHECK(match_set(numbered({"a", "b."}), false).strings().empty());
}

TEST_CASE("letters of other alphabets are cases of k and s") {
  const texts lines = {"kiss", "KISS", "\u212aiss", "ki\u017f\u017f", "\u212aI\u017fS", "ki\u017f", "kit"};
  CHECK(found("kiss", lines) == "1000000");
  CHECK(found("kiss", lines, '\n', true) == "1111100");
  CHECK(found("(?i)kiss", lines) == "1111100");
  CHECK(found("k(?i:iss)", lines) == "1001000");
  CHECK(found("(?m-s:kis)(?si)S", lines) == "1000000");
  CHECK(found("\\x{212a}iss", lines) == "0010000");
  CHECK(found("[k\u212a]iss", lines) == "1010000");
  CHECK(found("ki[^a-rt-z\\pN\\pZ]s", lines) == "1000000");
  CHECK(found("ki(s|\u017f)+$", lines) == "1001010");
}

TEST_CASE("a string that crosses the end of a line is in no line") {
  const texts lines = {"fai", "led", "failed", "xfail", "ed", "fail\xff", "ed failed"};
  CHECK(found("failed", lines) == "0010001");
  CHECK(found("fail\\ned", lines) == "0000000");
  CHECK(found("fail[\\n\\x00]ed", lines, '\0') == "0000000");
  CHECK(found("fail\\ned", {"fail\ned", "fail", "ed"}, '\0') == "100");
  CHECK(found("failed|x", lines) == "0011001");
}

TEST_CASE("no match is lost at any offset of a line or batch") {
  struct match {
    std::string pattern;
    std::string text;
  };
  const std::array<match, 8> cases = {match{"\\w$", "x"},
                                      match{"'[^']*'", "''"},
                                      match{"\\([0-9]", "(1"},
                                      match{"[\\r ]$", "\r"},
                                      match{"[^-a]$", "d"},
                                      match{"\\s\\d+\\s", " 12 "},
                                      match{"(?i)failed", "FaileD"},
                                      match{"ab|time.*out", "time - out"}};
  for (const match& each : cases) {
    const match_set set(numbered({each.pattern}), false);
    match_reader reader(set);
    for (std::size_t before = 0; before < 200; ++before) {
      const std::string line = std::string(before, '-') + each.text;
      const auto bits = matched(reader, 1, {line, "", std::string(before, '-'), line});
      CHECK_MESSAGE((bits[0][0] && bits[3][0] && !bits[1][0] && !bits[2][0]), each.pattern, " after ", before);
    }
  }
}

TEST_CASE("expressions that share needles, and expressions without them, are found in one set of 200") {
  texts patterns;
  for (int i = 0; i < 200; ++i)
    patterns.push_back(i % 20 == 7 ? "^.{" + std::to_string(i) + "}$" : "failed" + std::to_string(i % 90));
  const match_set set(numbered(patterns), false);
  match_reader reader(set);
  const auto bits = matched(reader, 200, {"failed89", std::string(87, 'a'), "failed7"});
  for (std::size_t e = 0; e < 200; ++e) {
    const bool has_length = e % 20 == 7;
    CHECK(bits[0][e] == (!has_length && (e % 90 == 89 || e % 90 == 8)));
    CHECK(bits[1][e] == (e == 87));
    CHECK(bits[2][e] == (e == 7 || e == 97));
  }
}

TEST_CASE("readers of one set work at the same time") {
  const texts patterns = {"failed", "\\d\\d", "[a-c]+$", "\\pL{3}", "(?i)user=\\w+"};
  const match_set set(numbered(patterns), false);
  generator numbers(5);
  const texts lines = random_lines(numbers, '\n');
  match_reader one(set);
  const auto expected = matched(one, patterns.size(), lines);
  std::array<int, 4> equal{};
  {
    std::vector<std::jthread> threads;
    for (int& each : equal) {
      threads.emplace_back([&] {
        match_reader reader(set);
        for (int i = 0; i < 20; ++i) each += matched(reader, patterns.size(), lines) == expected ? 1 : 0;
      });
    }
  }
  CHECK(equal == std::array<int, 4>{20, 20, 20, 20});
}

TEST_CASE("automata that outgrow their memory find the same matches") {
  const texts patterns = {"[ab]*a[ab]{40}c", "[ab]*b[ab]{41}c", "[ab]*a[ab]{42}c", "(?:[ab]*a[ab]{39}){2}"};
  generator numbers(3);
  texts lines(8);
  for (std::string& each : lines) {
    for (int i = 0; i < 20000; ++i) each += numbers() % 2 == 0 ? 'a' : 'b';
    if (&each != &lines[2]) each += 'c';
  }
  const match_set set(numbered(patterns), false);
  match_reader reader(set);
  const auto bits = matched(reader, patterns.size(), lines);
  for (std::size_t e = 0; e < patterns.size(); ++e) {
    const oracle expected(patterns[e], false);
    for (std::size_t i = 0; i < lines.size(); ++i) CHECK(bits[i][e] == expected.matches(lines[i]));
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
  CHECK(error_of("ab(?=c)") == "the expression of \"e\" has look-ahead, which is not supported\n    ab(?=c)\n      ^");
  CHECK(error_of("é(?!c)").find("has look-ahead, which is not supported\n    é(?!c)\n     ^") != std::string::npos);
  CHECK(error_of("(?<!c)a").find("has look-behind") != std::string::npos);
  CHECK(error_of("(?<=c)a").find("has look-behind") != std::string::npos);
  CHECK(error_of("(?<n>c)").find("write (?P<name>...)\n    (?<n>c)\n    ^") != std::string::npos);
  CHECK(error_of("(a)\\1").find("has a back-reference, which is not supported\n    (a)\\1\n       ^") !=
        std::string::npos);
  CHECK(error_of("(?>a)").find("has an atomic group") != std::string::npos);
  CHECK(error_of("x(?x)a").find("has the flag x") != std::string::npos);
  CHECK(error_of("(a").find("is not valid: missing ): (a\n    (a\n    ^") != std::string::npos);
  CHECK(error_of("a)").find("unexpected )") != std::string::npos);
  CHECK(error_of("b[a").find("missing ]: [a\n    b[a\n     ^") != std::string::npos);
  CHECK(error_of("*a").find("no argument for repetition operator") != std::string::npos);
  CHECK(error_of("[z-a]").find("invalid character class range") != std::string::npos);
  CHECK(error_of("\\p{Nothing}").find("\\p{Nothing}") != std::string::npos);
  CHECK(error_of("\\Z").find("invalid escape sequence") != std::string::npos);
  CHECK(error_of("\xff").find("not valid UTF-8") != std::string::npos);
  CHECK(error_of("a\\").find("trailing \\") != std::string::npos);
  CHECK(error_of("a{1001}").find("repeats more than 1,000 times") != std::string::npos);
  CHECK(error_of("(?:\\pL{900}|\\PL{900})\\d").find("too large") != std::string::npos);
  CHECK(error_of(std::string(8193, 'a')).find("longer than 8 KiB") != std::string::npos);
  CHECK_THROWS_AS(match_set({{.name = "a", .pattern = "x"}, {.name = "a", .pattern = "y"}}, false), usage_error);
  CHECK_THROWS_AS(match_set(std::vector<match_expression>(4097), false), usage_error);
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
  const std::string pieces = "abks()[]{}|*+?.^$\\-,:=!<>1dwsbpPLix&~\x01\xc3\xa9";
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
