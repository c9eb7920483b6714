#include "report/texts/elements.hpp"

#include "report/texts/byte_words.hpp"
#include "report/texts/characters.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace gpuhist::report::texts {
namespace {

using config::text_part;

void count(character found, element& to) {
  ++to.characters;
  to.letters += (found.traits & trait::letter) != 0 ? 1 : 0;
  to.punctuation += (found.traits & trait::punctuation) != 0 ? 1 : 0;
}

bool is_blank(std::string_view text) { return without_leading_space(text).empty(); }

// What is between elements: line feeds, at least so many.
struct separator {
  std::size_t least = 1;
  bool takes_run = false;  // longer runs are one separator
};

template <class Add>
void divide_at(std::string_view text, separator by, Add add) {
  constexpr std::string_view pair = "\n\n";
  std::size_t begin = 0;
  for (;;) {
    const std::size_t at = text.find(pair.substr(0, by.least), begin);
    if (at == std::string_view::npos) return add(begin, text.size() - begin);
    std::size_t end = at + by.least;
    if (by.takes_run) end = std::min(text.find_first_not_of('\n', end), text.size());
    add(begin, at - begin);
    begin = end;
  }
}

// Eight bytes of ASCII at once that end no row, and only white space that ends no word.
std::size_t within_row(std::string_view text, std::size_t at) {
  while (at + word_bytes <= text.size()) {
    const std::uint64_t word = word_at(text, at);
    if ((word & highest_bits) != 0 || (in_range(word, '\n', '\r') | in_range(word, 0x1c, 0x1e)) != 0) break;
    at += word_bytes;
  }
  return at;
}

template <class Add>
void divide_rows(std::string_view text, Add add) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = within_row(text, begin);
    std::size_t next = end;
    while (next == end && end < text.size()) {
      const character found = character_at(text.substr(end));
      next += found.bytes;
      if ((found.traits & trait::row_end) == 0) end = next = within_row(text, next);
    }
    add(begin, end - begin);
    if (next > end && text[end] == '\r' && next < text.size() && text[next] == '\n') ++next;
    begin = next;
  }
}

// Passes each word, an element without characters first: begin(at), then add(character, at) for each of its characters.
template <class Sink>
void divide_words(std::string_view text, Sink& to) {
  bool is_open = false;
  for (std::size_t at = 0; at < text.size();) {
    const character next = character_at(text.substr(at));
    const bool is_space = (next.traits & trait::space) != 0;
    if (!is_space) {
      if (!is_open) to.begin(at);
      to.add(next);
    }
    is_open = !is_space;
    at += next.bytes;
  }
}

template <class Sink>
void divide_tokens(std::string_view text, Sink& to) {
  bool continues = false;  // a character of a token is added to the last one
  for (std::size_t at = 0; at < text.size();) {
    const character next = character_at(text.substr(at));
    const bool is_in_token = (next.traits & trait::in_token) != 0;
    if ((next.traits & trait::space) == 0) {
      if (!is_in_token || !continues) to.begin(at);
      to.add(next);
    }
    continues = is_in_token;
    at += next.bytes;
  }
}

// Whether a sentence ends with this word: its last character is an end mark, or only marks that close something follow
// one. Two full stops and more mean that something is left out.
bool ends_sentence(std::string_view word) {
  const character last = last_character_of(word);
  if ((last.traits & trait::in_token) != 0) return false;  // most words: no mark is in a token
  constexpr std::array<std::string_view, 8> closing = {"\"", "'", ")", "]", "}", "\u201d", "\u2019", "\u00bb"};
  for (bool has_closing = true; has_closing;) {
    has_closing = false;
    for (const std::string_view each : closing) {
      if (!word.ends_with(each)) continue;
      word.remove_suffix(each.size());
      has_closing = true;
    }
  }
  return !word.empty() && !word.ends_with("..") && (last_character_of(word).traits & trait::end_mark) != 0;
}

// From the first word of a row, or the first after a sentence, to the last word of the row or one that ends a sentence.
template <class Add>
void divide_sentences(std::string_view text, Add add) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t sentence = none;
  std::size_t word = none;
  std::size_t end = 0;  // of the last word
  const auto end_word = [&](std::size_t at) {
    end = at;
    if (ends_sentence(text.substr(word, at - word))) {
      add(sentence, end - sentence);
      sentence = none;
    }
    word = none;
  };
  for (std::size_t at = 0; at < text.size();) {
    const character next = character_at(text.substr(at));
    if ((next.traits & trait::space) == 0) {
      if (word == none) word = at;
      if (sentence == none) sentence = at;
    } else {
      if (word != none) end_word(at);
      if ((next.traits & trait::row_end) != 0 && sentence != none) {
        add(sentence, end - sentence);
        sentence = none;
      }
    }
    at += next.bytes;
  }
  if (word != none) end_word(text.size());
  if (sentence != none) add(sentence, end - sentence);
}

// Writes elements.
class writing_sink {
 public:
  explicit writing_sink(std::vector<element>& to) : to_(to) {}
  ~writing_sink() { end(); }
  writing_sink(const writing_sink&) = delete;
  writing_sink& operator=(const writing_sink&) = delete;

  void begin(std::size_t at) {
    end();
    open_ = {.begin = static_cast<std::uint32_t>(at)};
  }
  void add(character found) {
    count(found, open_);
    open_.bytes += found.bytes;
  }

 private:
  void end() {
    if (open_.bytes > 0) to_.push_back(open_);
  }

  std::vector<element>& to_;
  element open_{};
};

// Which bytes of ASCII are in tokens of several characters, and which are white space.
constexpr std::uint64_t in_tokens(std::uint64_t word) {
  constexpr std::uint64_t lower_case = lowest_bits * 0x20;
  return in_range(word | lower_case, 'a', 'z') | in_range(word, '0', '9');
}
constexpr std::uint64_t white_space(std::uint64_t word) {
  return in_range(word, '\t', '\r') | in_range(word, 0x1c, ' ');
}

// Which bytes of ASCII are in words.
constexpr std::uint64_t in_words(std::uint64_t word) { return ~white_space(word) & highest_bits; }

// The longest runs of characters for which `is_inner` holds, and the other characters that are not white space. Eight
// characters of ASCII at once, those for which `inner` sets the highest bit.
template <class Inner, class IsInner>
std::size_t number_of_runs(std::string_view text, Inner inner, IsInner is_inner) {
  constexpr unsigned byte_bits = 8;
  marked_bytes begins;
  std::size_t number = 0;
  bool continues = false;
  for (std::size_t at = 0; at < text.size();) {
    if (at + word_bytes <= text.size()) {
      const std::uint64_t word = word_at(text, at);
      if ((word & highest_bits) == 0) {
        const std::uint64_t inside = inner(word);
        const std::uint64_t before = inside << byte_bits | (continues ? 0x80U : 0U);
        begins.add((inside & ~before) | ~(inside | white_space(word)));
        continues = inside >> 63U != 0;
        at += word_bytes;
        continue;
      }
    }
    const character next = character_at(text.substr(at));
    const bool is_inside = is_inner(next);
    if ((next.traits & trait::space) == 0 && (!is_inside || !continues)) ++number;
    continues = is_inside;
    at += next.bytes;
  }
  return number + begins.number();
}

// As divide_words().
std::size_t number_of_words(std::string_view text) {
  return number_of_runs(text, in_words, [](character each) { return (each.traits & trait::space) == 0; });
}

// As divide_tokens().
std::size_t number_of_tokens(std::string_view text) {
  return number_of_runs(text, in_tokens, [](character each) { return (each.traits & trait::in_token) != 0; });
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
constexpr bool is_in_url(char c) {
  constexpr std::string_view others = "$-_@.&+/:=?#~!*(),";
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || others.find(c) != std::string_view::npos;
}

std::size_t end_of_url(std::string_view text, std::size_t from) {
  std::size_t at = from;
  while (at < text.size()) {
    if (is_in_url(text[at])) {
      ++at;
    } else if (text[at] == '%' && at + 2 < text.size() && is_hexadecimal(text[at + 1]) &&
               is_hexadecimal(text[at + 2])) {
      at += 3;
    } else {
      break;
    }
  }
  return at;
}

template <class Add>
void divide_urls(std::string_view text, Add add) {
  constexpr std::string_view scheme = "http";
  constexpr std::string_view after = "://";
  for (std::size_t begin = text.find(scheme); begin != std::string_view::npos;) {
    std::size_t at = begin + scheme.size();
    if (at < text.size() && text[at] == 's') ++at;
    const std::size_t path = at + after.size();
    std::size_t next = begin + 1;
    if (text.substr(at).starts_with(after)) {
      const std::size_t end = end_of_url(text, path);
      if (end > path) {
        add(begin, end - begin);
        next = end;
      }
    }
    begin = text.find(scheme, next);
  }
}

template <class Add>
void divide_extents(std::string_view text, text_part kind, Add add) {
  switch (kind) {
    case text_part::line:
      return divide_at(text, {}, [&](std::size_t begin, std::size_t bytes) {
        if (!is_blank(text.substr(begin, bytes))) add(begin, bytes);
      });
    case text_part::row:
      return divide_rows(text, add);
    case text_part::segment:
      return divide_at(text, {.takes_run = true}, add);
    case text_part::paragraph:
      return divide_at(text, {.least = 2}, add);
    case text_part::block: {
      const std::string_view inner = without_leading_space(text);
      const std::size_t before = text.size() - inner.size();
      return divide_at(without_trailing_space(inner), {.least = 2, .takes_run = true},
                       [&](std::size_t begin, std::size_t bytes) { add(before + begin, bytes); });
    }
    case text_part::sentence:
      return divide_sentences(text, add);
    case text_part::url:
      return divide_urls(text, add);
    default:
      return;
  }
}

}  // namespace

// Characters are counted all at once if their traits are not needed.
element element_of(std::string_view text, std::size_t begin, std::size_t bytes, detail needed) {
  element made{.begin = static_cast<std::uint32_t>(begin), .bytes = static_cast<std::uint32_t>(bytes)};
  std::string_view rest = text.substr(begin, bytes);
  if (needed != detail::traits) {
    made.characters = static_cast<std::uint32_t>(characters_in(rest));
    return made;
  }
  while (!rest.empty()) {
    const character next = character_at(rest);
    count(next, made);
    rest.remove_prefix(next.bytes);
  }
  return made;
}

// Words of ASCII between whose ends eight characters lie are passed eight at once.
std::uint32_t longest_word_in(std::string_view text) {
  std::uint32_t longest = 0;
  std::uint32_t open = 0;  // characters of the word
  for (std::size_t at = 0; at < text.size();) {
    if (at + word_bytes <= text.size()) {
      const std::uint64_t word = word_at(text, at);
      if ((word & highest_bits) == 0) {
        constexpr unsigned byte_bits = 8;
        const std::uint64_t spaces = white_space(word);
        const unsigned first = spaces == 0 ? word_bytes : static_cast<unsigned>(std::countr_zero(spaces)) / byte_bits;
        open += first;
        longest = std::max(longest, open);
        if (spaces == 0) {
          at += word_bytes;
        } else {
          open = 0;
          at += first + 1;
        }
        continue;
      }
    }
    const character next = character_at(text.substr(at));
    open = (next.traits & trait::space) == 0 ? open + 1 : 0;
    longest = std::max(longest, open);
    at += next.bytes;
  }
  return longest;
}

void divide(std::string_view text, text_part kind, detail needed, std::vector<element>& to) {
  to.clear();
  if (kind == text_part::word || kind == text_part::token) {
    writing_sink sink(to);
    kind == text_part::word ? divide_words(text, sink) : divide_tokens(text, sink);
    return;
  }
  divide_extents(text, kind,
                 [&](std::size_t begin, std::size_t bytes) { to.push_back(element_of(text, begin, bytes, needed)); });
}

std::size_t number_of_elements(std::string_view text, text_part kind) {
  if (kind == text_part::token) return number_of_tokens(text);
  if (kind == text_part::word) return number_of_words(text);
  std::size_t number = 0;
  divide_extents(text, kind, [&](std::size_t, std::size_t) { ++number; });
  return number;
}

}  // namespace gpuhist::report::texts
