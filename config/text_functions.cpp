#include "config/text_functions.hpp"

#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhist::config {
namespace {

using operand = text_function::operand;
using scope = text_function::scope;

struct element_row {
  text_part kind;
  std::string_view name;
};

constexpr std::array elements = {
    element_row{text_part::line, "line"},       element_row{text_part::row, "row"},
    element_row{text_part::segment, "segment"}, element_row{text_part::paragraph, "paragraph"},
    element_row{text_part::block, "block"},     element_row{text_part::sentence, "sentence"},
    element_row{text_part::word, "word"},       element_row{text_part::token, "token"},
    element_row{text_part::url, "url"},
};

// % is the name of an element.
struct pattern_row {
  std::string_view pattern;
  text_measure what;
  operand takes;
};

constexpr std::array of_elements = {
    pattern_row{"%_count", text_measure::count, operand::optional_condition},
    pattern_row{"%_share", text_measure::share, operand::condition},
    pattern_row{"%_characters", text_measure::sum_of_characters, operand::optional_condition},
    pattern_row{"longest_%", text_measure::longest, operand::none},
    pattern_row{"duplicate_%s", text_measure::duplicates, operand::none},
    pattern_row{"duplicate_%_characters", text_measure::duplicate_characters, operand::none},
};

constexpr std::array of_words = {
    pattern_row{"%s_of", text_measure::among, operand::strings},
    pattern_row{"distinct_%s_of", text_measure::distinct_among, operand::strings},
};

std::string named(std::string_view pattern, std::string_view element) {
  const std::size_t at = pattern.find('%');
  return std::string(pattern.substr(0, at)) + std::string(element) + std::string(pattern.substr(at + 1));
}

void add(std::vector<text_function>& to, std::span<const pattern_row> patterns, const element_row& element) {
  for (const pattern_row& each : patterns) {
    to.push_back(
        {.name = named(each.pattern, element.name), .of = element.kind, .what = each.what, .takes = each.takes});
  }
}

std::vector<text_function> made_table() {
  using enum text_measure;
  std::vector<text_function> made = {
      {.name = "characters", .what = characters},
      {.name = "occurrences", .what = occurrences, .takes = operand::strings},
      {.name = "contains", .what = contains, .takes = operand::strings},
      {.name = "lower_contains", .what = lower_contains, .takes = operand::strings},
      {.name = "language", .what = language, .takes = operand::strings},
      {.name = "language_share", .what = language_share, .takes = operand::strings},
      {.name = "language_reliable", .what = language_reliable},
      {.name = "known_characters", .what = known_characters, .takes = operand::table},
  };
  for (const element_row& each : elements) add(made, of_elements, each);
  for (const element_row& each : elements) {
    if (each.kind == text_part::word || each.kind == text_part::token) add(made, of_words, each);
  }
  const auto add_sequences = [&](std::string name, text_part of, text_measure what) {
    made.push_back({.name = std::move(name), .of = of, .what = what, .takes = operand::number});
  };
  add_sequences("top_ngram_characters", text_part::token, top_characters);
  add_sequences("duplicate_ngram_characters", text_part::token, repeated_characters);
  add_sequences("top_ngram_covered", text_part::word, top_covered);
  add_sequences("duplicate_ngram_covered", text_part::word, repeated_covered);
  const auto add_inner = [&](std::string name, text_measure what, operand takes = operand::none) {
    made.push_back({.name = std::move(name), .what = what, .takes = takes, .known_in = scope::element});
  };
  add_inner("bytes", bytes);
  add_inner("characters", characters);
  add_inner("letters", letters);
  add_inner("punctuation", punctuation);
  add_inner("words", words);
  add_inner("longest_word", longest_word);
  add_inner("ends_with_punctuation", ends_with_punctuation);
  add_inner("starts", starts, operand::strings);
  add_inner("ends", ends, operand::strings);
  add_inner("has_suffix", has_suffix, operand::strings);
  add_inner("lower_ends", lower_ends, operand::strings);
  add_inner("contains", contains, operand::strings);
  add_inner("lower_contains", lower_contains, operand::strings);
  add_inner("is", equals, operand::strings);
  add_inner("occurrences", occurrences, operand::strings);
  add_inner("runs", runs, operand::strings);
  return made;
}

std::optional<char> escaped(char letter) {
  constexpr std::array<std::pair<char, char>, 6> escapes = {
      {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'"', '"'}, {'\'', '\''}}};
  const auto* const found = std::ranges::find(escapes, letter, &std::pair<char, char>::first);
  return found == escapes.end() ? std::nullopt : std::optional(found->second);
}

// Reads the strings of an operand.
class string_list {
 public:
  explicit string_list(const placed_text& operand)
      : whole_(operand.whole), text_(operand.whole.substr(0, operand.at + operand.bytes)), at_(operand.at) {}

  std::vector<std::string> read() {
    for (;;) {
      made_.push_back(next());
      skip_blanks();
      if (at_ == text_.size()) return std::move(made_);
      if (text_[at_] != ',') refuse("a comma is missing here, between two strings");
      ++at_;
    }
  }

  // Only the first one.
  std::string first() { return next(); }

 private:
  [[noreturn]] void refuse(std::string_view message) const { throw usage_error(pointing_at(message, whole_, at_)); }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  std::string next() {
    skip_blanks();
    if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) {
      refuse(R"(a string in quotes is missing here, as in "the")");
    }
    const char mark = text_[at_++];
    std::string made;
    for (; at_ < text_.size() && text_[at_] != mark; ++at_) {
      if (text_[at_] != '\\') {
        made += text_[at_];
        continue;
      }
      const auto meant = at_ + 1 < text_.size() ? escaped(text_[at_ + 1]) : std::nullopt;
      if (!meant) refuse(R"(the escapes of a string are \n \t \r \\ \" and \')");
      made += *meant;
      ++at_;
    }
    ++at_;  // the lexer has found the closing quote
    if (made.empty()) refuse("the string before this is empty");
    return made;
  }

  std::string_view whole_;
  std::string_view text_;  // up to the end of the operand
  std::size_t at_;
  std::vector<std::string> made_;
};

}  // namespace

bool text_function::is_truth() const {
  using enum text_measure;
  switch (what) {
    case ends_with_punctuation:
    case starts:
    case ends:
    case has_suffix:
    case lower_ends:
    case contains:
    case lower_contains:
    case equals:
    case language:
    case language_reliable:
      return true;
    default:
      return false;
  }
}

std::string text_function::usage() const {
  switch (takes) {
    case operand::none:
      return name;
    case operand::optional_condition:
      return name + " or " + name + "(CONDITION)";
    case operand::condition:
      return name + "(CONDITION)";
    case operand::strings:
      return name + R"(("A", "B"))";
    case operand::number:
      return name + "(N)";
    case operand::table:
      return name + R"x(("FILE"))x";
  }
  return name;
}

const std::vector<text_function>& text_functions() {
  static const std::vector<text_function> table = made_table();
  return table;
}

const text_function* find_text_function(std::string_view name, text_function::scope known_in) {
  const std::vector<text_function>& table = text_functions();
  const auto found = std::ranges::find_if(
      table, [&](const text_function& each) { return each.name == name && each.known_in == known_in; });
  return found == table.end() ? nullptr : &*found;
}

bool takes_text_operand(std::string_view name) {
  return std::ranges::any_of(
      text_functions(), [&](const text_function& each) { return each.name == name && each.takes != operand::none; });
}

bool is_text_truth(std::string_view name) {
  return std::ranges::any_of(text_functions(),
                             [&](const text_function& each) { return each.name == name && each.is_truth(); });
}

std::vector<std::string> strings_in(const placed_text& operand_text) { return string_list(operand_text).read(); }

std::vector<std::string> files_in(std::string_view formula) {
  std::vector<std::string> made;
  for (const text_function& each : text_functions()) {
    if (each.takes != operand::table) continue;
    for (std::size_t at = formula.find(each.name); at != std::string_view::npos; at = formula.find(each.name, at)) {
      at = formula.find_first_not_of(" \t\n", at + each.name.size());
      if (at == std::string_view::npos) break;
      if (formula[at] != '(') continue;
      try {
        made.push_back(string_list({.whole = formula, .at = at + 1, .bytes = formula.size() - at - 1}).first());
      } catch (const usage_error&) {
        continue;  // it is reported when the formula is resolved
      }
    }
  }
  return made;
}

}  // namespace gpuhist::config
