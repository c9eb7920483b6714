#include "config/expression_lexer.hpp"

#include "config/quote.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace gpuhist::config {
namespace {

// The longer ones first: "<=" is not "<" and "=".
constexpr std::array<std::string_view, 17> symbols = {"||", "&&", "<=", ">=", "==", "!=", "<", ">", "!",
                                                      "+",  "-",  "*",  "/",  "(",  ")",  "=", "&"};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes of UTF-8 beyond ASCII are letters: buckets may be called anything.
constexpr bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
constexpr bool is_quote(char c) { return c == '"' || c == '\''; }
constexpr bool is_in_word(char c) { return begins_word(c) || is_digit(c); }

[[noreturn]] void refuse(std::string_view message, std::string_view text, std::size_t at) {
  throw usage_error(pointing_at(message, text, at));
}

}  // namespace

lexeme lexer::next() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  if (at_ == text_.size()) return {.what = lexeme::kind::end, .at = at_, .typed = {}};
  const char first = text_[at_];
  const bool fraction = first == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  if (is_digit(first) || fraction) return number();
  if (begins_word(first) || is_quote(first)) return name();
  return symbol();
}

// All that could belong to one: what is taken for a number is one as a whole, or an error.
lexeme lexer::number() {
  const std::size_t begin = at_;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    const bool sign_of_exponent = (c == '-' || c == '+') && at_ > begin && (text_[at_ - 1] | 0x20) == 'e';
    if (!is_in_word(c) && c != '.' && !sign_of_exponent) break;
  }
  const std::string_view typed = from(begin);
  double value = 0;
  const auto [rest, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
  if (error == std::errc{} && rest == typed.data() + typed.size()) {
    return {.what = lexeme::kind::number, .at = begin, .typed = typed, .number = value};
  }
  try {
    return {
        .what = lexeme::kind::number, .at = begin, .typed = typed, .number = static_cast<double>(parse_size(typed))};
  } catch (const usage_error&) {
    refuse(quote(typed) + " is neither a number nor a size; good forms are 0.15, 2e-3, 64KiB, 1GB, and for a name \"" +
               on_one_line(typed) + "\" in quotes",
           text_, begin);
  }
}

// PART or PART.PART, without blanks between.
lexeme lexer::name() {
  const std::size_t begin = at_;
  std::vector<std::string> parts = {part()};
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    parts.push_back(part());
  }
  return {.what = lexeme::kind::name, .at = begin, .typed = from(begin), .parts = std::move(parts)};
}

// Behind a dot one may begin with a digit, as in bytes.0x41: nothing else can be meant there.
std::string lexer::part() {
  const std::size_t begin = at_;
  if (at_ < text_.size() && is_quote(text_[at_])) return quoted();
  while (at_ < text_.size() && is_in_word(text_[at_])) ++at_;
  if (at_ == begin) refuse("here the name of a bucket is missing; odd ones stand in quotes", text_, begin);
  return std::string(from(begin));
}

std::string lexer::quoted() {
  const std::size_t begin = at_;
  const char quote_mark = text_[at_++];
  std::string name;
  while (at_ < text_.size() && text_[at_] != quote_mark) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    name += text_[at_++];
  }
  if (at_ == text_.size()) refuse("the name that begins here has no end: its quote is missing", text_, begin);
  ++at_;
  if (name.empty()) refuse("a name has at least one character", text_, begin);
  return name;
}

lexeme lexer::symbol() {
  const std::size_t begin = at_;
  const std::string_view rest = text_.substr(begin);
  const auto* const found =
      std::ranges::find_if(symbols, [&](std::string_view each) { return rest.starts_with(each); });
  if (found == symbols.end()) {
    refuse(rest.front() == '|' ? "'|' alone means nothing; give || for 'or'" : "this character means nothing here",
           text_, begin);
  }
  if (*found == "=") refuse("'=' alone means nothing; give == for 'is equal to'", text_, begin);
  if (*found == "&") refuse("'&' alone means nothing; give && for 'and'", text_, begin);
  at_ += found->size();
  return {.what = lexeme::kind::symbol, .at = begin, .typed = from(begin)};
}

}  // namespace gpuhist::config
