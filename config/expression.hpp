// Conditions as people type them, as in --fail-if 'digit > 0.15 || entropy > 7.5 && bytes > 64KiB': text taken apart
// into steps, once. What its names mean is not known here; nothing but the steps below can be asked for.
//
//     condition   = condition ("||" | "&&") condition | "!" condition | number comparison number | "(" condition ")"
//     comparison  = "<" | "<=" | ">" | ">=" | "==" | "!="
//     number      = number ("*" | "/" | "+" | "-") number | "-" number | "(" number ")" | constant | name
//     constant    = 0.15 | 2e-3 | 64KiB | 1GB ...                       (sizes: config/size)
//     name        = part | part "." part | ("count" | "share") "(" part ["." part] ")"
//     part        = letters, digits, "_", beyond ASCII all, not beginning with a digit | '"' ... '"' | "'" ... "'"
//     (\ escapes)
//
// What binds tighter stands further right: || && comparison +- */ !-. Operators of one kind associate to the left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// Something that has a value in what is watched.
struct reference {
  enum class form : std::uint8_t { plain, count, share };

  std::vector<std::string> parts;  ///< one, or a scheme and one of its buckets
  form as = form::plain;
  std::string typed{};  ///< as it stands in the text
  std::size_t at = 0;   ///< where, in bytes

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
    std::size_t reference = 0;  ///< of a name: which of the references

    bool operator==(const step&) const = default;
  };

  std::string text;  ///< as typed
  std::vector<step> steps;
  std::vector<reference> references;

  bool operator==(const expression&) const = default;
};

/// Never recurses: the text is 4,096 bytes and 64 open operators and parentheses at the most. Throws usage_error, with
/// the text below its message and a caret under the character it is about.
expression parse_expression(std::string_view text);

/// A message of what is wrong with a text, with that text and a caret: for errors that only those find who know what
/// the names mean.
std::string pointing_at(std::string_view message, std::string_view text, std::size_t at);

}  // namespace gpuhist::config
