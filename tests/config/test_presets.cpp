// The table of presets: every name in it is known, and each condition removes the units that its source removes, by
// rules that are written down here again, with their limits.
#include "config/expression.hpp"
#include "config/presets.hpp"
#include "config/scheme.hpp"
#include "config/text_functions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist::config;
using operation = expression::operation;

namespace {

std::vector<scheme> schemes_of(const preset& row) {
  return make_schemes({row.schemes.begin(), row.schemes.end()}, false);
}

std::size_t count_of(std::string_view text, std::string_view characters) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [&](char c) { return characters.find(c) != std::string_view::npos; }));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    const bool space = std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
    if (!space && !inside) words.emplace_back();
    if (!space) words.back() += c;
    inside = !space;
  }
  return words;
}

/// The value of a name for a text.
double value_of(const reference& name, std::string_view text, const std::vector<scheme>& schemes) {
  if (name.parts == std::vector<std::string>{"bytes"}) return static_cast<double>(text.size());
  if (name.parts == std::vector<std::string>{"lines"}) return static_cast<double>(count_of(text, "\n"));
  if (name.parts == std::vector<std::string>{"words"}) return static_cast<double>(words_of(text).size());
  const auto owner = std::ranges::find(schemes, name.parts.front(), &scheme::name);
  REQUIRE(owner != schemes.end());
  const auto bucket = find_bucket(*owner, name.parts.back());
  const auto count = static_cast<double>(
      std::ranges::count_if(text, [&](char c) { return owner->bucket_of[static_cast<unsigned char>(c)] == bucket; }));
  return name.as == reference::form::count ? count : count / static_cast<double>(text.size());
}

/// Evaluates the operations that conditions of presets have; a comparison with no value does not hold.
bool holds(const expression& condition, std::string_view text, const std::vector<scheme>& schemes) {
  std::vector<double> stack;
  const auto apply = [&](const auto& function) {
    const double second = stack.back();
    stack.pop_back();
    stack.back() = static_cast<double>(function(stack.back(), second));
  };
  for (const expression::step& each : condition.steps) {
    switch (each.what) {
      case operation::constant:
        stack.push_back(each.constant);
        break;
      case operation::name:
        stack.push_back(value_of(condition.references[each.reference], text, schemes));
        break;
      case operation::divide:
        apply(std::divides<>());
        break;
      case operation::add:
        apply(std::plus<>());
        break;
      case operation::multiply:
        apply(std::multiplies<>());
        break;
      case operation::subtract:
        apply(std::minus<>());
        break;
      case operation::less:
        apply(std::less<>());
        break;
      case operation::greater:
        apply(std::greater<>());
        break;
      case operation::equal:
        apply(std::equal_to<>());
        break;
      case operation::either:
        apply(std::logical_or<>());
        break;
      default:
        FAIL("an operation that this test does not know");
    }
  }
  REQUIRE(stack.size() == 1);
  return stack.front() != 0;
}

bool dropped_by(std::string_view name, std::string_view text) {
  const preset* const row = find_preset(name);
  REQUIRE(row != nullptr);
  const std::vector<scheme> schemes = schemes_of(*row);
  return std::ranges::any_of(row->rules, [&](const preset_rule& each) {
    return holds(parse_expression(each.condition, schemes), text, schemes);
  });
}

constexpr std::string_view digits = "0123456789";
const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Characters of UTF-8: every character has one byte that does not continue another one.
std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & '\xc0') != '\x80'; }));
}

/// The rules of `nemo` with whole numbers: more than a quarter, more than 15 %, more than a tenth.
bool dropped_by_nemo(std::string_view text) {
  const std::size_t size = characters_of(text);
  const std::size_t plain = count_of(text, letters) + count_of(text, digits) + count_of(text, "\n?!,.");
  return size == 0 || (size - plain) * 4 > size || count_of(text, digits) * 100 > size * 15 ||
         count_of(text, " \t\n\r\b") * 4 > size || count_of(text, "(){}[]") * 10 > size;
}

/// The rules of `gopher` with whole numbers.
bool dropped_by_gopher(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  std::size_t length = 0;
  for (const std::string& each : words) length += characters_of(each);
  return words.size() < 50 || words.size() > 100'000 || length < 3 * words.size() || length > 10 * words.size() ||
         count_of(text, "#") * 10 > words.size();
}

/// The rules of `fineweb` with whole numbers: more than 3 line feeds for 10 words or parts of words, two more for each
/// sign; and a text of one short line or without a byte that a mark at the end of a line has.
bool dropped_by_fineweb(std::string_view text) {
  const bool has_mark = std::ranges::any_of(text, [](char c) { return c == '.' || c == '?' || c == '!' || c < 0; });
  const std::size_t number = words_of(text).size();
  const auto signs = std::ranges::count_if(text, [](char c) {
    const auto value = static_cast<unsigned char>(c);
    return value >= 0xc0 ||
           (value > ' ' && value < 0x7f && (letters + std::string(digits)).find(c) == std::string::npos);
  });
  const std::size_t parts = number + (2 * static_cast<std::size_t>(signs));
  return number == 0 || text.size() <= 30 || !has_mark || count_of(text, "\n") * 10 > parts * 3;
}

/// As many words as given, each of this length, the last ones replaced.
std::string words(std::size_t number, std::size_t length, const std::vector<std::string>& last = {}) {
  std::string text;
  for (std::size_t i = 0; i + last.size() < number; ++i) text += std::string(length, 'w') + (i % 9 == 8 ? "\n" : " ");
  for (const std::string& each : last) text += each + " ";
  return text;
}

/// A hundred bytes: as many of the first character as given, then of the second one, then letters.
std::string hundred(std::size_t number, char of, std::size_t second = 0, char of_second = 'x') {
  return std::string(number, of) + std::string(second, of_second) + std::string(100 - number - second, 'x');
}

}  // namespace

TEST_CASE("every preset has a name of its own, in order, a summary, a source and rules with names of their own") {
  std::string before;
  for (const preset& each : preset_table()) {
    CAPTURE(each.name);
    CHECK(each.name > before);
    before = each.name;
    CHECK(each.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
    CHECK_FALSE(each.summary.empty());
    CHECK_FALSE(each.summary.ends_with('.'));
    CHECK_FALSE(each.source.empty());
    std::set<std::string_view> names;
    for (const preset_rule& rule : each.rules) {
      CHECK(rule.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
      CHECK(names.insert(rule.name).second);
    }
    CHECK_FALSE(names.empty());
    CHECK(find_preset(each.name) == &each);
  }
  CHECK(find_preset("") == nullptr);
  CHECK(find_preset("nem") == nullptr);
}

TEST_CASE("the schemes of all presets can be selected together, with the built-in ones") {
  std::vector<std::string> typed;
  for (const std::string_view name : scheme_names()) typed.emplace_back(name);
  for (const preset& each : preset_table()) typed.insert(typed.end(), each.schemes.begin(), each.schemes.end());
  CHECK(make_schemes(typed, false).size() == typed.size());
  for (const preset& each : preset_table()) {
    for (const scheme& made : schemes_of(each)) CHECK(made.name.starts_with(each.name));
  }
}

TEST_CASE("every bucket in a condition is one of the preset, named with its scheme, and every bucket is used") {
  for (const preset& each : preset_table()) {
    CAPTURE(each.name);
    const std::vector<scheme> schemes = schemes_of(each);
    std::set<std::string> used;
    std::vector<expression> conditions;
    for (const preset_rule& rule : each.rules) conditions.push_back(parse_expression(rule.condition, schemes));
    for (const reference& name : any_of(conditions).references) {
      CAPTURE(name.typed);
      if (name.parts.size() == 1) {
        const bool is_text = name.as == reference::form::text;
        const std::string& word = is_text ? name.function : name.parts.front();
        const text_function* const of_text = find_text_function(word, text_function::scope::unit);
        CHECK((of_text != nullptr || std::set<std::string>{"bytes", "lines", "words"}.contains(word)));
        CHECK((is_text || name.as == reference::form::plain));
        continue;
      }
      const auto owner = std::ranges::find(schemes, name.parts.front(), &scheme::name);
      REQUIRE(owner != schemes.end());
      CHECK(find_bucket(*owner, name.parts.back()));
      used.insert(name.parts.front() + "." + name.parts.back());
    }
    for (const scheme& made : schemes) {
      for (const std::string& bucket : made.buckets)
        CHECK(used.contains(made.name + "." + bucket) == (bucket != "other"));
    }
  }
}

TEST_CASE("nemo keeps a text at each limit, and removes one with a byte more") {
  struct limit {
    char of;
    std::size_t most;
  };
  for (const limit& each : {limit{'0', 15}, limit{'9', 15}, limit{' ', 25}, limit{'\t', 25}, limit{'\r', 25},
                            limit{'\b', 25}, limit{'\n', 25}, limit{'(', 10}, limit{']', 10}, limit{'}', 10},
                            limit{'#', 25}, limit{'\xc3', 25}, limit{'\0', 25}, limit{'\v', 25}}) {
    CAPTURE(each.of);
    CHECK_FALSE(dropped_by("nemo", hundred(each.most, each.of)));
    CHECK(dropped_by("nemo", hundred(each.most + 1, each.of)));
  }
  for (const char mark : {'?', '!', ',', '.', 'a', 'z', 'A', 'Z'}) CHECK_FALSE(dropped_by("nemo", hundred(100, mark)));
  CHECK_FALSE(dropped_by("nemo", hundred(10, '(', 15, ' ')));
  CHECK(dropped_by("nemo", hundred(10, '(', 16, ' ')));
  CHECK_FALSE(dropped_by("nemo", hundred(13, '\n', 12, ' ')));
  CHECK(dropped_by("nemo", hundred(13, '\n', 13, ' ')));
  CHECK(dropped_by("nemo", ""));
}

TEST_CASE("nemo and gopher count a character of two to four bytes once") {
  for (const std::string_view character : {"\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x98\x80"}) {
    CAPTURE(character);
    const auto repeated = [&](std::size_t number) {
      std::string text;
      for (std::size_t i = 0; i < number; ++i) text += character;
      return text;
    };
    CHECK_FALSE(dropped_by("nemo", hundred(25, 'x').substr(0, 75) + repeated(25)));
    CHECK(dropped_by("nemo", hundred(25, 'x').substr(0, 74) + repeated(26)));
    CHECK_FALSE(dropped_by("nemo", hundred(15, '7').substr(0, 90) + repeated(10)));
    CHECK(dropped_by("nemo", hundred(16, '7').substr(0, 90) + repeated(10)));
    CHECK_FALSE(dropped_by("nemo", hundred(10, '(').substr(0, 90) + repeated(10)));
    CHECK(dropped_by("nemo", hundred(11, '(').substr(0, 90) + repeated(10)));
    CHECK_FALSE(dropped_by("gopher", words(60, 10, {repeated(10)})));
    CHECK(dropped_by("gopher", words(60, 10, {repeated(11)})));
    CHECK_FALSE(dropped_by("gopher", words(60, 3, {repeated(3)})));
    CHECK(dropped_by("gopher", words(60, 3, {repeated(2)})));
  }
  CHECK(dropped_by("nemo", "\x80\xbf"));
}

TEST_CASE("fineweb keeps a text at each limit, and removes one beyond it") {
  const std::string line = words(9, 5) + "end.";  // 58 bytes, 10 words, 1 line feed
  REQUIRE(words_of(line).size() == 10);
  REQUIRE(count_of(line, "\n") == 1);
  CHECK_FALSE(dropped_by("fineweb", line + "\n\n"));
  CHECK(dropped_by("fineweb", line + "\n\n\n"));
  for (const std::string_view sign : {",", "'", "_", "\xc2\xa0", "\xe3\x80\x82"}) {  // 4.2 line feeds, not 3.6
    CHECK_FALSE(dropped_by("fineweb", line + std::string(sign) + "\n\n\n"));
    CHECK(dropped_by("fineweb", line + std::string(sign) + "\n\n\n\n"));
  }
  CHECK(dropped_by("fineweb", std::string(29, 'x') + "."));
  CHECK_FALSE(dropped_by("fineweb", std::string(30, 'x') + "."));
  for (const std::string_view mark : {".", "?", "!", "\xe3\x80\x82"})
    CHECK_FALSE(dropped_by("fineweb", std::string(40, 'x') + std::string(mark)));
  for (const std::string_view other : {"", ",", ";", ":", "\"", "\x7f"})
    CHECK(dropped_by("fineweb", std::string(40, 'x') + std::string(other)));
  CHECK(dropped_by("fineweb", ""));
  CHECK(dropped_by("fineweb", std::string(40, '\n')));
}

TEST_CASE("gopher keeps a text at each limit, and removes one beyond it") {
  const auto dropped = [](std::string_view text) { return dropped_by("gopher", text); };
  CHECK(dropped(words(49, 5)));
  CHECK_FALSE(dropped(words(50, 5)));
  CHECK_FALSE(dropped(words(100'000, 5)));
  CHECK(dropped(words(100'001, 5)));
  CHECK_FALSE(dropped(words(60, 3)));
  CHECK(dropped(words(60, 3, {"ww"})));
  CHECK_FALSE(dropped(words(60, 10)));
  CHECK(dropped(words(60, 10, {std::string(11, 'w')})));
  CHECK_FALSE(dropped(words(50, 5, {"#####"})));
  CHECK(dropped(words(50, 5, {"######"})));
  for (const std::string_view text : {"", " ", "\n\n", "word"}) CHECK(dropped(text));
}

TEST_CASE("random texts are removed by a condition if and only if they are removed by the rule") {
  struct rule {
    std::string_view name;
    bool (*drops)(std::string_view);
    std::string_view rare;
  };
  std::mt19937 chosen(7);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(chosen);
  };
  for (const rule& each : {rule{"nemo", dropped_by_nemo, "0 (\n]\t9#\xc3\xa9{.\v"},
                           rule{"gopher", dropped_by_gopher, "# \n\t\v\f\r\xc2\xa0."},
                           rule{"fineweb", dropped_by_fineweb, "\n\n\n\n\t ."}}) {
    CAPTURE(each.name);
    const bool has_words = each.name != "nemo";
    std::array<std::size_t, 2> verdicts{};
    for (int i = 0; i < 1000; ++i) {
      std::string text(has_words ? 100 + below(900) : below(200), 'x');
      const std::size_t percent = 5 + below(40);
      for (char& c : text) {
        if (below(100) < percent) c = below(2) == 0 ? ' ' : each.rare[below(each.rare.size())];
        if (!has_words && c == ' ' && below(2) == 0) c = 'y';
      }
      CAPTURE(text);
      const bool expected = each.drops(text);
      ++verdicts.at(expected ? 1 : 0);
      REQUIRE(dropped_by(each.name, text) == expected);
    }
    CHECK(std::ranges::min(verdicts) > 50);
  }
}
