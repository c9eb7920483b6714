// Functions of texts: what they refuse, and what their reader keeps from one text to the next. Their values are
// compared with Python in tests/cli/test_text_facts.py.
#include "config/usage_error.hpp"
#include "report/texts/character_counts.hpp"
#include "report/texts/characters.hpp"
#include "report/texts/equal_strings.hpp"
#include "report/texts/languages.hpp"
#include "report/texts/minhash.hpp"
#include "report/texts/string_set.hpp"
#include "report/texts/text_fact.hpp"
#include "report/texts/text_reader.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::report::texts;

namespace {

text_fact fact(std::string_view function, std::string_view operand) {
  return {function, {.whole = operand, .bytes = operand.size()}};
}

std::string error_of(std::string_view function, std::string_view operand) {
  try {
    const text_fact made = fact(function, operand);
    return "";
  } catch (const config::usage_error& error) {
    return error.what();
  }
}

// -1: unknown.
std::vector<double> values(text_reader& reader, std::string_view text) {
  std::vector<double> made;
  for (const double each : reader.read(text)) made.push_back(std::isnan(each) ? -1 : each);
  return made;
}

double value(std::string_view function, std::string_view operand, std::string_view text) {
  const std::vector<text_fact> facts = {fact(function, operand)};
  return text_reader(facts).read(text).front();
}

}  // namespace

TEST_CASE("A function of texts refuses an operand that it does not take, and says how it is typed") {
  struct row {
    std::string_view function;
    std::string_view operand;
    std::string_view message;
  };
  for (const row& each : {
           row{"longest_line", "2", "this is typed as longest_line"},
           row{"line_share", "", "this is typed as line_share(CONDITION)"},
           row{"words_of", "", "this is typed as words_of(\"A\", \"B\")"},
           row{"words_of", "the", "a string in quotes is missing here"},
           row{"words_of", "\"the\" \"be\"", "a comma is missing here"},
           row{"words_of", "\"\"", "the string before this is empty"},
           row{"words_of", "\"a\\q\"", "the escapes of a string are"},
           row{"top_ngram_characters", "0", "1 to 64"},
           row{"top_ngram_characters", "65", "1 to 64"},
           row{"top_ngram_characters", "2.5", "1 to 64"},
           row{"top_ngram_characters", "\"a\"", "1 to 64"},
           row{"line_share", "charcters > 3", "did you mean characters?"},
           row{"line_share", "entropy > 3", "is no name of a condition of an element; names are bytes, characters"},
           row{"line_share", "characters", "compare it with something"},
           row{"line_share", "starts > 3", "this is typed as starts(\"A\", \"B\")"},
           row{"line_share", "letters(\"a\") > 3", "this is typed as letters"},
           row{"words_of", "\"the\", \"a b\"", "is never one element; give contains(\"a b\")"},
           row{"distinct_tokens_of", "\"don't\"", "is never one element"},
           row{"line_share", "count(digit) > 3", "is no name of a condition of an element"},
           row{"starts", "\"a\"", "is of an element of a text"},
           row{"lower_contains", "\"Terms\"", "give \"terms\" instead of \"Terms\""},
           row{"line_share", "lower_ends(\"É\")", "searches in lower case"},
       }) {
    CAPTURE(each.function);
    CAPTURE(each.operand);
    const std::string found = error_of(each.function, each.operand);
    CAPTURE(found);
    CHECK(found.find(each.message) != std::string::npos);
  }
}

TEST_CASE("Each malformed sequence of UTF-8 is read as U+FFFD: maximal subparts, as the Unicode standard recommends") {
  const std::map<std::string, std::string> rows = {
      {"a\xe4\xb8z", "a\xef\xbf\xbdz"},                                          // a sequence that is cut
      {"\xf0\x9f\x98", "\xef\xbf\xbd"},                                          // at the end of the text
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                  // an overlong one
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                  // a surrogate
      {"\xf4\x91\x92\x93", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // beyond U+10FFFF
      {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf"
       "A",
       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
       "A"},  // table 3-8
      {"h\xc3\xa9", "h\xc3\xa9"}};
  for (const auto& [text, expected] : rows) {
    CAPTURE(expected);
    std::string room;
    CHECK(as_utf8(text, room) == expected);
    CHECK(value("characters", "", text) == static_cast<double>(characters_in(expected)));
  }
}

TEST_CASE("A reader gives the same values for a text whatever it has read before, also after a text of 3 MB") {
  std::vector<text_fact> facts;
  facts.push_back(fact("token_count", ""));
  facts.push_back(fact("word_share", "letters > 0"));
  facts.push_back(fact("duplicate_lines", ""));
  facts.push_back(fact("duplicate_ngram_characters", "3"));
  facts.push_back(fact("top_ngram_covered", "2"));
  facts.push_back(fact("distinct_words_of", R"("the", "be", "tho")"));
  facts.push_back(fact("lower_contains", R"("terms of")"));
  std::mt19937 random(7);
  const std::vector<std::string> parts = {"the", "be", "tho", " ", " ", "\n", "Terms of", ".", "…", "é"};
  const auto made = [&](std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += parts[random() % parts.size()];
    return text;
  };
  text_reader reused(facts);
  for (const std::size_t bytes : {100U, 3'000'000U, 0U, 50U, 1U, 2'000'000U, 200U}) {
    CAPTURE(bytes);
    const std::string text = made(bytes);
    text_reader fresh(facts);
    CHECK(values(reused, text) == values(fresh, text));
  }
}

TEST_CASE("Threads that find languages at once find those that one finds, also in any code points") {
  std::mt19937 random(5);
  const std::vector<std::string> words = {
      "the ",  "house ", "Haus ", "und ",         "Latina ",          "lingua ", "дом ",    "улице ",
      "我们 ", "です",   "\0",    "\xef\xbf\xbe", "\xf4\x8f\xbf\xbf", "\n",      "&amp;<b>"};
  std::vector<std::string> all(400);
  for (std::string& text : all) {
    for (std::size_t i = random() % 200; i > 0; --i) text += words[random() % words.size()];
  }
  const auto found_in = [&] {
    std::vector<std::pair<std::string_view, bool>> made;
    for (const std::string& text : all) {
      const detected_languages found = detect_languages(text);
      made.emplace_back(found.first(), found.is_reliable);
    }
    return made;
  };
  const auto expected = found_in();
  std::array<decltype(found_in()), 4> found;
  {
    std::vector<std::jthread> threads;
    for (auto& each : found) threads.emplace_back([&] { each = found_in(); });
  }
  for (const auto& each : found) CHECK(each == expected);
}

TEST_CASE("The tables of languages are those of libcld2_full") {
  CHECK(detect_languages("Haec est lingua Latina quam Romani olim loquebantur et quam multi adhuc discunt").first() ==
        "la");
}

TEST_CASE("Characters and malformed sequences are the same wherever a text is cut") {
  std::mt19937 random(9);
  const std::vector<std::string> parts = {"a",    "é",    "中",       "😀",   "\n",
                                          "\xe2", "\x82", "\xf0\x9f", "\xff", "\xed\xa0\x80"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::size_t i = random() % 30; i > 0; --i) text += parts[random() % parts.size()];
    const auto counted = [](const character_counts& of) {
      std::map<std::string, std::uint64_t> made{{"", of.malformed()}};
      of.for_each([&](std::string_view character, std::uint64_t number) { made.emplace(character, number); });
      return made;
    };
    character_counts whole;
    whole.add(text);
    whole.end();
    character_counts cut;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view part = rest.substr(0, random() % 4);
      cut.add(part);
      rest.remove_prefix(part.size());
    }
    cut.end();
    CHECK(counted(cut) == counted(whole));
    CHECK(cut.malformed_bytes() == whole.malformed_bytes());
  }
}

TEST_CASE("A share of elements is unknown if there are none, and numbers are 0") {
  CHECK(std::isnan(value("line_share", "characters > 0", "\n \n")));
  CHECK(value("line_count", "", "\n \n") == 0);
  CHECK(value("longest_word", "", " ") == 0);
  CHECK(value("top_ngram_characters", "2", "one") == 0);
}

TEST_CASE("Words that share their length and first byte with a string of a set are not taken for it") {
  const string_set set({"that", "to", "x"});
  CHECK(set.find("that") == 0);
  CHECK(set.find("to") == 1);
  CHECK_FALSE(set.find("this"));
  CHECK_FALSE(set.find("t"));
  CHECK_FALSE(set.find(""));
  CHECK_FALSE(set.find("x234567890123456x"));  // 17 bytes: the same length modulo 16 as "x"
}

TEST_CASE("The first of equal strings is found among many, however the table grows") {
  std::mt19937 random(3);
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < 50'000; ++i) strings.push_back(std::to_string(random() % 20'000));
  equal_strings table;
  table.clear(strings.size());
  std::map<std::string, std::uint32_t> first;
  for (std::uint32_t i = 0; i < strings.size(); ++i) {
    const auto [known, is_new] = first.try_emplace(strings[i], i);
    REQUIRE(table.first_equal(i, [&](std::uint32_t at) { return std::string_view(strings[at]); }) == known->second);
  }
}

TEST_CASE("words for MinHash are in lower case, with numbers as 0, without punctuation and marks") {
  minhash_reader reader;
  const std::map<std::string, std::string> expected = {
      {"", ""},
      {" .!? \n", ""},
      {"The cat,sat  ON\ta-mat.", "the cat sat on a mat"},
      {"1.5 of 2,000.75, 3. and v2.0.1", "0 of 0 0 0 and v0 0"},
      {"\u0663\u066b\u0664 \uff11\uff12", "0 0"},
      {"\u00c4rger \u1ea4 e\u0301", "arger a e"},
      {"\u0130\u0049", "ii"},
      {"\u039f\u0394\u039f\u03a3 \u03a3\u0391\u03a3. \u03a3", "\u03bf\u03b4\u03bf\u03c2 \u03c3\u03b1\u03c2 \u03c3"},
      {"a \u0301 b", "a b"},
      {"\uac00", "\u1100\u1161"},
  };
  for (const auto& [text, words] : expected) CHECK(reader.words_of(text) == words);
  CHECK(reader.of("one two three four") == nullptr);
  CHECK(reader.of("one two three four five") != nullptr);
}
