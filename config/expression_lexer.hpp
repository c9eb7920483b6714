// The lexer of conditions: divides the text into numbers, names and symbols.
#pragma once

#include "config/expression.hpp"
#include "config/scheme.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// One token, with its position in the text.
struct lexeme {
  enum class kind : std::uint8_t { end, number, name, symbol };

  kind type = kind::end;
  std::size_t at = 0;
  std::string_view typed;  ///< part of the text
  double number = 0;
  std::vector<std::string> parts{};  ///< of a name: one or two, without quotes and dot

  /// A name of one part without quotes: only such a name can be the name of a function.
  [[nodiscard]] bool is_plain_word() const {
    return type == kind::name && parts.size() == 1 && typed.front() != '"' && typed.front() != '\'';
  }
  [[nodiscard]] bool is_symbol(std::string_view text) const { return type == kind::symbol && typed == text; }
};

/// Reads the tokens in sequence. Borrows the text and the schemes.
///
/// A name without quotes is a word (letters, digits, "_"), or the longest name of a bucket or a scheme that the text
/// continues with at this position, if that is longer: with a bucket "a-d", the text "a-d > 0" begins with that bucket.
/// A known name counts only where it ends: in "a-dx" there is no bucket "a-d". A scheme counts only before a dot.
class lexer {
 public:
  /// `from`: the first byte that is read.
  lexer(std::string_view text, std::span<const scheme> schemes, std::size_t from = 0)
      : text_(text), schemes_(schemes), at_(from) {}

  /// The next token. At the end of the text, and after it, a token of kind `end`. Throws usage_error.
  lexeme next();

 private:
  lexeme number();
  lexeme name();
  std::string word(std::size_t known_length);
  std::string quoted();
  lexeme symbol();

  [[nodiscard]] std::size_t longest_name() const;
  [[nodiscard]] std::size_t longest_bucket_of(std::string_view scheme_name) const;
  [[nodiscard]] std::size_t length_if_here(std::string_view known) const;
  [[nodiscard]] bool at_quote() const;
  [[nodiscard]] std::string_view from(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  std::string_view text_;
  std::span<const scheme> schemes_;
  std::size_t at_;
};

}  // namespace gpuhist::config
