// template reads a line with its variable parts replaced, so that the lines of one statement of a log are equal.
//
// A word is a run of letters and digits of ASCII and of bytes from 0x80 on. A part begins at a byte in the list below
// and is replaced; all other bytes are kept. Where several parts could begin, the first of the list does:
//
//   blanks, tabs        a run is one blank; none at the beginning and at the end of the line
//   <str>               text in double or single quotes, of at most 1024 bytes, with the quotes. The opening quote does
//                       not follow a word, the closing one does not precede a word and does not follow a backslash.
//                       Kept as it is: a key of JSON, in double quotes between '{' or ',' and ':', of at most 64 bytes
//   <path>              from '/' on: at least two components of letters, digits, bytes from 0x80 on and _.-+@%~ that
//                       begins the line or follows a blank or one of = : ( [ { , ; < > | " '; without points at its
//                       end. Of a URL, the path after the host, also if it is short
//   <time>              the forms of time_stamps.hpp; one that begins with the name of a month or weekday only at the
//                       beginning of the line, or there after '[' or after the <PRI> of syslog, which becomes <<num>>
//   <uuid>              8-4-4-4-12 hexadecimal digits
//   <hex>               a MAC address with colons
//   <ip>                IPv6 (RFC 4291) with a decimal digit; IPv4. A port after it is <num>
//   <hex>               a word of 0x and hexadecimal digits; a word of at least 8 hexadecimal digits, letters as well
//                       as decimal digits; a word of 32, 40 or 64 hexadecimal digits
//   <id>                a word of at least 12 bytes that changes at least 4 times between digits and other bytes
//   <num>               each run of digits that remains, with a fraction and an exponent, and with a sign if the digits
//                       begin a word and the sign is where a path can begin. The other bytes of the word, such as a
//                       unit, are kept: took 12.5ms, user42, web-13 become took <num>ms, user<num>, web-<num>
//
// kind reads the same, but keeps what usually distinguishes events: the text in quotes that is the value of one of
// kept_keys ("msg":"..." of JSON, msg="..." of logfmt), without its own variable parts, and numbers from 100 to 599 of
// three digits that are the value of one of code_keys, or follow the request of an access log.
//
// All parts from <time> to <num> begin at a word with a digit. A template has at most 512 bytes: of a longer one, the
// first 509 bytes, without a part of a UTF-8 sequence at their end, and "...".

#include "report/lines/address_tokens.hpp"
#include "report/lines/byte_block.hpp"
#include "report/lines/selector_kinds.hpp"
#include "report/lines/time_stamps.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gpuhist::report::lines {
namespace {

constexpr std::size_t max_template = 512;
constexpr std::string_view cut_mark = "...";
constexpr std::size_t max_quoted = 1024;
constexpr std::size_t max_json_key = 64;

// Classes of bytes, one bit each.
enum byte_class : std::uint8_t {
  digit_class = 1,
  hex_letter_class = 2,
  word_class = 4,
  path_class = 8,      // in a path
  opening_class = 16,  // precedes a path or a sign
  special_class = 32,  // a part may begin
  host_class = 64,     // in the host of a URL, with its port and user
};

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  const auto add = [&classes](std::string_view bytes, byte_class which) {
    for (const char each : bytes) classes[static_cast<unsigned char>(each)] |= which;
  };
  constexpr std::string_view letters_and_digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const byte_class which : {word_class, path_class, host_class}) {
    add(letters_and_digits, which);
    for (std::size_t byte = 0x80; byte < classes.size(); ++byte) classes[byte] |= which;
  }
  add("0123456789", digit_class);
  add("abcdefABCDEF", hex_letter_class);
  add("_.-+@%~/", path_class);
  add("_.-+@%~:[]", host_class);
  add(" \t=:([{,;<>|\"'", opening_class);
  add("0123456789/\"'\t", special_class);
  return classes;
}

constexpr std::array<std::uint8_t, 256> classes = make_classes();

bool is_of(char byte, unsigned which) { return (classes[static_cast<unsigned char>(byte)] & which) != 0; }

constexpr std::array<std::string_view, 14> kept_keys = {"msg",    "message", "log",    "event",    "error",
                                                        "err",    "reason",  "level",  "severity", "lvl",
                                                        "status", "state",   "method", "exception"};
constexpr std::array<std::string_view, 6> code_keys = {"status",     "code",        "status_code",
                                                       "statuscode", "http_status", "response_code"};

bool is_key_byte(char byte) { return is_of(byte, word_class) || byte == '_'; }

// The key whose value begins at `at`, in lower case, of `"key":`, `"key": ` or `key=`; empty: none, or it is too long.
class key_before {
 public:
  key_before(std::string_view text, std::size_t at) {
    if (at > 1 && text[at - 1] == ' ' && text[at - 2] == ':') --at;
    if (at < 2 || (text[at - 1] != ':' && text[at - 1] != '=')) return;
    std::size_t end = at - 1;
    if (text[end - 1] == '"') --end;
    std::size_t begin = end;
    while (begin > 0 && end - begin <= bytes_.size() && is_key_byte(text[begin - 1])) --begin;
    size_ = end - begin <= bytes_.size() ? end - begin : 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const char byte = text[begin + i];
      bytes_[i] = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
    }
  }

  template <class List>
  [[nodiscard]] bool is_one_of(const List& keys) const {
    return size_ > 0 && std::ranges::find(keys, std::string_view(bytes_.data(), size_)) != keys.end();
  }

 private:
  std::array<char, 16> bytes_{};
  std::size_t size_ = 0;
};

// The text of a template.
class template_text {
 public:
  void clear() { size_ = 0; }

  // More bytes would not change the template.
  [[nodiscard]] bool is_full() const { return size_ > max_template; }

  void add(std::string_view text) {
    const std::size_t bytes = std::min(text.size(), bytes_.size() - size_);
    size_ += text.copy(bytes_.data() + size_, bytes);
  }

  std::string_view finish() {
    if (is_full()) cut();
    return {bytes_.data(), size_};
  }

 private:
  void cut() {
    constexpr std::size_t longest_sequence = 4;  // of UTF-8
    size_ = max_template - cut_mark.size();
    const auto continues = [this](std::size_t at) { return (static_cast<unsigned char>(bytes_[at]) & 0xc0U) == 0x80U; };
    std::size_t end = size_;
    while (size_ - end < longest_sequence && continues(end)) --end;
    if (!continues(end)) size_ = end;
    add(cut_mark);
  }

  std::array<char, max_template + 1> bytes_;
  std::size_t size_ = 0;
};

// A word with a digit.
struct word {
  std::size_t begin;
  std::size_t end;
};

class template_selector final : public line_selector {
 public:
  // What is kept.
  enum class form : std::uint8_t { plain, kind };

  explicit template_selector(form made) : form_(made) {}

  std::optional<std::string_view> read(std::string_view line) override {
    constexpr std::string_view blanks = " \t";
    line = without_carriage_return(line);
    const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
    start(line.substr(begin, line.find_last_not_of(blanks) + 1 - begin));
    read_time_at_begin();
    for (std::size_t at = next_special(at_); at < text_.size() && !made_.is_full(); at = next_special(at_)) {
      read_special(at);
    }
    made_.add(text_.substr(copied_));
    return made_.finish();
  }

 private:
  void start(std::string_view text) {
    text_ = text;
    at_ = 0;
    copied_ = 0;
    url_path_ = std::string_view::npos;
    end_of_kept_ = 0;
    no_closing_before_ = {};
    made_.clear();
  }

  [[nodiscard]] bool is_at(std::size_t at, unsigned which) const {
    return at < text_.size() && is_of(text_[at], which);
  }
  [[nodiscard]] bool has(std::size_t at, char byte) const { return at < text_.size() && text_[at] == byte; }
  [[nodiscard]] bool is_opened(std::size_t at) const { return at == 0 || is_of(text_[at - 1], opening_class); }

  // Replaces a part; the text before it is kept.
  void replace(std::size_t begin, std::size_t end, std::string_view name) {
    made_.add(text_.substr(copied_, begin - copied_));
    made_.add(name);
    copied_ = end;
    at_ = end;
  }

  // The next byte at which a part may begin.
  [[nodiscard]] std::size_t next_special(std::size_t at) const {
    // the block after the first byte finds runs of blanks
    for (; at + byte_block::size < text_.size(); at += byte_block::size) {
      const byte_block block(text_.data() + at);
      const byte_block next(text_.data() + at + 1);
      const std::uint32_t found = block.in_range('/', '9') | block.equal_to('"') | block.equal_to('\'') |
                                  block.equal_to('\t') | (block.equal_to(' ') & next.equal_to(' '));
      if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found));
    }
    while (at < text_.size() && !is_of(text_[at], special_class) && (text_[at] != ' ' || !has(at + 1, ' '))) ++at;
    return at;
  }

  void read_special(std::size_t at) {
    switch (text_[at]) {
      case ' ':
      case '\t':
        return read_blanks(at);
      case '"':
      case '\'':
        return read_quote(at);
      case '/':
        return read_slash(at);
      default:
        return read_digit(at);
    }
  }

  void read_blanks(std::size_t at) {
    std::size_t end = at;
    while (has(end, ' ') || has(end, '\t')) ++end;
    // a single blank before a tab is part of the run
    const std::size_t begin = at > copied_ && text_[at - 1] == ' ' ? at - 1 : at;
    replace(begin, end, " ");
  }

  void read_time_at_begin() {
    const std::size_t priority = syslog_priority_length(text_);
    const std::size_t begin = has(0, '[') ? 1 : priority;
    const std::size_t length = syslog_time_length(text_.substr(begin));
    if (length == 0) return;
    if (priority > 0) replace(1, priority - 1, "<num>");
    replace(begin, begin + length, "<time>");
  }

  // The quote that closes a text that begins at `begin`; nothing: there is none.
  std::optional<std::size_t> closing_quote(std::size_t begin, char quote) {
    const std::string_view window = text_.substr(0, std::min(text_.size(), begin + max_quoted + 1));
    // a search that failed is not repeated for the next quote
    std::size_t& no_closing_before = no_closing_before_[quote == '"' ? 0 : 1];
    std::size_t at = std::max(begin, no_closing_before);
    for (;; ++at) {
      at = window.find(quote, at);
      if (at == std::string_view::npos) break;
      if (text_[at - 1] != '\\' && !is_at(at + 1, word_class)) return at;
    }
    no_closing_before = std::max(no_closing_before, window.size());
    return std::nullopt;
  }

  [[nodiscard]] bool is_json_key(std::size_t opening, std::size_t closing) const {
    if (!has(closing + 1, ':') || closing - opening > max_json_key || opening == 0) return false;
    const std::size_t before = text_[opening - 1] == ' ' && opening > 1 ? opening - 2 : opening - 1;
    return text_[before] == '{' || text_[before] == ',';
  }

  void read_quote(std::size_t at) {
    at_ = at + 1;
    const bool is_in_kept = end_of_kept_ > 0 && at <= end_of_kept_ && text_[at] == '"';  // escaped, or the closing one
    if (is_in_kept || (at > 0 && is_of(text_[at - 1], word_class))) return;
    const std::optional<std::size_t> closing = closing_quote(at + 1, text_[at]);
    if (!closing) return;
    if (text_[at] == '"' && is_json_key(at, *closing)) {
      at_ = *closing + 1;
    } else if (form_ == form::kind && key_before(text_, at).is_one_of(kept_keys)) {
      end_of_kept_ = *closing;
    } else {
      replace(at, *closing + 1, "<str>");
    }
  }

  void read_slash(std::size_t at) {
    const bool is_url = at > 1 && text_[at - 1] == ':' && has(at + 1, '/') && is_of(text_[at - 2], word_class);
    if (is_url) return read_url(at);
    at_ = at + 1;
    const bool is_url_path = at == url_path_;
    if (!is_url_path && !is_opened(at)) return;
    std::size_t components = 0;
    std::size_t end = at;
    for (; is_at(end, path_class); ++end) {
      if (text_[end] == '/' && is_at(end + 1, path_class) && text_[end + 1] != '/') ++components;
    }
    while (text_[end - 1] == '.') --end;
    if (has(at + 1, '/') || components < (is_url_path ? 1 : 2)) return;
    replace(at, end, "<path>");
  }

  // Finds the path of a URL; the host is read as other text is.
  void read_url(std::size_t at) {
    at_ = at + 2;
    std::size_t end = at_;
    while (is_at(end, host_class)) ++end;
    if (end > at_ && has(end, '/')) url_path_ = end;
  }

  void read_digit(std::size_t at) {
    word found{.begin = at, .end = at + 1};
    while (found.begin > copied_ && is_of(text_[found.begin - 1], word_class)) --found.begin;
    while (is_at(found.end, word_class)) ++found.end;
    if (found.begin == at && read_time(at)) return;
    if (read_address(found)) return;
    if (const std::string_view name = name_of(found); !name.empty()) return replace(found.begin, found.end, name);
    read_numbers(found, at);
  }

  bool read_time(std::size_t at) {
    const std::string_view text = text_.substr(at);
    constexpr std::size_t longest_before_separator = 4;
    std::size_t length = 0;
    for (std::size_t digits = 1; digits <= longest_before_separator && digits < text.size(); ++digits) {
      if (is_of(text[digits], digit_class)) continue;
      const char separator = text[digits];
      if (separator == ':' && digits <= 2) length = clock_time_without_address(text);
      if (separator == '/' && digits == 2) length = clf_time_length(text);
      if ((separator == '-' || separator == '/') && digits == 4) length = iso_time_length(text);
      break;
    }
    if (length == 0) return false;
    replace(at, at + length, "<time>");
    return true;
  }

  // Two-digit groups of an address look like a time.
  static std::size_t clock_time_without_address(std::string_view text) {
    const std::size_t length = clock_time_length(text);
    const bool continues = length > 0 && text.substr(length).starts_with(':');
    return continues && (mac_length(text) > 0 || ipv6_length(text) > 0) ? 0 : length;
  }

  // UUID, MAC, IPv6, IPv4.
  bool read_address(word found) {
    const char after = found.end < text_.size() ? text_[found.end] : '\0';
    const char before = found.begin > copied_ ? text_[found.begin - 1] : '\0';
    if (after == '-' || before == '-') {
      const std::size_t begin = before == '-' ? begin_of_address(found.begin, '-') : found.begin;
      if (replace_address(begin, uuid_length, "<uuid>")) return true;
    }
    if (after == ':' || before == ':') {
      const std::size_t begin = before == ':' ? begin_of_address(found.begin, ':') : found.begin;
      if (replace_address(begin, mac_length, "<hex>") || replace_address(begin, ipv6_length, "<ip>")) return true;
    }
    return after == '.' && replace_address(found.begin, ipv4_length, "<ip>");
  }

  // The first group of an address; those before the word have no decimal digit.
  [[nodiscard]] std::size_t begin_of_address(std::size_t word_begin, char separator) const {
    constexpr std::size_t longest = 40;
    std::size_t begin = word_begin;
    while (begin > copied_ && word_begin - begin < longest &&
           (text_[begin - 1] == separator || is_of(text_[begin - 1], hex_letter_class))) {
      --begin;
    }
    const bool begins_with_separator = text_[begin] == separator;
    const bool begins_with_gap = separator == ':' && begins_with_separator && text_[begin + 1] == ':';
    if (begin > 0 && is_of(text_[begin - 1], word_class) && (begins_with_gap || !begins_with_separator))
      return word_begin;
    return begins_with_separator && !begins_with_gap ? begin + 1 : begin;
  }

  bool replace_address(std::size_t begin, std::size_t (*length_of)(std::string_view), std::string_view name) {
    const std::size_t length = length_of(text_.substr(begin));
    if (length == 0) return false;
    replace(begin, begin + length, name);
    return true;
  }

  // <hex>, <id>; empty: the word is none of them.
  [[nodiscard]] std::string_view name_of(word found) const {
    constexpr std::size_t shortest_hex = 8;
    constexpr std::size_t shortest_id = 12;
    constexpr std::size_t fewest_changes = 4;
    const std::string_view text = text_.substr(found.begin, found.end - found.begin);
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
      return std::ranges::all_of(text.substr(2), is_hexadecimal) ? "<hex>" : "";
    }
    if (text.size() < shortest_hex) return {};
    const bool has_letter = !std::ranges::all_of(text, [](char byte) { return is_of(byte, digit_class); });
    const bool is_hash = text.size() == 32 || text.size() == 40 || text.size() == 64;
    if ((has_letter || is_hash) && std::ranges::all_of(text, is_hexadecimal)) return "<hex>";
    if (!has_letter || text.size() < shortest_id) return {};
    std::size_t changes = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (is_of(text[i - 1], digit_class) != is_of(text[i], digit_class)) ++changes;
    }
    return changes >= fewest_changes ? "<id>" : "";
  }

  static bool is_hexadecimal(char byte) { return is_of(byte, digit_class | hex_letter_class); }

  // Whether the word is a status.
  [[nodiscard]] bool is_code(word found) const {
    constexpr std::size_t digits = 3;
    if (found.end - found.begin != digits || text_[found.begin] < '1' || text_[found.begin] > '5') return false;
    if (!is_of(text_[found.begin + 1], digit_class) || !is_of(text_[found.begin + 2], digit_class)) return false;
    const bool follows_request = found.begin > 1 && text_[found.begin - 1] == ' ' && text_[found.begin - 2] == '"';
    return follows_request ? has(found.end, ' ') : key_before(text_, found.begin).is_one_of(code_keys);
  }

  // `at`: the first digit of the word.
  void read_numbers(word found, std::size_t at) {
    if (form_ == form::kind && is_code(found)) {
      at_ = found.end;
      return;
    }
    std::size_t begin = at;
    const bool is_signed = at == found.begin && at > copied_ && (text_[at - 1] == '-' || text_[at - 1] == '+');
    if (is_signed && is_opened(at - 1)) begin = at - 1;
    while (is_at(at, word_class)) {
      if (!is_of(text_[at], digit_class)) {
        ++at;
        continue;
      }
      const std::size_t end = end_of_number(at);
      replace(std::min(begin, at), end, "<num>");
      at = end;
      begin = std::string_view::npos;
    }
    at_ = at;
  }

  // Of digits, fraction and exponent.
  [[nodiscard]] std::size_t end_of_number(std::size_t at) const {
    at = end_of_digits(at);
    if (has(at, '.') && is_at(at + 1, digit_class)) at = end_of_digits(at + 1);
    if (!has(at, 'e') && !has(at, 'E')) return at;
    const std::size_t exponent = has(at + 1, '+') || has(at + 1, '-') ? at + 2 : at + 1;
    const std::size_t end = end_of_digits(exponent);
    return end > exponent && !is_at(end, word_class) ? end : at;
  }

  [[nodiscard]] std::size_t end_of_digits(std::size_t at) const {
    while (is_at(at, digit_class)) ++at;
    return at;
  }

  const form form_;
  std::string_view text_;
  std::size_t at_ = 0;      // read
  std::size_t copied_ = 0;  // up to here, the text is in the template
  std::size_t url_path_ = 0;
  std::size_t end_of_kept_ = 0;                     // the closing quote of a text that is kept; 0: none was
  std::array<std::size_t, 2> no_closing_before_{};  // of double and single quotes
  template_text made_;
};

}  // namespace

reader_factory parse_template_selector(const typed_selector& /*typed*/) {
  return [] { return std::make_unique<template_selector>(template_selector::form::plain); };
}

reader_factory parse_kind_selector(const typed_selector& /*typed*/) {
  return [] { return std::make_unique<template_selector>(template_selector::form::kind); };
}

}  // namespace gpuhist::report::lines
