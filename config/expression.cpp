// Dijkstra's shunting yard: operators wait on a stack for the operands behind them, so that nothing recurses.
#include "config/expression.hpp"

#include "config/expression_lexer.hpp"
#include "config/quote.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::config {
namespace {

using operation = expression::operation;

constexpr std::size_t max_bytes = 4096;
constexpr std::size_t max_waiting = 64;

/// What a step leaves on the stack.
enum class type : std::uint8_t { number, truth };

struct operator_row {
  std::string_view symbol;
  operation what;
  unsigned binding;  ///< the higher, the tighter
  unsigned operands;
  type takes;
  type gives;
};

constexpr std::array operators = {
    operator_row{"||", operation::either, 1, 2, type::truth, type::truth},
    operator_row{"&&", operation::both, 2, 2, type::truth, type::truth},
    operator_row{"<", operation::less, 3, 2, type::number, type::truth},
    operator_row{"<=", operation::at_most, 3, 2, type::number, type::truth},
    operator_row{">", operation::greater, 3, 2, type::number, type::truth},
    operator_row{">=", operation::at_least, 3, 2, type::number, type::truth},
    operator_row{"==", operation::equal, 3, 2, type::number, type::truth},
    operator_row{"!=", operation::unequal, 3, 2, type::number, type::truth},
    operator_row{"+", operation::add, 4, 2, type::number, type::number},
    operator_row{"-", operation::subtract, 4, 2, type::number, type::number},
    operator_row{"*", operation::multiply, 5, 2, type::number, type::number},
    operator_row{"/", operation::divide, 5, 2, type::number, type::number},
    operator_row{"!", operation::invert, 6, 1, type::truth, type::truth},
    operator_row{"-", operation::negate, 6, 1, type::number, type::number},
};

const operator_row* operator_of(const lexeme& word, unsigned operands) {
  if (word.what != lexeme::kind::symbol) return nullptr;
  const auto* const found = std::ranges::find_if(
      operators, [&](const operator_row& each) { return each.symbol == word.typed && each.operands == operands; });
  return found == operators.end() ? nullptr : found;
}

class parser {
 public:
  explicit parser(std::string_view text) : lexer_(text) { made_.text = text; }

  expression parse() {
    if (made_.text.size() > max_bytes) throw usage_error("a condition has 4096 bytes at the most");
    advance();
    for (;;) {
      read_operand();
      while (next_.is_symbol(")")) close();
      if (next_.what == lexeme::kind::end) break;
      read_operator();
    }
    return finish();
  }

 private:
  /// An operator that waits, or an open parenthesis.
  struct waiting {
    const operator_row* row;  ///< null: a parenthesis
    std::size_t at;
  };

  /// A value that the steps so far leave on the stack.
  struct operand {
    type is;
    std::size_t at;
  };

  [[noreturn]] void refuse(std::string_view message, std::size_t at) const {
    throw usage_error(pointing_at(message, made_.text, at));
  }

  void advance() { next_ = lexer_.next(); }

  void wait(const operator_row* row) {
    if (waiting_.size() == max_waiting) refuse("this is nested too deep; 64 levels are the most", next_.at);
    waiting_.push_back({.row = row, .at = next_.at});
    advance();
  }

  void read_operand() {
    for (;;) {
      if (next_.is_symbol("(")) {
        wait(nullptr);
      } else if (const operator_row* const prefix = operator_of(next_, 1)) {
        wait(prefix);
      } else {
        break;
      }
    }
    const std::size_t at = next_.at;
    if (next_.what == lexeme::kind::number) {
      made_.steps.push_back({.what = operation::constant, .constant = next_.number});
      advance();
    } else if (next_.what == lexeme::kind::name) {
      read_name();
    } else {
      refuse("here a number, a name or a parenthesis is missing", at);
    }
    operands_.push_back({.is = type::number, .at = at});
  }

  void read_operator() {
    const operator_row* const row = operator_of(next_, 2);
    if (row == nullptr) refuse("here an operator is missing: || && < <= > >= == != + - * /", next_.at);
    while (!waiting_.empty() && waiting_.back().row != nullptr && waiting_.back().row->binding >= row->binding) {
      reduce();
    }
    wait(row);
  }

  void close() {
    while (!waiting_.empty() && waiting_.back().row != nullptr) reduce();
    if (waiting_.empty()) refuse("this parenthesis was never opened", next_.at);
    waiting_.pop_back();
    advance();
  }

  // The operator that waits last has all of its operands now.
  void reduce() {
    const waiting last = waiting_.back();
    waiting_.pop_back();
    const auto first = operands_.end() - last.row->operands;
    if (std::any_of(first, operands_.end(), [&](const operand& each) { return each.is != last.row->takes; })) {
      refuse(last.row->takes == type::truth
                 ? "this joins conditions, and beside it is a number; compare it with something"
                 : "this takes numbers, and beside it is a condition",
             last.at);
    }
    const std::size_t at = first->at;
    operands_.erase(first, operands_.end());
    operands_.push_back({.is = last.row->gives, .at = at});
    made_.steps.push_back({.what = last.row->what});
  }

  // NAME, SCHEME.BUCKET, count(...) or share(...)
  void read_name() {
    const lexeme first = next_;
    advance();
    if (!first.is_plain_word() || !next_.is_symbol("(")) {
      return add({.parts = first.parts, .at = first.at}, first.at + first.typed.size());
    }
    const reference::form form = form_of(first);
    advance();
    if (next_.what != lexeme::kind::name) refuse("here the name of a bucket is missing", next_.at);
    reference made{.parts = next_.parts, .as = form, .at = first.at};
    advance();
    if (!next_.is_symbol(")")) refuse("here a ) is missing: a bucket is all that can be asked for", next_.at);
    const std::size_t end = next_.at + 1;
    advance();
    add(std::move(made), end);
  }

  [[nodiscard]] reference::form form_of(const lexeme& word) const {
    if (word.typed == "count") return reference::form::count;
    if (word.typed == "share") return reference::form::share;
    refuse("there is no function " + quote(word.typed) + "; known are count(BUCKET) and share(BUCKET)", word.at);
  }

  void add(reference made, std::size_t end) {
    made.typed = made_.text.substr(made.at, end - made.at);
    made_.steps.push_back({.what = operation::name, .reference = made_.references.size()});
    made_.references.push_back(std::move(made));
  }

  expression finish() {
    while (!waiting_.empty()) {
      if (waiting_.back().row == nullptr) refuse("this parenthesis is never closed", waiting_.back().at);
      reduce();
    }
    if (operands_.front().is != type::truth) {
      refuse("this is a number, and a condition is wanted; compare it with something, as in entropy > 7.5",
             operands_.front().at);
    }
    return std::move(made_);
  }

  lexer lexer_;
  lexeme next_;
  expression made_;
  std::vector<waiting> waiting_;
  std::vector<operand> operands_;
};

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

expression parse_expression(std::string_view text) { return parser(text).parse(); }

std::string pointing_at(std::string_view message, std::string_view text, std::size_t at) {
  const std::size_t column = characters_in(on_one_line(text.substr(0, at)));
  return std::string(message) + "\n    " + on_one_line(text) + "\n    " + std::string(column, ' ') + "^";
}

}  // namespace gpuhist::config
