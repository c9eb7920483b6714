// The functions of formulas that read the text of a unit: of its lines, words and other elements. Plain values, by
// name; report/texts computes them.
//
//     line_share(characters <= 30)        share of the elements of a kind for which a condition holds
//     duplicate_lines                     elements that are equal to an earlier one
//     contains("lorem ipsum")             of the text, or within a condition of an element
#pragma once

#include "config/expression.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// What a function is of. docs/units.md defines the elements.
enum class text_part : std::uint8_t { text, line, row, segment, paragraph, block, sentence, word, token, url };

enum class text_measure : std::uint8_t {
  // of a text or an element
  bytes,
  characters,
  letters,
  punctuation,
  words,
  longest_word,
  ends_with_punctuation,
  starts,
  ends,
  has_suffix,
  lower_ends,
  contains,
  lower_contains,
  equals,
  occurrences,
  runs,
  // of a text
  language,
  language_share,
  language_reliable,
  known_characters,
  // of the elements of a text
  count,
  share,
  sum_of_characters,
  longest,
  duplicates,
  duplicate_characters,
  among,           ///< the elements that are one of some strings
  distinct_among,  ///< the strings of which an element is one
  // of the sequences of N elements
  top_characters,
  repeated_characters,
  top_covered,
  repeated_covered,
};

struct text_function {
  enum class operand : std::uint8_t {
    none,
    optional_condition,  ///< of an element
    condition,
    strings,  ///< one or more, in quotes, separated by commas
    number,   ///< of elements in a sequence
    table,    ///< the path of a file with characters, in quotes, and optionally its group
  };
  /// Where it is known: in a formula of a unit, or in a condition of an element.
  enum class scope : std::uint8_t { unit, element };

  std::string name;
  text_part of = text_part::text;
  text_measure what = text_measure::characters;
  operand takes = operand::none;
  scope known_in = scope::unit;

  /// Whether its value is 1 or 0: its name alone is a condition.
  [[nodiscard]] bool is_truth() const;
  /// As in a formula: "line_share(CONDITION)".
  [[nodiscard]] std::string usage() const;
};

/// Those of units, then those of elements.
const std::vector<text_function>& text_functions();

/// Null: there is none of this name.
const text_function* find_text_function(std::string_view name, text_function::scope known_in);

/// Whether a function of this name has an operand, in any scope.
bool takes_text_operand(std::string_view name);

/// Whether a name in a formula or in a condition of an element is a condition by itself.
bool is_text_truth(std::string_view name);

/// The files of the functions in a formula that read one, in its order. The formula may have errors.
std::vector<std::string> files_in(std::string_view formula);

/// The strings of an operand: "a", 'b\n'. The escapes are \n, \t, \r, \\, \" and \'. Throws usage_error, with a caret.
std::vector<std::string> strings_in(const placed_text& operand);

}  // namespace gpuhist::config
