#include "report/texts/minhash.hpp"

#include "report/texts/characters.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gpuhist::report::texts {
namespace {

constexpr std::uint64_t prime = (std::uint64_t{1} << 61U) - 1;

struct permutations {
  minhash_reader::signature factors;
  minhash_reader::signature addends;
};

// As numpy.random.RandomState(1).randint(lowest, prime): the values of the Mersenne Twister that are not too high.
minhash_reader::signature random_numbers(std::mt19937& from, std::uint64_t lowest) {
  constexpr unsigned half = 32;
  const std::uint64_t highest = prime - 1 - lowest;
  const std::uint64_t mask = std::bit_ceil(highest) - 1;
  minhash_reader::signature made{};
  for (std::uint64_t& each : made) {
    std::uint64_t value = 0;
    do {
      const std::uint64_t high = from();
      value = ((high << half) | from()) & mask;
    } while (value > highest);
    each = lowest + value;
  }
  return made;
}

const permutations& all_permutations() {
  static const permutations made = [] {
    std::mt19937 numbers(1);
    permutations drawn{.factors = random_numbers(numbers, 1), .addends = {}};
    drawn.addends = random_numbers(numbers, 0);
    return drawn;
  }();
  return made;
}

char32_t code_point_at(std::string_view text, std::size_t at) { return decode(text.substr(at)).code_point; }

utf8proc_category_t category_of(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_digit(char32_t code_point) {
  if (code_point < 0x80) return code_point >= U'0' && code_point <= U'9';
  return category_of(code_point) == UTF8PROC_CATEGORY_ND;
}

bool separates_decimals(char32_t code_point) {
  return std::u32string_view(U".,\u060c\u066b\u2396\u2397\u2398").find(code_point) != std::u32string_view::npos;
}

std::size_t end_of_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(code_point_at(text, at))) at += character_at(text.substr(at)).bytes;
  return at;
}

// Of a number that begins there: digits, and digits after one separator of decimals.
std::size_t end_of_number(std::string_view text, std::size_t at) {
  const std::size_t end = end_of_digits(text, at);
  if (end == text.size() || !separates_decimals(code_point_at(text, end))) return end;
  const std::size_t after = end + character_at(text.substr(end)).bytes;
  const std::size_t end_of_decimals = end_of_digits(text, after);
  return end_of_decimals > after ? end_of_decimals : end;
}

// Of the ends of sentences, only some are in datatrove's list of punctuation.
bool is_blank(const character& found, char32_t code_point) {
  if ((found.traits & trait::space) != 0) return true;
  if ((found.traits & trait::punctuation) == 0) return false;
  return (found.traits & trait::end_mark) == 0 ||
         std::u32string_view(U"!.?\u3002\uff01\uff0e\uff1f").find(code_point) != std::u32string_view::npos;
}

// Case_Ignorable and Cased of Unicode, by the categories that they are made of.
bool is_ignored_by_case(char32_t code_point) {
  switch (category_of(code_point)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::u32string_view(
                 U"'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a")
                 .find(code_point) != std::u32string_view::npos;
  }
}

// The ranges are those of numbers and symbols (Other_Uppercase, Other_Lowercase), without what is ignored.
bool has_case(char32_t code_point) {
  const auto is_in = [=](char32_t first, char32_t last) { return code_point >= first && code_point <= last; };
  if (code_point == 0xaa || code_point == 0xba || is_in(0x2160, 0x217f) || is_in(0x24b6, 0x24e9) ||
      is_in(0x1f130, 0x1f149) || is_in(0x1f150, 0x1f169) || is_in(0x1f170, 0x1f189)) {
    return true;
  }
  const utf8proc_category_t found = category_of(code_point);
  return found == UTF8PROC_CATEGORY_LU || found == UTF8PROC_CATEGORY_LL || found == UTF8PROC_CATEGORY_LT;
}

// Whether a capital sigma there ends a word: it follows a letter, and none follows it.
bool ends_word(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  char32_t before = 0;
  while (begin > 0) {
    begin -= last_character_of(text.substr(0, begin)).bytes;
    before = code_point_at(text, begin);
    if (!is_ignored_by_case(before)) break;
    before = 0;
  }
  if (!has_case(before)) return false;
  for (std::size_t next = at + 2; next < text.size(); next += character_at(text.substr(next)).bytes) {
    const char32_t after = code_point_at(text, next);
    if (!is_ignored_by_case(after)) return !has_case(after);
  }
  return true;
}

}  // namespace

void minhash_reader::append_lower(std::string_view text, std::size_t at, char32_t code_point) {
  constexpr char32_t dotted_capital_i = 0x130;
  constexpr char32_t capital_sigma = 0x3a3;
  if (code_point < 0x80) {
    plain_ += code_point >= U'A' && code_point <= U'Z' ? code_point | 0x20U : code_point;
  } else if (code_point == dotted_capital_i) {
    plain_ += U"i\u0307";
  } else if (code_point == capital_sigma) {
    plain_ += ends_word(text, at) ? U'\u03c2' : U'\u03c3';
  } else {
    plain_ += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point)));
  }
}

// In lower case, numbers as 0, punctuation and white space as single blanks.
void minhash_reader::simplify(std::string_view text) {
  plain_.clear();
  for (std::size_t at = 0; at < text.size();) {
    const character found = character_at(text.substr(at));
    const char32_t code_point = code_point_at(text, at);
    if (is_digit(code_point)) {
      plain_ += U'0';
      at = end_of_number(text, at);
      continue;
    }
    is_blank(found, code_point) ? void(plain_ += U' ') : append_lower(text, at, code_point);
    at += found.bytes;
  }
}

// In canonical decomposition, without nonspacing marks.
void minhash_reader::decompose() {
  constexpr std::size_t most_parts = 8;
  for (const char32_t each : plain_) {
    if (each < 0x80) {
      add_part(each);
      continue;
    }
    std::array<utf8proc_int32_t, most_parts> parts{};
    int ignored = 0;
    const utf8proc_ssize_t found = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(each), parts.data(),
                                                           most_parts, UTF8PROC_DECOMPOSE, &ignored);
    for (utf8proc_ssize_t i = 0; i < found; ++i) add_part(static_cast<char32_t>(parts[static_cast<std::size_t>(i)]));
  }
  add_marks();
}

void minhash_reader::add_part(char32_t code_point) {
  const int order =
      code_point < 0x80 ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point))->combining_class;
  if (order > 0) {
    marks_.emplace_back(order, marks_.size(), code_point);
    return;
  }
  if (!marks_.empty()) add_marks();
  add(code_point);
}

void minhash_reader::add_marks() {
  std::ranges::sort(marks_);
  for (const auto& [order, number, code_point] : marks_) add(code_point);
  marks_.clear();
}

void minhash_reader::add(char32_t code_point) {
  if (code_point == U' ') {
    if (!words_.empty() && words_.back() != ' ') words_ += ' ';
    return;
  }
  if (code_point >= 0x80 && category_of(code_point) == UTF8PROC_CATEGORY_MN) return;
  if (words_.empty() || words_.back() == ' ') begins_.push_back(words_.size());
  if (code_point < 0x80) {
    words_ += static_cast<char>(code_point);
    return;
  }
  append_character(code_point, words_);
}

std::string_view minhash_reader::words_of(std::string_view text) {
  words_.clear();
  begins_.clear();
  simplify(text);
  decompose();
  if (words_.ends_with(' ')) words_.pop_back();
  return words_;
}

const minhash_reader::signature* minhash_reader::of(std::string_view text) {
  words_of(text);
  if (begins_.size() < words_of_sequence) return nullptr;
  const permutations& with = all_permutations();
  made_.fill(std::numeric_limits<std::uint64_t>::max());
  for (std::size_t first = 0; first + words_of_sequence <= begins_.size(); ++first) {
    const std::size_t next = first + words_of_sequence;
    const std::size_t end = next < begins_.size() ? begins_[next] - 1 : words_.size();
    const std::uint64_t hash = XXH64(&words_[begins_[first]], end - begins_[first], 0);
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const std::uint64_t value = hash * with.factors[i] + with.addends[i];  // modulo 2^64, as numpy has it
      const std::uint64_t folded = (value & prime) + (value >> 61U);
      made_[i] = std::min(made_[i], folded >= prime ? folded - prime : folded);
    }
  }
  return &made_;
}

}  // namespace gpuhist::report::texts
