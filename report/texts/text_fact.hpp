// A function of the text of a unit, with its operand: plain values, made once and used by all readers of texts.
#pragma once

#include "config/expression.hpp"
#include "config/text_functions.hpp"
#include "report/texts/character_table.hpp"
#include "report/texts/elements.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// A condition of the elements of a text, whose names are resolved.
struct element_condition {
  struct name {
    config::text_measure what = config::text_measure::bytes;
    std::vector<std::string> strings{};
  };

  config::expression typed;
  std::vector<name> names;  ///< one for each reference of `typed`

  /// Of elements, to evaluate it.
  [[nodiscard]] detail needed() const;
};

/// Throws config::usage_error, with the whole text and a caret.
element_condition parse_element_condition(const config::placed_text& typed);

/// Immutable.
class text_fact {
 public:
  static constexpr std::size_t max_sequence = 64;  ///< elements of an n-gram

  /// `function`: the name of a text_function of units. `typed`: the operand, without parentheses, in its formula; of no
  /// bytes: there is none. Throws config::usage_error, with the formula and a caret.
  text_fact(std::string_view function, const config::placed_text& typed);

  [[nodiscard]] config::text_part of() const { return function_.of; }
  [[nodiscard]] config::text_measure what() const { return function_.what; }
  /// Null: there is none.
  [[nodiscard]] const element_condition* condition() const { return condition_ ? &*condition_ : nullptr; }
  [[nodiscard]] const std::vector<std::string>& strings() const { return strings_; }
  [[nodiscard]] std::size_t number() const { return number_; }
  /// Null: the function needs none.
  [[nodiscard]] const character_table* table() const { return table_.get(); }

 private:
  const config::text_function& function_;
  std::optional<element_condition> condition_;
  std::vector<std::string> strings_;
  std::size_t number_ = 0;
  std::shared_ptr<const character_table> table_;
};

}  // namespace gpuhist::report::texts
