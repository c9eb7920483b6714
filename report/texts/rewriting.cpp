#include "report/texts/rewriting.hpp"

#include "config/option_values.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "report/texts/characters.hpp"
#include "report/texts/condition_reader.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhist::report::texts {
namespace {

using kind = rewriting_step::kind;

struct kind_row {
  std::string_view word;
  kind what;
  bool has_operand;
};

constexpr std::array kinds = {kind_row{"drop", kind::drop, true}, kind_row{"cut", kind::cut, true},
                              kind_row{"strip", kind::strip, false}};

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

RE2::Options options_of_expressions() { return {RE2::Quiet}; }

// `word`: of the kind; empty: it is known.
[[noreturn]] void refuse_step(std::string_view typed, std::string_view word) {
  constexpr std::array words = {kinds[0].word, kinds[1].word, kinds[2].word};
  std::string message = config::quote(typed) + " is no step";
  if (const auto meant = word.empty() ? std::nullopt : config::likely_name(word, words)) {
    message += "; did you mean " + std::string(*meant) + "?";
  } else {
    message += "; steps are drop CONDITION, cut EXPRESSION and strip, as in \"drop words < 3\"";
  }
  throw config::usage_error(message);
}

void check_expression(std::string_view expression) {
  const RE2 made(piece_of(expression), options_of_expressions());
  if (made.ok()) return;
  throw config::usage_error("the expression " + config::quote(expression) +
                            " is not valid: " + config::on_one_line(made.error()) + "; the syntax is that of RE2");
}

}  // namespace

rewriting_step parse_rewriting_step(std::string_view typed) {
  config::named_condition named = config::parse_rule(typed);
  rewriting_step made{.name = std::move(named.name), .typed = std::string(config::trimmed(named.condition))};
  const std::string_view text = made.typed;
  const std::string_view word = text.substr(0, std::min(text.find_first_of(" \t"), text.size()));
  const std::string_view operand = config::trimmed(text.substr(word.size()));
  const auto* const found = std::ranges::find(kinds, word, &kind_row::word);
  if (found == kinds.end() || found->has_operand == operand.empty()) {
    refuse_step(text, found == kinds.end() ? word : "");
  }
  made.what = found->what;
  if (made.what == kind::drop) {
    made.condition = parse_element_condition(
        {.whole = text, .at = static_cast<std::size_t>(operand.data() - text.data()), .bytes = operand.size()});
  } else if (made.what == kind::cut) {
    made.expression = operand;
    check_expression(made.expression);
  }
  return made;
}

// What a step needs besides the lines.
struct text_rewriter::tool {
  std::optional<condition_reader> condition;
  std::optional<RE2> expression;
};

text_rewriter::text_rewriter(std::span<const rewriting_step> steps) : steps_(steps), counts_(steps.size()) {
  for (const rewriting_step& each : steps) {
    tool& made = *tools_.emplace_back(std::make_unique<tool>());
    if (each.what == kind::cut) made.expression.emplace(each.expression, options_of_expressions());
    if (!each.condition) continue;
    made.condition.emplace(*each.condition);
    if (each.condition->needed() == detail::traits) needed_ = detail::traits;
  }
}

text_rewriter::~text_rewriter() = default;

void text_rewriter::rewrite(std::string_view text, std::string& to) {
  text_ = text;
  divide(text_, config::text_part::row, needed_, lines_);
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    switch (steps_[step].what) {
      case kind::drop:
        drop(step);
        break;
      case kind::cut:
        cut(step);
        break;
      case kind::strip:
        strip(step);
        break;
    }
  }
  const std::size_t begin = to.size();
  for (const element& each : lines_) {
    std::string_view line = each.in(text_);
    if (to.size() == begin) {
      line = without_leading_space(line);  // blank lines at the beginning are white space, too
    } else {
      to += '\n';
    }
    to += line;
  }
  to.resize(begin + without_trailing_space(std::string_view(to).substr(begin)).size());
}

void text_rewriter::drop(std::size_t step) {
  condition_reader& condition = *tools_[step]->condition;
  std::size_t left = 0;
  for (std::size_t first = 0; first < lines_.size(); first += condition_reader::room) {
    const std::size_t number = std::min(condition_reader::room, lines_.size() - first);
    const std::span<const double> holds = condition.holds(text_, std::span(lines_).subspan(first, number));
    for (std::size_t i = 0; i < number; ++i) {
      const element line = lines_[first + i];
      if (holds[i] == 1.0) {
        note(step, line.bytes);
      } else {
        lines_[left++] = line;
      }
    }
  }
  lines_.resize(left);
}

// If a line changes, all are written anew.
void text_rewriter::cut(std::size_t step) {
  const RE2& expression = *tools_[step]->expression;
  const auto matches = [&](const element& each) { return RE2::PartialMatch(piece_of(each.in(text_)), expression); };
  const auto first = std::ranges::find_if(lines_, matches);
  if (first == lines_.end()) return;
  std::string made;
  made.swap(room_);
  made.clear();
  for (element& each : lines_) {
    std::string line(each.in(text_));
    const bool is_changed = RE2::GlobalReplace(&line, expression, "") > 0 && line.size() < each.bytes;
    if (is_changed) note(step, each.bytes - line.size());
    const std::size_t begin = made.size();
    made += line;
    if (is_changed) {
      each = element_of(made, begin, line.size(), needed_);
    } else {
      each.begin = static_cast<std::uint32_t>(begin);
    }
  }
  room_.swap(changed_);
  changed_ = std::move(made);
  text_ = changed_;
}

void text_rewriter::strip(std::size_t step) {
  for (element& each : lines_) {
    const std::string_view line = each.in(text_);
    const std::string_view rest = without_leading_space(line);
    const std::string_view inner = without_trailing_space(rest);
    if (inner.size() == line.size()) continue;
    note(step, line.size() - inner.size());
    each = element_of(text_, each.begin + line.size() - rest.size(), inner.size(), needed_);
  }
}

void text_rewriter::note(std::size_t step, std::size_t bytes) {
  ++counts_[step].lines;
  counts_[step].bytes += bytes;
}

std::vector<step_count> text_rewriter::take_counts() {
  std::vector<step_count> taken(steps_.size());
  taken.swap(counts_);
  return taken;
}

void text_rewriter::release() {
  std::vector<element>().swap(lines_);
  std::string().swap(changed_);
  std::string().swap(room_);
}

}  // namespace gpuhist::report::texts
