#include "config/scheme.hpp"

#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace gpuhist::config {
namespace {

constexpr std::uint16_t no_bucket = std::numeric_limits<std::uint16_t>::max();
constexpr std::string_view known_escapes = R"(\n \t \r \0 \\ \- \; \= \: \, \xNN)";

std::string in_hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', digits[byte >> 4U], digits[byte & 0xfU]};
  }
  return out;
}

/// A byte as users type it: 'e', or '\x80'.
std::string shown(std::uint8_t byte) {
  const char c = static_cast<char>(byte);
  return "'" + (byte > 0x20 && byte < 0x7f ? std::string(1, c) : in_hexadecimal({&c, 1})) + "'";
}

int hexadecimal_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Length of the forbidden character at the front of the text; 0 if the character is allowed.
std::size_t forbidden_in_names(std::string_view text) {
  const std::size_t length = utf8_sequence(text);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 0 || byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0) return 2;  // U+0080 to U+009f: some terminals execute them
  return std::string_view(",:;=").find(text.front()) == std::string_view::npos ? 0 : 1;
}

/// Parses a definition in one pass.
class definition {
 public:
  explicit definition(std::string_view text) : text_(text) { made_.bucket_of.fill(no_bucket); }

  scheme parse() {
    take_name();
    take_bucket();
    while (at_ < text_.size()) {
      ++at_;  // the ';' before the bucket, or at the end
      if (at_ < text_.size()) take_bucket();
    }
    add_other();
    return std::move(made_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const;

  void take_name();
  void take_bucket();
  void take_characters(std::uint16_t bucket);
  void take_range(std::size_t start, std::uint8_t first, std::uint16_t bucket);
  std::uint8_t take_character();
  std::uint8_t take_escape();
  std::uint8_t take_hexadecimal(std::size_t start);

  void check_name(std::size_t start, std::string_view name) const;
  void check_bucket(std::size_t start, std::string_view name) const;
  void put(std::size_t at, std::uint8_t byte, std::uint16_t bucket);
  void add_other();

  /// Whether the characters of a bucket end there.
  [[nodiscard]] bool ends(std::size_t at) const { return at >= text_.size() || text_[at] == ';'; }

  std::string_view text_;
  std::size_t at_ = 0;
  scheme made_;
};

void definition::fail(std::size_t at, const std::string& message) const {
  const auto* const here = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at, text_.size()));
  const auto characters = 1 + std::count_if(text_.begin(), here, [](char c) { return (c & 0xc0) != 0x80; });
  throw usage_error(quote(text_) + ", character " + std::to_string(characters) + ": " + message);
}

void definition::take_name() {
  const std::size_t colon = text_.substr(0, text_.find('=')).find(':');
  if (colon == std::string_view::npos) return;
  if (colon == 0) fail(0, "the name before ':' is empty; write NAME:bucket=characters, or no ':'");
  made_.name = text_.substr(0, colon);
  check_name(0, made_.name);
  at_ = colon + 1;
}

void definition::take_bucket() {
  const std::size_t start = at_;
  const std::size_t end = std::min(text_.find_first_of("=;", start), text_.size());
  const std::string_view name = text_.substr(start, end - start);
  if (end == text_.size() || text_[end] == ';') {
    if (name.empty()) fail(start, "a bucket is missing; write bucket=characters;bucket=characters");
    fail(start, quote(name) + " has no characters; write bucket=characters, and \\; for the character ';'");
  }
  check_bucket(start, name);
  at_ = end + 1;
  if (ends(at_)) fail(at_, "bucket " + quote(name) + " is empty; write its characters after the '='");
  made_.buckets.emplace_back(name);
  take_characters(static_cast<std::uint16_t>(made_.buckets.size() - 1));
}

void definition::take_characters(std::uint16_t bucket) {
  while (!ends(at_)) {
    const std::size_t start = at_;
    const std::uint8_t first = take_character();
    if (!ends(at_) && text_[at_] == '-' && !ends(at_ + 1)) {
      take_range(start, first, bucket);
    } else {
      put(start, first, bucket);
    }
  }
}

void definition::take_range(std::size_t start, std::uint8_t first, std::uint16_t bucket) {
  ++at_;  // the '-'
  const std::uint8_t last = take_character();
  if (last < first) {
    fail(start, "the range from " + shown(first) + " to " + shown(last) + " is reversed; write the lower one first");
  }
  for (unsigned byte = first; byte <= last; ++byte) put(start, static_cast<std::uint8_t>(byte), bucket);
  if (!ends(at_) && text_[at_] == '-' && !ends(at_ + 1)) {
    fail(at_, R"('-' after a range is ambiguous; write \- for the character)");
  }
}

std::uint8_t definition::take_character() {
  const char c = text_[at_];
  if (c == '\\') return take_escape();
  if (c == '=') fail(at_, R"('=' among the characters; write \= for the character, or ';' before the next bucket)");
  if (static_cast<unsigned char>(c) >= 0x80) {
    const std::size_t length = std::max<std::size_t>(1, utf8_sequence(text_.substr(at_)));
    fail(at_, "this character is not ASCII; buckets hold bytes: write " + in_hexadecimal(text_.substr(at_, length)));
  }
  ++at_;
  return static_cast<std::uint8_t>(c);
}

std::uint8_t definition::take_escape() {
  const std::size_t start = at_++;
  if (at_ == text_.size()) fail(start, R"(the escape is incomplete; write \\ for the character '\')");
  const char c = text_[at_++];
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case '0':
      return 0;
    case 'x':
      return take_hexadecimal(start);
    default:
      if (std::string_view("\\-;=:,").find(c) != std::string_view::npos) return static_cast<std::uint8_t>(c);
  }
  const std::size_t length = std::max<std::size_t>(1, utf8_sequence(text_.substr(start + 1)));
  fail(start, "there is no escape " + quote(text_.substr(start, 1 + length)) + "; the escapes are " +
                  std::string(known_escapes));
}

std::uint8_t definition::take_hexadecimal(std::size_t start) {
  const int high = at_ < text_.size() ? hexadecimal_digit(text_[at_]) : -1;
  const int low = at_ + 1 < text_.size() ? hexadecimal_digit(text_[at_ + 1]) : -1;
  if (high < 0 || low < 0) fail(start, R"(\x takes two hexadecimal digits, as in \x0a)");
  at_ += 2;
  return static_cast<std::uint8_t>(high * 16 + low);
}

void definition::check_name(std::size_t start, std::string_view name) const {
  for (std::size_t i = 0; i < name.size(); i += std::max<std::size_t>(1, utf8_sequence(name.substr(i)))) {
    const std::size_t length = forbidden_in_names(name.substr(i));
    if (length == 0) continue;
    const char c = name[i];
    const bool visible = length == 1 && c > ' ' && c < 0x7f;
    const std::string which = "'" + (visible ? std::string(1, c) : in_hexadecimal(name.substr(i, length))) + "'";
    fail(start + i, "a name may not contain " + which +
                        (c == ',' ? "; give each definition in a value of its own"
                                  : "; use UTF-8 without control characters and , : ; ="));
  }
  if (name.front() == ' ' || name.back() == ' ') {
    fail(start, "a name may neither begin nor end with a blank; remove the blank");
  }
}

void definition::check_bucket(std::size_t start, std::string_view name) const {
  if (name.empty()) fail(start, "a bucket has no name; write bucket=characters");
  check_name(start, name);
  if (name == "other") fail(start, "\"other\" is the bucket of all other bytes; use another name");
  if (std::find(made_.buckets.begin(), made_.buckets.end(), name) != made_.buckets.end()) {
    fail(start, "bucket " + quote(name) + " is defined twice; write all of its characters after one '='");
  }
}

void definition::put(std::size_t at, std::uint8_t byte, std::uint16_t bucket) {
  std::uint16_t& current = made_.bucket_of[byte];
  if (current != no_bucket && current != bucket) {
    fail(at, shown(byte) + " is in bucket " + quote(made_.buckets[current]) + " and in bucket " +
                 quote(made_.buckets[bucket]) + "; remove it from one of them");
  }
  current = bucket;
}

void definition::add_other() {
  if (std::find(made_.bucket_of.begin(), made_.bucket_of.end(), no_bucket) == made_.bucket_of.end()) return;
  std::replace(made_.bucket_of.begin(), made_.bucket_of.end(), no_bucket,
               static_cast<std::uint16_t>(made_.buckets.size()));
  made_.buckets.emplace_back("other");
}

}  // namespace

bool is_custom_scheme(std::string_view typed) { return typed.find('=') != std::string_view::npos; }

scheme parse_custom_scheme(std::string_view typed) { return definition(typed).parse(); }

}  // namespace gpuhist::config
