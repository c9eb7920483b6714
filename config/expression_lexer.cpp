#include "config/expression_lexer.hpp"

#include "config/size.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace gpuhist::config {
namespace {

// Longer symbols first: "<=" is not "<" and "=".
constexpr std::array<std::string_view, 18> symbols = {"||", "&&", "<=", ">=", "==", "!=", "<", ">", "!",
                                                      "+",  "-",  "*",  "/",  "(",  ")",  "=", "&", ","};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes of UTF-8 beyond ASCII are letters: a bucket may have any name.
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
  if (at_ == text_.size()) return {.type = lexeme::kind::end, .at = at_, .typed = {}};
  const char first = text_[at_];
  const bool fraction = first == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  if (is_digit(first) || fraction) return number();
  if (begins_word(first) || is_quote(first)) return name();
  return symbol();
}

// Takes every character that can be part of a number. The whole is a number or a size, or an error.
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
    return {.type = lexeme::kind::number, .at = begin, .typed = typed, .number = value};
  }
  try {
    return {
        .type = lexeme::kind::number, .at = begin, .typed = typed, .number = static_cast<double>(parse_size(typed))};
  } catch (const usage_error&) {
    refuse(quote(typed) + " is neither a number nor a size; good forms are 0.15, 2e-3, 64KiB, 1GB; the name of a " +
               "bucket that begins with a digit is quoted: \"" + on_one_line(typed) + "\"",
           text_, begin);
  }
}

// BUCKET or SCHEME.BUCKET, without blanks at the dot.
lexeme lexer::name() {
  const std::size_t begin = at_;
  std::vector<std::string> parts = {at_quote() ? quoted() : word(longest_name())};
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    parts.push_back(at_quote() ? quoted() : word(longest_bucket_of(parts.front())));
  }
  return {.type = lexeme::kind::name, .at = begin, .typed = from(begin), .parts = std::move(parts)};
}

bool lexer::at_quote() const { return at_ < text_.size() && is_quote(text_[at_]); }

// After a dot a word may begin with a digit, as in bytes.0x41: a number is not possible there.
std::string lexer::word(std::size_t known_length) {
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_in_word(text_[at_])) ++at_;
  at_ = std::max(at_, begin + known_length);
  if (at_ == begin)
    refuse(R"(the name of a bucket is missing here; other names are quoted, as in "a+b")", text_, begin);
  return std::string(from(begin));
}

std::size_t lexer::length_if_here(std::string_view known) const {
  if (!text_.substr(at_).starts_with(known)) return 0;
  const std::size_t end = at_ + known.size();
  return end < text_.size() && is_in_word(text_[end]) ? 0 : known.size();
}

std::size_t lexer::longest_name() const {
  std::size_t longest = 0;
  for (const scheme& each : schemes_) {
    longest = std::max(longest, longest_bucket_of(each.name));
    const std::size_t length = length_if_here(each.name);
    if (length != 0 && text_.substr(at_ + length).starts_with('.')) longest = std::max(longest, length);
  }
  return longest;
}

std::size_t lexer::longest_bucket_of(std::string_view scheme_name) const {
  std::size_t longest = 0;
  for (const scheme& each : schemes_) {
    if (each.name != scheme_name) continue;
    for (const std::string& bucket : each.buckets) longest = std::max(longest, length_if_here(bucket));
    for (const former_name& bucket : each.former_names) longest = std::max(longest, length_if_here(bucket.name));
  }
  return longest;
}

// A backslash before another character is a part of the name, as in number("regex:took (\d+)").
std::string lexer::quoted() {
  const std::size_t begin = at_;
  const char quote_mark = text_[at_++];
  std::string name;
  while (at_ < text_.size() && text_[at_] != quote_mark) {
    const bool escapes =
        text_[at_] == '\\' && at_ + 1 < text_.size() && (is_quote(text_[at_ + 1]) || text_[at_ + 1] == '\\');
    if (escapes) ++at_;
    name += text_[at_++];
  }
  if (at_ == text_.size()) refuse("the quote that closes the name is missing", text_, begin);
  ++at_;
  if (name.empty()) refuse("the name is empty", text_, begin);
  return name;
}

lexeme lexer::symbol() {
  const std::size_t begin = at_;
  const std::string_view rest = text_.substr(begin);
  const auto* const found =
      std::ranges::find_if(symbols, [&](std::string_view each) { return rest.starts_with(each); });
  if (found == symbols.end()) {
    if (rest.front() == '|') refuse("'|' is not an operator; give || for 'or'", text_, begin);
    refuse(R"(this character has no meaning here; quote the name of a bucket that contains it, as in "a#b")", text_,
           begin);
  }
  if (*found == "=") refuse("'=' is not an operator; give == for 'is equal to'", text_, begin);
  if (*found == "&") refuse("'&' is not an operator; give && for 'and'", text_, begin);
  at_ += found->size();
  return {.type = lexeme::kind::symbol, .at = begin, .typed = from(begin)};
}

}  // namespace gpuhist::config
