// The words of a condition.
#pragma once

#include "config/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// One word, with its place in the text.
struct lexeme {
  enum class kind : std::uint8_t { end, number, name, symbol };

  kind what = kind::end;
  std::size_t at = 0;
  std::string_view typed;  ///< a stretch of the text
  double number = 0;
  std::vector<std::string> parts{};  ///< of a name: one or two, without quotes and dot

  /// A word without quotes, alone: what a function is called with.
  [[nodiscard]] bool is_plain_word() const {
    return what == kind::name && parts.size() == 1 && typed.front() != '"' && typed.front() != '\'';
  }
  [[nodiscard]] bool is_symbol(std::string_view text) const { return what == kind::symbol && typed == text; }
};

/// Reads one word after the other. Borrows the text.
class lexer {
 public:
  explicit lexer(std::string_view text) : text_(text) {}

  /// The next one; at the end, and from there on, one of kind `end`. Throws usage_error.
  lexeme next();

  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  lexeme number();
  lexeme name();
  std::string part();
  std::string quoted();
  lexeme symbol();
  [[nodiscard]] std::string_view from(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace gpuhist::config
