// Dijkstra's shunting-yard algorithm: operators wait on a stack for their operands, so the parser does not recurse.
#include "config/expression.hpp"

#include "config/expression_lexer.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/text_functions.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace gpuhist::config {
namespace {

using operation = expression::operation;

constexpr std::size_t max_bytes = 4096;
constexpr std::size_t max_waiting = 64;

/// The type of a value on the stack.
enum class type : std::uint8_t { number, truth };

struct operator_row {
  std::string_view symbol;
  operation meaning;
  unsigned binding;  ///< a higher number binds tighter
  unsigned operands;
  type takes;
  type result;
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

struct function_row {
  std::string_view name;
  reference::form form;
  bool has_buckets;  ///< its operand may be that of a scheme: SCHEME.BUCKET
  std::string_view operand;
  std::string_view example;
};

constexpr std::array functions = {
    function_row{"count", reference::form::count, true, "the name of a bucket", "count(digit)"},
    function_row{"share", reference::form::share, true, "the name of a bucket", "share(digit)"},
    function_row{"match", reference::form::match, false, "the name of a --match", "match(error)"},
    function_row{"number", reference::form::number, false, "a selector in quotes", "number(\"field:10\")"},
};

// Of the values of a formula of units, which is the operand. Quantiles have names with a number.
constexpr std::array functions_of_values = {
    std::pair{std::string_view("sum"), reference::form::sum},
    std::pair{std::string_view("mean"), reference::form::mean},
};

// "p99.9": 99.9. Nothing: this is not the name of a quantile.
std::optional<double> percent_in(std::string_view name) {
  if (!name.starts_with('p') || name.size() < 2) return std::nullopt;
  const std::string_view typed = name.substr(1);
  if (!std::ranges::all_of(typed, [](char each) { return (each >= '0' && each <= '9') || each == '.'; })) return {};
  double percent = 0;
  const auto [rest, error] = std::from_chars(typed.data(), typed.data() + typed.size(), percent);
  if (error != std::errc{} || rest != typed.data() + typed.size()) return std::nullopt;
  return percent;
}

const operator_row* operator_of(const lexeme& token, unsigned operands) {
  if (token.type != lexeme::kind::symbol) return nullptr;
  const auto* const found = std::ranges::find_if(
      operators, [&](const operator_row& each) { return each.symbol == token.typed && each.operands == operands; });
  return found == operators.end() ? nullptr : found;
}

class parser {
 public:
  /// `result`: the type of the whole text.
  parser(std::string_view text, std::span<const scheme> schemes, type result) : lexer_(text, schemes), result_(result) {
    made_.text = text;
  }
  explicit parser(const placed_text& part)
      : lexer_(part.whole.substr(0, part.at + part.bytes), {}, part.at), result_(type::truth) {
    made_.text = part.whole;
  }

  expression parse() {
    if (made_.text.size() > max_bytes) throw usage_error(noun() + " is longer than 4096 bytes");
    advance();
    for (;;) {
      read_operand();
      while (next_.is_symbol(")")) close();
      if (next_.type == lexeme::kind::end) break;
      read_operator();
    }
    return finish();
  }

 private:
  /// An operator whose right operand is not complete, or an open parenthesis.
  struct waiting {
    const operator_row* row;  ///< null: a parenthesis
    std::size_t at;
  };

  /// A value that the steps so far leave on the stack: its type, and its offset in the text.
  struct operand {
    type is;
    std::size_t at;
  };

  [[noreturn]] void refuse(std::string_view message, std::size_t at) const {
    throw usage_error(pointing_at(message, made_.text, at));
  }

  [[nodiscard]] std::string noun() const { return result_ == type::truth ? "the condition" : "the formula"; }

  void advance() { next_ = lexer_.next(); }

  void wait(const operator_row* row) {
    if (waiting_.size() == max_waiting)
      refuse(noun() + " is nested too deep; at most 64 levels are possible", next_.at);
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
    if (next_.type == lexeme::kind::number) {
      made_.steps.push_back({.what = operation::constant, .constant = next_.number});
      advance();
    } else if (next_.type == lexeme::kind::name) {
      read_name();
    } else {
      refuse("a number, a name or a parenthesis is missing here", at);
    }
    operands_.push_back({.is = type::number, .at = at});
  }

  void read_operator() {
    const operator_row* const row = operator_of(next_, 2);
    if (row == nullptr) {
      refuse(R"(an operator is missing here (|| && < <= > >= == != + - * /), or this is a name that must be quoted, )"
             R"(as in "a b")",
             next_.at);
    }
    while (!waiting_.empty() && waiting_.back().row != nullptr && waiting_.back().row->binding >= row->binding) {
      reduce();
    }
    if (row->takes == type::truth) make_condition_of_name();
    wait(row);
  }

  void close() {
    while (!waiting_.empty() && waiting_.back().row != nullptr) reduce();
    if (waiting_.empty()) refuse("this parenthesis has no opening one", next_.at);
    waiting_.pop_back();
    advance();
  }

  // All operands of the last waiting operator are complete.
  void reduce() {
    const waiting last = waiting_.back();
    waiting_.pop_back();
    if (last.row->takes == type::truth) make_condition_of_name();
    const auto first = operands_.end() - last.row->operands;
    if (std::any_of(first, operands_.end(), [&](const operand& each) { return each.is != last.row->takes; })) {
      refuse(last.row->takes == type::truth
                 ? "this operator joins conditions, but one operand is a number; compare the number with something"
                 : "this operator takes numbers, but one operand is a condition",
             last.at);
    }
    const std::size_t at = first->at;
    operands_.erase(first, operands_.end());
    operands_.push_back({.is = last.row->result, .at = at});
    made_.steps.push_back({.what = last.row->meaning});
  }

  // The last operand: match(NAME) alone becomes match(NAME) > 0, and so do functions of texts that are true or false.
  void make_condition_of_name() {
    if (made_.steps.back().what != operation::name) return;
    const reference& last = made_.references[made_.steps.back().reference];
    const bool is_plain = last.as == reference::form::plain && last.parts.size() == 1;
    const bool is_text = last.as == reference::form::text || is_plain;
    const bool is_truth = is_text && is_text_truth(is_plain ? last.parts.front() : last.function);
    if (last.as != reference::form::match && !is_truth) return;
    made_.steps.push_back({.what = operation::constant, .constant = 0});
    made_.steps.push_back({.what = operation::greater});
    operands_.back().is = type::truth;
  }

  // NAME, SCHEME.BUCKET, or a function of one name
  void read_name() {
    const lexeme first = next_;
    advance();
    const std::optional<reference> of_values = next_.is_symbol("(") ? function_of_values(first) : std::nullopt;
    if (of_values) return read_operand_of(*of_values);
    if (next_.is_symbol("(") && first.is_plain_word() && takes_text_operand(first.typed)) {
      return read_operand_of(
          {.parts = {}, .as = reference::form::text, .at = first.at, .function = std::string(first.typed)});
    }
    if (!first.is_plain_word() || !next_.is_symbol("(")) {
      return add({.parts = first.parts, .at = first.at}, first.at + first.typed.size());
    }
    const reference::form form = form_of(first);
    advance();
    const function_row& function = *std::ranges::find(functions, form, &function_row::form);
    if (next_.type != lexeme::kind::name) refuse(std::string(function.operand) + " is missing here", next_.at);
    if (!function.has_buckets && next_.parts.size() > 1) {
      refuse("a name with a dot is quoted here, as in " + std::string(function.example), next_.at);
    }
    reference made{.parts = next_.parts, .as = form, .at = first.at};
    advance();
    if (!next_.is_symbol(")")) {
      refuse("a ) is missing here; the operand is " + std::string(function.operand) + ", as in " +
                 std::string(function.example),
             next_.at);
    }
    const std::size_t end = next_.at + 1;
    advance();
    add(std::move(made), end);
  }

  // Nothing: it is no name of one.
  [[nodiscard]] std::optional<reference> function_of_values(const lexeme& name) const {
    const auto* const found =
        std::ranges::find(functions_of_values, name.typed, [](const auto& row) { return row.first; });
    if (name.is_plain_word() && found != functions_of_values.end()) {
      return reference{.parts = {}, .as = found->second, .at = name.at};
    }
    const std::optional<double> percent = percent_in(name.typed);
    if (!percent) return std::nullopt;
    constexpr double all = 100;
    if (*percent <= 0 || *percent > all) {
      refuse("the percent of a quantile is above 0 and at most 100, as in p99.9(bytes)", name.at);
    }
    return reference{.parts = {}, .as = reference::form::quantile, .at = name.at, .percent = *percent};
  }

  // The operand is the text up to the parenthesis that closes it.
  void read_operand_of(reference made) {
    const std::size_t open_at = next_.at;
    const std::size_t begin = open_at + 1;
    std::size_t end = begin;
    for (std::size_t open = 1; open > 0;) {
      advance();
      if (next_.type == lexeme::kind::end) refuse("this parenthesis is not closed", open_at);
      if (next_.is_symbol("(")) ++open;
      if (next_.is_symbol(")")) --open;
      end = next_.at;
    }
    const std::string_view typed = std::string_view(made_.text).substr(begin, end - begin);
    const std::string operand(trimmed(typed));
    if (operand.empty()) {
      refuse(
          made.is_of_values() ? "a formula of units is missing here, as in p99(bytes)" : "the operand is missing here",
          end);
    }
    advance();
    made.operand_at = begin + typed.find(operand) - made.at;
    made.parts = {operand};
    add(std::move(made), end + 1);
  }

  [[nodiscard]] reference::form form_of(const lexeme& token) const {
    const auto* const found = std::ranges::find(functions, token.typed, &function_row::name);
    if (found != functions.end()) return found->form;
    for (const text_function& each : text_functions()) {
      if (each.name == token.typed) refuse("this is typed as " + each.usage(), token.at);
    }
    std::vector<std::string_view> known;
    for (const function_row& each : functions) known.push_back(each.name);
    for (const text_function& each : text_functions()) {
      if (each.takes != text_function::operand::none) known.emplace_back(each.name);
    }
    const auto meant = likely_name(token.typed, known);
    refuse("there is no function " + quote(token.typed) +
               (meant ? "; did you mean " + std::string(*meant) + "?"
                      : "; the functions are count(BUCKET), share(BUCKET), match(NAME), number(\"SELECTOR\"), "
                        "sum(FORMULA), mean(FORMULA), quantiles such as p99(FORMULA), and those of texts such as "
                        "line_share(CONDITION)"),
           token.at);
  }

  void add(reference made, std::size_t end) {
    made.typed = made_.text.substr(made.at, end - made.at);
    made_.steps.push_back({.what = operation::name, .reference = made_.references.size()});
    made_.references.push_back(std::move(made));
  }

  expression finish() {
    while (!waiting_.empty()) {
      if (waiting_.back().row == nullptr) refuse("this parenthesis is not closed", waiting_.back().at);
      reduce();
    }
    if (result_ == type::truth) make_condition_of_name();
    if (operands_.front().is != result_) {
      refuse(result_ == type::truth
                 ? "this is a number, not a condition; compare it with something, as in entropy > 7.5"
                 : "this is a condition, not a number; give a measure, a bucket or a formula, as in bytes / lines",
             operands_.front().at);
    }
    return std::move(made_);
  }

  lexer lexer_;
  const type result_;
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

expression parse_expression(std::string_view text, std::span<const scheme> schemes) {
  return parser(text, schemes, type::truth).parse();
}

expression parse_formula(std::string_view text, std::span<const scheme> schemes) {
  return parser(text, schemes, type::number).parse();
}

expression parse_part(const placed_text& condition) { return parser(condition).parse(); }

expression any_of(std::span<const expression> conditions) {
  constexpr std::string_view separator = " || ";
  expression made = conditions.front();
  for (const expression& each : conditions.subspan(1)) {
    const std::size_t offset = made.text.size() + separator.size();
    const std::size_t references = made.references.size();
    made.text += std::string(separator) + each.text;
    for (expression::step step : each.steps) {
      if (step.what == operation::name) step.reference += references;
      made.steps.push_back(step);
    }
    for (reference named : each.references) {
      named.at += offset;
      made.references.push_back(std::move(named));
    }
    made.steps.push_back({.what = operation::either});
  }
  return made;
}

std::string pointing_at(std::string_view message, std::string_view text, std::size_t at) {
  const std::size_t column = characters_in(on_one_line(text.substr(0, at)));
  return std::string(message) + "\n    " + on_one_line(text) + "\n    " + std::string(column, ' ') + "^";
}

std::vector<std::string> operator_levels() {
  std::vector<std::string> levels;
  unsigned binding = 0;
  for (const operator_row& each : operators) {
    const bool same_level = each.binding == binding;
    binding = each.binding;
    if (!same_level) levels.emplace_back();
    levels.back() += (same_level ? " " : "") + std::string(each.symbol);
  }
  std::ranges::reverse(levels);
  return levels;
}

}  // namespace gpuhist::config
