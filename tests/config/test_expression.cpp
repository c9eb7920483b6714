// Conditions as text: the steps they are parsed into, names with and without quotes, the position in error messages,
// and that no text makes the parser crash.
#include "config/expression.hpp"
#include "config/scheme.hpp"
#include "config/usage_error.hpp"
#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist::config;
using gpuhist::test::usage_error_of;
using operation = expression::operation;

namespace {

/// The steps as text: "digit 0.15 > entropy 7.5 > bytes 4096 > && ||".
std::string steps_of(const expression& parsed) {
  constexpr std::array<std::string_view, 16> symbols = {"",   "",  "neg", "*",  "/",  "+",   "-",  "<",
                                                        "<=", ">", ">=",  "==", "!=", "not", "&&", "||"};
  std::ostringstream out;
  for (const expression::step& each : parsed.steps) {
    if (&each != parsed.steps.data()) out << ' ';
    if (each.what == operation::constant) {
      out << each.constant;
    } else if (each.what == operation::name) {
      const reference& name = parsed.references.at(each.reference);
      const std::array<std::string_view, 9> forms = {
          "", "count:", "share:", "match:", "number:", "text:", "sum:", "mean:", "quantile:"};
      out << forms.at(static_cast<std::size_t>(name.as)) << name.parts.front();
      if (name.parts.size() == 2) out << '/' << name.parts.back();
    } else {
      out << symbols.at(static_cast<std::size_t>(each.what));
    }
  }
  return out.str();
}

std::string steps_of(std::string_view text, std::span<const scheme> schemes = {}) {
  return steps_of(parse_expression(text, schemes));
}

std::string error_of(std::string_view text) {
  return usage_error_of([&] { parse_expression(text); });
}

/// The column of the caret below the text; -1: there is none.
int caret_of(std::string_view text) {
  std::istringstream lines(error_of(text));
  std::string line;
  for (int number = 0; std::getline(lines, line); ++number) {
    if (number == 2) return static_cast<int>(line.find('^')) - 4;
  }
  return -1;
}

struct row {
  std::string_view text;
  std::string_view steps;
};

}  // namespace

TEST_CASE("operators bind as in C: || && comparisons + * !, and operators of one kind associate to the left") {
  for (const row& each :
       {row{"digit > 0.15 || entropy > 7.5 && bytes > 4096", "digit 0.15 > entropy 7.5 > bytes 4096 > && ||"},
        row{"a < 1 && b < 2 || c < 3", "a 1 < b 2 < && c 3 < ||"}, row{"a - b - c == 0", "a b - c - 0 =="},
        row{"a - (b - c) == 0", "a b c - - 0 =="}, row{"a / b / c != 1", "a b / c / 1 !="},
        row{"a + b * c >= d", "a b c * + d >="}, row{"(a + b) * c <= d", "a b + c * d <="},
        row{"!(a < 1) && b > 2", "a 1 < not b 2 > &&"}, row{"!!(a < 1)", "a 1 < not not"},
        row{"-a < --b", "a neg b neg neg <"}, row{"-a * -b > 0", "a neg b neg * 0 >"},
        row{"((((a)))) > ((1))", "a 1 >"}, row{"a>1||b>1||c>1", "a 1 > b 1 > || c 1 > ||"}}) {
    CAPTURE(each.text);
    CHECK(steps_of(each.text) == each.steps);
  }
}

TEST_CASE("numbers are decimal, with exponents, or sizes") {
  for (const row& each : {row{"a > 0.05", "a 0.05 >"}, row{"a > .5", "a 0.5 >"}, row{"a > 2e-3", "a 0.002 >"},
                          row{"a > 1E+2", "a 100 >"}, row{"a > 64KiB", "a 65536 >"}, row{"a > 64k", "a 65536 >"},
                          row{"a > 1kB-1", "a 1000 1 - >"}, row{"a > 3-2", "a 3 2 - >"}}) {
    CAPTURE(each.text);
    CHECK(steps_of(each.text) == each.steps);
  }
}

TEST_CASE("names are words, with two parts if there is a dot, and other names are quoted") {
  for (const row& each :
       {row{"classes.digit > 0", "classes/digit 0 >"}, row{"count(digit) > 5", "count:digit 5 >"},
        row{"share( classes.digit ) > 0", "share:classes/digit 0 >"}, row{"\"non-ascii\" > 0", "non-ascii 0 >"},
        row{"classes.'non-ascii' > 0", "classes/non-ascii 0 >"}, row{R"("a\"b\\" > 0)", "a\"b\\ 0 >"},
        row{"bytes.0x41 > 0", "bytes/0x41 0 >"}, row{"\"a.b\" > 0", "a.b 0 >"}, row{"count > 0", "count 0 >"},
        row{"\"größe\" > 0", "größe 0 >"}, row{"größe > 0", "größe 0 >"}}) {
    CAPTURE(each.text);
    CHECK(steps_of(each.text) == each.steps);
  }
}

TEST_CASE("a known name needs no quotes: the longest name of a bucket at this position wins over a subtraction") {
  const auto schemes_of = [](std::string_view typed) { return make_schemes({std::string(typed)}, false); };
  struct known_row {
    std::string_view scheme;
    std::string_view text;
    std::string_view steps;
  };
  constexpr std::string_view pieces = "a=a;d=d;a-d=A-D;a-d-e=E;non ascii=\\x80-\\xff";
  constexpr std::string_view cases = "lower=a-z;upper=A-Z";
  for (const known_row& each :
       {known_row{"letters", "a-d > 0.5", "a-d 0.5 >"},
        known_row{"letters", "a-d-e-h > 0", "a-d e-h - 0 >"},
        known_row{"letters", "letters.a-d > 0", "letters/a-d 0 >"},
        known_row{"letters", "count(a-d)-1 > 0", "count:a-d 1 - 0 >"},
        known_row{"letters", "-a-d < 0", "a-d neg 0 <"},
        known_row{"letters", "a - d > 0", "a d - 0 >"},
        known_row{"letters", "a -d > 0", "a d - 0 >"},
        known_row{"letters", "a-d2 > 0", "a d2 - 0 >"},
        known_row{"letters", "xa-d > 0", "xa d - 0 >"},
        known_row{"letters", "'a'-d > 0", "a d - 0 >"},
        known_row{"classes", "non-ascii > 0.1", "non-ascii 0.1 >"},
        known_row{"classes", "classes.non-ascii > 0.1", "classes/non-ascii 0.1 >"},
        known_row{"classes", "bytes-lines > 0", "bytes lines - 0 >"},
        known_row{"classes", "a-d > 0.5", "a d - 0.5 >"},
        known_row{cases, "lower-upper > 0", "lower upper - 0 >"},
        known_row{pieces, "a-d > 0", "a-d 0 >"},
        known_row{pieces, "a-d-e > 0", "a-d-e 0 >"},
        known_row{pieces, "a-d-d > 0", "a-d d - 0 >"},
        known_row{pieces, "non ascii > 0", "non ascii 0 >"},
        known_row{pieces, "custom.non ascii > 0", "custom/non ascii 0 >"},
        known_row{pieces, "share( non ascii ) > 0", "share:non ascii 0 >"},
        known_row{"two words:x y=a;1=b", "two words.x y > two words.1", "two words/x y two words/1 >"},
        known_row{"two-words:x-y=a", "two-words.'x-y' > 0", "two-words/x-y 0 >"},
        known_row{"1=a;a=b", "a > 1", "a 1 >"}}) {
    CAPTURE(each.text);
    CHECK(steps_of(each.text, schemes_of(each.scheme)) == each.steps);
  }
}

TEST_CASE("a match is a number of 1 or 0, and alone a condition: that it is above 0") {
  CHECK(steps_of("match(error)") == "match:error 0 >");
  CHECK(steps_of("match(\"a-b.c\") > 1") == "match:a-b.c 1 >");
  CHECK(steps_of("!match(a) && match(b)") == "match:a 0 > not match:b 0 > &&");
  CHECK(steps_of("match(a) || digit > 0 && match(b)") == "match:a 0 > digit 0 > match:b 0 > && ||");
  CHECK(steps_of("match(a) / lines > 0.5 && match(a)") == "match:a lines / 0.5 > match:a 0 > &&");
  CHECK(steps_of("(match(a)) || a > 0") == "match:a 0 > a 0 > ||");
  CHECK(steps_of(parse_formula("match(a) + match(b)")) == "match:a match:b +");
  CHECK(error_of("match(a) + match(b)").find("this is a number, not a condition") != std::string::npos);
  CHECK(error_of("digit && match(a)").find("joins conditions") != std::string::npos);
}

TEST_CASE("a number is read by a selector in quotes, in which a backslash before other characters is kept") {
  CHECK(steps_of(R"x(number("regex:took (\d+)") > 5)x") == R"x(number:regex:took (\d+) 5 >)x");
  CHECK(steps_of(R"x(number('json:/a "b"') > 5)x") == R"x(number:json:/a "b" 5 >)x");
  CHECK(steps_of(R"x(number("a\"b\\c") > 5)x") == R"x(number:a"b\c 5 >)x");
}

TEST_CASE("the operand of a sum, mean or quantile is the text up to its parenthesis; the percent is in its name") {
  CHECK(steps_of("line_share(a <= (1 + b)) > 0.5") == "text:a <= (1 + b) 0.5 >");
  CHECK(steps_of(R"x(contains("a)", 'b') && !contains( "c" ))x") == R"x(text:"a)", 'b' 0 > text:"c" 0 > not &&)x");
  CHECK(steps_of("p99(bytes) > 4096") == "quantile:bytes 4096 >");
  CHECK(steps_of("sum((words) * 2) > mean(bytes) + sum") == "sum:(words) * 2 mean:bytes sum + >");
  CHECK(steps_of("2 * p99.9( bytes - (words + 1) ) < p5(1) || digit > 0") ==
        "2 quantile:bytes - (words + 1) * quantile:1 < digit 0 > ||");
  CHECK(steps_of(R"x(p50(number("regex:\) (\d+)")) > 1)x") == R"x(quantile:number("regex:\) (\d+)") 1 >)x");
  const expression parsed = parse_expression("p1(a) > p99.9(b) && p100(c) > 0 && p99 > 0");
  CHECK(parsed.references[0].percent == 1);
  CHECK(parsed.references[1].percent == 99.9);
  CHECK(parsed.references[1].typed == "p99.9(b)");
  CHECK(parsed.references[1].at == 8);
  CHECK(parsed.references[2].percent == 100);
  CHECK(parsed.references[3].as == reference::form::plain);
}

TEST_CASE("a former name of a bucket needs no quotes either") {
  const std::vector<scheme> utf8 = {find_scheme("utf8")};
  CHECK(steps_of("never-utf8 > 0", utf8) == "never-utf8 0 >");
  CHECK(steps_of("utf8.never-utf8-lead-4 > 0", utf8) == "utf8/never-utf8 lead-4 - 0 >");
  CHECK(steps_of("count(utf8.invalid) > 0", utf8) == "count:utf8/invalid 0 >");
  const std::vector<scheme> renamed = {{"s", {"new"}, {}, {{"old-name", 0}}}};
  CHECK(steps_of("old-name > 0", renamed) == "old-name 0 >");
  CHECK(steps_of("s.old-name > 0", renamed) == "s/old-name 0 >");
}

TEST_CASE("an error shows how a name is quoted") {
  CHECK(error_of("non ascii > 0.1").starts_with("an operator is missing here "));
  CHECK(error_of("non ascii > 0.1").find("must be quoted, as in \"a b\"\n") != std::string::npos);
  CHECK(error_of("a#b > 1").find("quote the name of a bucket that contains it, as in \"a#b\"\n") != std::string::npos);
  CHECK(error_of("2x > 1").find("is quoted: \"2x\"\n") != std::string::npos);
}

TEST_CASE("one of several conditions is their text with || between them, also if that is longer than one may be") {
  const std::vector<std::string> texts = {"bytes > 1 && digit < 2 || entropy > 3", "match(error)",
                                          "p99(bytes) > -(a + b)", "! (\"x y\" == 2)", "count(digit) / bytes > 0.5"};
  for (std::size_t number = 1; number <= texts.size(); ++number) {
    std::vector<expression> conditions;
    std::string text;
    for (std::size_t i = 0; i < number; ++i) {
      conditions.push_back(parse_expression(texts[i]));
      text += (i == 0 ? "" : " || ") + texts[i];
    }
    CHECK(any_of(conditions) == parse_expression(text));
  }
  const std::vector<expression> many(40, parse_expression("bytes > " + std::string(3000, ' ') + "1"));
  const expression all = any_of(many);
  CHECK(all.text.size() > 40 * 3000);
  CHECK(all.references.size() == 40);
  CHECK(all.references.back().at == all.text.size() - many.front().text.size());
}

TEST_CASE("the operators are listed by how tightly they bind") {
  CHECK(operator_levels() == std::vector<std::string>{"! -", "* /", "+ -", "< <= > >= == !=", "&&", "||"});
}

TEST_CASE("a reference holds its text and its offset") {
  const expression made = parse_expression("1 < count( \"a b\" ) && bytes.'c' > 0 || x > 1");
  REQUIRE(made.references.size() == 3);
  CHECK(made.references[0].typed == "count( \"a b\" )");
  CHECK(made.references[0].at == 4);
  CHECK(made.references[1].typed == "bytes.'c'");
  CHECK(made.references[2].typed == "x");
  CHECK(made.text.substr(made.references[2].at, 1) == "x");
}

TEST_CASE("an error shows the text, and a caret below the character that it is about") {
  struct error_row {
    std::string_view text;
    int caret;
    std::string_view message;
  };
  for (const error_row& each : {error_row{"", 0, "a number, a name or a parenthesis is missing"},
                                error_row{"   ", 3, "is missing"},
                                error_row{"digit >", 7, "a number, a name or a parenthesis is missing"},
                                error_row{"digit > )", 8, "a number, a name or a parenthesis is missing"},
                                error_row{"digit 0.15", 6, "an operator is missing"},
                                error_row{"(a > 1", 0, "not closed"},
                                error_row{"a > 1)", 5, "no opening one"},
                                error_row{"a > (1 + 2", 4, "not closed"},
                                error_row{"a = 1", 2, "give =="},
                                error_row{"a > 1 & b > 1", 6, "give &&"},
                                error_row{"a > 1 | b > 1", 6, "give ||"},
                                error_row{"a > 1 # b", 6, "no meaning"},
                                error_row{"a > 12xyz", 4, "neither a number nor a size"},
                                error_row{"a > 1.2.3", 4, "neither a number nor a size"},
                                error_row{"a > 0x10", 4, "neither a number nor a size"},
                                error_row{"a > 1e999", 4, "neither a number nor a size"},
                                error_row{"a > \"b", 4, "quote that closes the name is missing"},
                                error_row{"a > ''", 4, "name is empty"},
                                error_row{"classes. > 0", 8, "name of a bucket is missing"},
                                error_row{"digit", 0, "this is a number"},
                                error_row{"1 + digit", 0, "this is a number"},
                                error_row{"a < b < c", 6, "takes numbers"},
                                error_row{"(a < b) + 1 > 0", 8, "takes numbers"},
                                error_row{"-(a < b)", 0, "takes numbers"},
                                error_row{"!a > 1", 0, "joins conditions"},
                                error_row{"a && b > 1", 2, "joins conditions"},
                                error_row{"a > 1 || b", 6, "joins conditions"},
                                error_row{"sin(a) > 1", 0, "there is no function"},
                                error_row{"count(1) > 1", 6, "name of a bucket is missing"},
                                error_row{"count(a + b) > 1", 8, ") is missing"},
                                error_row{"count(a", 7, ") is missing"},
                                error_row{"match(1)", 6, "name of a --match is missing"},
                                error_row{"match(a.b)", 6, "a name with a dot is quoted here"},
                                error_row{"number(a + b) > 1", 9, ") is missing"},
                                error_row{"p99(a", 3, "this parenthesis is not closed"},
                                error_row{"1 < p99(a * (b)", 7, "this parenthesis is not closed"},
                                error_row{"p99( ) > 1", 5, "a formula of units is missing"},
                                error_row{"p0(a) > 1", 0, "above 0 and at most 100"},
                                error_row{"line_share(a", 10, "this parenthesis is not closed"},
                                error_row{"line_shre(a) > 1", 0, "did you mean line_share?"},
                                error_row{"duplicate_lines(a) > 1", 0, "this is typed as duplicate_lines"},
                                error_row{"line_share() > 1", 11, "the operand is missing"},
                                error_row{"line_share(a > 1)", 0, "this is a number"},
                                error_row{"p100.1(a) > 1", 0, "above 0 and at most 100"},
                                error_row{"p9x(a) > 1", 0, "there is no function \"p9x\""},
                                error_row{"a > 1 b", 6, "an operator is missing"},
                                error_row{"größe > > 1", 8, "is missing"}}) {
    CAPTURE(each.text);
    const std::string error = error_of(each.text);
    CAPTURE(error);
    CHECK(caret_of(each.text) == each.caret);
    CHECK(error.find(each.message) != std::string::npos);
  }
}

TEST_CASE("characters that cannot be printed are escaped in an error, and the caret is still below the right one") {
  const std::string error = error_of("\"\x1b[2J\" > > 1");
  CHECK(error.find('\x1b') == std::string::npos);
  CHECK(error.ends_with("\n    \"\\x1b[2J\" > > 1\n                ^"));
}

TEST_CASE("depth and length have limits") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')') + " > 1";
  };
  CHECK(error_of(nested(64)) == "(no error)");
  CHECK(error_of(nested(65)).find("nested too deep") != std::string::npos);
  CHECK(caret_of(nested(65)) == 64);
  CHECK(error_of(std::string(100, '!') + "(a > 1)").find("nested too deep") != std::string::npos);
  std::string chain = "a > 0";
  while (chain.size() < 4080) chain += " || a > 0";
  CHECK(error_of(chain) == "(no error)");
  CHECK(error_of(chain + std::string(100, ' ')).find("4096 bytes") != std::string::npos);
  CHECK(error_of(std::string(1000000, '(')).find("4096 bytes") != std::string::npos);
}

TEST_CASE("any text is a condition or an error, and a condition leaves one value on the stack") {
  const std::vector<std::string> tokens = {
      "||", "&&", "<",     "<=",     ">",      ">=",       "==",    "!=", "!",  "+",       "-",    "*",     "/",
      "(",  ")",  "digit", "count(", "share(", "classes.", "'x y'", "\"", "'",  "1",       "0.5",  "64KiB", "1e",
      ".",  "=",  "&",     "|",      " ",      "\\",       "\xff",  "ö",  "\n", "entropy", "1e-3", "0x41"};
  const std::vector<std::string> valid = {"digit > 0.15 || entropy > 7.5 && bytes > 4096",
                                          "!(count('a b') * 2 >= 64KiB - classes.digit) || -x <= 1e-3"};
  const std::vector<scheme> schemes = make_schemes({"letters", "digit y=0-9;a b=ab;1=c"}, false);
  std::mt19937 chosen(5);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(chosen);
  };
  std::size_t accepted = 0;
  const auto check = [&](const std::string& text) {
    expression made;
    try {
      made = parse_expression(text, schemes);
    } catch (const usage_error& error) {
      const std::string_view message = error.what();
      REQUIRE(message.find('\n') != std::string_view::npos);
      return;
    }
    ++accepted;
    std::size_t depth = 0;
    for (const expression::step& each : made.steps) {
      const bool value = each.what == operation::constant || each.what == operation::name;
      const bool prefix = each.what == operation::negate || each.what == operation::invert;
      const std::size_t needs = value ? 0 : prefix ? 1 : 2;
      REQUIRE(depth >= needs);
      depth = depth - needs + 1;
      if (each.what == operation::name) REQUIRE(each.reference < made.references.size());
    }
    REQUIRE(depth == 1);
  };
  for (int i = 0; i < 30'000; ++i) {
    std::string text;
    for (std::size_t remaining = below(14); remaining > 0; --remaining) text += tokens[below(tokens.size())];
    check(text);
  }
  for (int i = 0; i < 30'000; ++i) {
    std::string text = valid[below(valid.size())];
    for (std::size_t remaining = 1 + below(4); remaining > 0; --remaining) {
      const std::size_t at = below(text.size() + 1);
      switch (below(3)) {
        case 0:
          text.erase(at, 1 + below(3));
          break;
        case 1:
          text.insert(at, tokens[below(tokens.size())]);
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
      }
    }
    check(text);
  }
  CHECK(accepted > 1000);
}

TEST_CASE("a formula is a number, a condition is a truth value, and each is refused in place of the other") {
  CHECK(steps_of(parse_formula("-bytes / lines + 2")) == "bytes neg lines / 2 +");
  CHECK(steps_of(parse_formula("entropy")) == "entropy");
  CHECK(usage_error_of([] { parse_formula("entropy > 7"); }).starts_with("this is a condition, not a number"));
  CHECK(usage_error_of([] { parse_formula("!(a < b)"); }).starts_with("this is a condition, not a number"));
  CHECK(error_of("bytes / lines").starts_with("this is a number, not a condition"));
  CHECK(usage_error_of([] { parse_formula(std::string(5000, '1')); }) == "the formula is longer than 4096 bytes");
}
