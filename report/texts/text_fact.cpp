#include "report/texts/text_fact.hpp"

#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "report/texts/characters.hpp"
#include "report/texts/languages.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace gpuhist::report::texts {
namespace {

using config::placed_text;
using config::reference;
using config::text_function;
using operand = config::text_function::operand;

[[noreturn]] void refuse(std::string_view message, const placed_text& at) {
  throw config::usage_error(config::pointing_at(message, at.whole, at.at));
}

[[noreturn]] void refuse_unknown(const config::expression& typed, const reference& unknown, const std::string& name) {
  std::vector<std::string_view> known;
  for (const text_function& each : config::text_functions()) {
    if (each.known_in == text_function::scope::element) known.emplace_back(each.name);
  }
  std::string message = config::quote(name) + " is no name of a condition of an element";
  if (const auto meant = config::likely_name(name, known)) {
    message += "; did you mean " + std::string(*meant) + "?";
  } else {
    message += "; names are";
    for (const std::string_view each : known) message += (each == known.front() ? " " : ", ") + std::string(each);
  }
  throw config::usage_error(config::pointing_at(message, typed.text, unknown.at));
}

// In a text in lower case, other strings are never found.
std::vector<std::string> strings_for(const text_function& function, const placed_text& operand) {
  std::vector<std::string> made = config::strings_in(operand);
  if (function.what != config::text_measure::lower_contains && function.what != config::text_measure::lower_ends) {
    return made;
  }
  for (const std::string& each : made) {
    std::string room;
    std::string lower;
    append_lower(as_utf8(each, room), lower);
    if (lower == each) continue;
    refuse(
        function.name + " searches in lower case; give " + config::quote(lower) + " instead of " + config::quote(each),
        operand);
  }
  return made;
}

// A string that is never an element would never be found.
void check_elements(const text_function& function, const std::vector<std::string>& strings, const placed_text& at) {
  if (function.of == config::text_part::text) return;
  for (const std::string& each : strings) {
    std::string room;
    std::vector<element> found;
    divide(as_utf8(each, room), function.of, detail::characters, found);
    if (found.size() == 1 && found.front().bytes == each.size()) continue;
    refuse(config::quote(each) + " is never one element; give contains(" + config::quote(each) + ")", at);
  }
}

void check_languages(const text_function& function, const std::vector<std::string>& strings, const placed_text& at) {
  if (function.what != config::text_measure::language && function.what != config::text_measure::language_share) return;
  const std::vector<std::string_view> known = language_codes();
  for (const std::string& each : strings) {
    if (std::ranges::find(known, each) != known.end()) continue;
    const auto meant = config::likely_name(each, known);
    refuse(
        config::quote(each) + " is no code of a language of CLD2; " +
            (meant ? "did you mean " + config::quote(*meant) + "?" : R"(codes are "en", "zh-Hant" and "un" (unknown))"),
        at);
  }
}

element_condition::name resolved(const config::expression& typed, const reference& name) {
  const bool has_operand = name.as == reference::form::text;
  const bool is_plain = name.as == reference::form::plain && name.parts.size() == 1;
  const std::string& word = has_operand ? name.function : name.parts.front();
  const text_function* found = nullptr;
  if (has_operand || is_plain) found = config::find_text_function(word, text_function::scope::element);
  if (found == nullptr) refuse_unknown(typed, name, is_plain || has_operand ? word : name.typed);
  if (has_operand != (found->takes == operand::strings)) {
    throw config::usage_error(config::pointing_at("this is typed as " + found->usage(), typed.text, name.at));
  }
  if (!has_operand) return {.what = found->what};
  return {.what = found->what,
          .strings = strings_for(
              *found, {.whole = typed.text, .at = name.at + name.operand_at, .bytes = name.parts.front().size()})};
}

std::size_t number_in(const text_function& function, const placed_text& typed) {
  const std::string_view text = typed.part();
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size() || number < 1 || number > text_fact::max_sequence) {
    refuse(function.name + " takes the number of elements in a sequence, 1 to " +
               std::to_string(text_fact::max_sequence) + ", as in " + function.name + "(2)",
           typed);
  }
  return number;
}

std::shared_ptr<const character_table> table_in(const text_function& function, const placed_text& typed) {
  const std::vector<std::string> strings = config::strings_in(typed);
  if (strings.size() > 2) {
    refuse(function.name + R"x( takes a file, and one group of it, as in ("x.json", "en"))x", typed);
  }
  try {
    return std::make_shared<const character_table>(strings.front(), strings.size() > 1 ? strings.back() : "");
  } catch (const std::runtime_error& error) {
    refuse(error.what(), typed);
  }
}

const text_function& function_named(std::string_view name, const placed_text& typed) {
  const text_function* const found = config::find_text_function(name, text_function::scope::unit);
  if (found == nullptr) {
    refuse(config::quote(name) + " is of an element of a text: it is known in conditions such as line_share(CONDITION)",
           typed);
  }
  return *found;
}

}  // namespace

detail element_condition::needed() const {
  const auto needs_traits = [](const name& each) {
    return each.what == config::text_measure::letters || each.what == config::text_measure::punctuation;
  };
  return std::ranges::any_of(names, needs_traits) ? detail::traits : detail::characters;
}

element_condition parse_element_condition(const placed_text& typed) {
  element_condition made{.typed = config::parse_part(typed), .names = {}};
  for (const reference& each : made.typed.references) made.names.push_back(resolved(made.typed, each));
  return made;
}

text_fact::text_fact(std::string_view function, const config::placed_text& typed)
    : function_(function_named(function, typed)) {
  const bool has_operand = typed.bytes > 0;
  const bool may_have = function_.takes != operand::none;
  const bool must_have = may_have && function_.takes != operand::optional_condition;
  if (has_operand ? !may_have : must_have) refuse("this is typed as " + function_.usage(), typed);
  switch (function_.takes) {
    case operand::none:
      break;
    case operand::condition:
    case operand::optional_condition:
      if (has_operand) condition_ = parse_element_condition(typed);
      break;
    case operand::strings:
      strings_ = strings_for(function_, typed);
      check_elements(function_, strings_, typed);
      check_languages(function_, strings_, typed);
      break;
    case operand::table:
      table_ = table_in(function_, typed);
      break;
    case operand::number:
      number_ = number_in(function_, typed);
      break;
  }
}

}  // namespace gpuhist::report::texts
