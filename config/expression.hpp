// Conditions as users type them, as in --fail-if 'digit > 0.15 || entropy > 7.5 && bytes > 64KiB': parsed once into
// steps. Names are not resolved here. The steps below are all that a condition can do.
//
//     condition   = condition ("||" | "&&") condition | "!" condition | number comparison number | "(" condition ")"
//     comparison  = "<" | "<=" | ">" | ">=" | "==" | "!="
//     number      = number ("*" | "/" | "+" | "-") number | "-" number | "(" number ")" | constant | name
//     constant    = 0.15 | 2e-3 | 64KiB | 1GB ...                       (sizes: config/size)
//     name        = part | part "." part | ("count" | "share") "(" part ["." part] ")"
//                 | ("match" | "number") "(" part ")"
//                 | ("sum" | "mean" | "p" percent | function of texts) "(" any text with balanced parentheses ")"
//     part        = word | the longest known name at this position, if longer | '"' ... '"' | "'" ... "'" (\ escapes
//     quotes and \) word        = letters, digits, "_", all characters beyond ASCII; does not begin with a digit
//
// The operand of sum, mean and quantiles, p99(bytes), is the text of a formula of units, which is not parsed here. Nor
// is that of functions of texts (config/text_functions): line_share(characters <= 30), contains("a", "b").
//
// A match, match(NAME), is also a condition: match(NAME) > 0. So are functions of texts that are true or false.
// Operators further right bind tighter: || && comparison +-
// */ !-. Operators of one kind associate to the left.
#pragma once

#include "config/scheme.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// A name whose value the counts determine.
struct reference {
  enum class form : std::uint8_t { plain, count, share, match, number, text, sum, mean, quantile };

  std::vector<std::string> parts;  ///< one, or a scheme and one of its buckets; the argument of a function
  form as = form::plain;
  std::string typed{};         ///< as typed
  std::size_t at = 0;          ///< its offset in the text, in bytes
  double percent = 0;          ///< of a quantile, above 0 and at most 100
  std::string function{};      ///< of texts: its name
  std::size_t operand_at = 0;  ///< of texts: the offset of the operand after `at`

  /// Whether the argument is a formula of units, of whose values this is a number.
  [[nodiscard]] bool is_of_values() const { return as == form::sum || as == form::mean || as == form::quantile; }

  bool operator==(const reference&) const = default;
};

/// A plain value. The steps are in postfix order: each takes its operands from a stack and leaves its value there.
struct expression {
  enum class operation : std::uint8_t {
    constant,
    name,
    negate,
    multiply,
    divide,
    add,
    subtract,
    less,
    at_most,
    greater,
    at_least,
    equal,
    unequal,
    invert,
    both,
    either,
  };

  struct step {
    operation what = operation::constant;
    double constant = 0;
    std::size_t reference = 0;  ///< of a name: index into the references

    bool operator==(const step&) const = default;
  };

  std::string text;  ///< as typed
  std::vector<step> steps;
  std::vector<reference> references;

  bool operator==(const expression&) const = default;
};

/// Names of buckets and schemes in `schemes` need no quotes, unless they begin with a digit or a symbol: the longest
/// one that matches wins. Does not recurse: the text has at most 4,096 bytes and 64 open operators and parentheses.
/// Throws usage_error, with the text below its message and a caret below the character that the message is about.
expression parse_expression(std::string_view text, std::span<const scheme> schemes = {});

/// A part of a text that messages show as a whole.
struct placed_text {
  std::string_view whole;
  std::size_t at = 0;
  std::size_t bytes = 0;

  [[nodiscard]] std::string_view part() const { return whole.substr(at, bytes); }
};

/// As parse_expression(), for a condition that is a part of another text. Offsets are those in the whole.
expression parse_part(const placed_text& condition);

/// As parse_expression(), for a formula, whose value is a number: `number` of the grammar, as 'bytes / lines'.
expression parse_formula(std::string_view text, std::span<const scheme> schemes = {});

/// Holds if one of the conditions does: their texts with "||" between them, which may be longer than that of one.
/// Precondition: there is one.
expression any_of(std::span<const expression> conditions);

/// A message about a text, with that text and a caret below the character at offset `at`.
std::string pointing_at(std::string_view message, std::string_view text, std::size_t at);

/// The operators, those that bind tightest first; operators of one level are separated by blanks.
std::vector<std::string> operator_levels();

}  // namespace gpuhist::config
