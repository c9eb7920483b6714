#include "report/texts/characters.hpp"

#include "gpu/host/utf8_automaton.hpp"
#include "gpu/host/utf8_meter.hpp"
#include "report/texts/byte_words.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace gpuhist::report::texts {
namespace {

struct range {
  char32_t first;
  char32_t last;
};

// Characters that end a sentence: of datatrove's rules, which follow Sentence_Terminal of Unicode.
constexpr std::array end_marks = {
    range{0x21, 0x21},       range{0x2e, 0x2e},       range{0x3f, 0x3f},       range{0x589, 0x589},
    range{0x61d, 0x61f},     range{0x6d4, 0x6d4},     range{0x700, 0x702},     range{0x7f9, 0x7f9},
    range{0x837, 0x837},     range{0x839, 0x839},     range{0x83d, 0x83e},     range{0x964, 0x965},
    range{0x104a, 0x104b},   range{0x1362, 0x1362},   range{0x1367, 0x1368},   range{0x166e, 0x166e},
    range{0x1735, 0x1736},   range{0x17d4, 0x17d6},   range{0x17d9, 0x17da},   range{0x1803, 0x1803},
    range{0x1809, 0x1809},   range{0x1944, 0x1945},   range{0x1aa8, 0x1aab},   range{0x1b5a, 0x1b5b},
    range{0x1b5e, 0x1b5f},   range{0x1b7d, 0x1b7e},   range{0x1c3b, 0x1c3c},   range{0x1c7e, 0x1c7f},
    range{0x203c, 0x203d},   range{0x2047, 0x2049},   range{0x2e2e, 0x2e2e},   range{0x2e3c, 0x2e3c},
    range{0x2e53, 0x2e54},   range{0x3002, 0x3002},   range{0xa4ff, 0xa4ff},   range{0xa60e, 0xa60f},
    range{0xa6f3, 0xa6f3},   range{0xa6f7, 0xa6f7},   range{0xa876, 0xa877},   range{0xa8ce, 0xa8cf},
    range{0xa92f, 0xa92f},   range{0xa9c8, 0xa9c9},   range{0xaa5d, 0xaa5f},   range{0xaaf0, 0xaaf1},
    range{0xabeb, 0xabeb},   range{0xfe52, 0xfe52},   range{0xfe56, 0xfe57},   range{0xff01, 0xff01},
    range{0xff0e, 0xff0e},   range{0xff1f, 0xff1f},   range{0xff61, 0xff61},   range{0x10a56, 0x10a57},
    range{0x10f55, 0x10f59}, range{0x10f86, 0x10f89}, range{0x11047, 0x11048}, range{0x110be, 0x110c1},
    range{0x11141, 0x11143}, range{0x111c5, 0x111c6}, range{0x111cd, 0x111cd}, range{0x111de, 0x111df},
    range{0x11238, 0x11239}, range{0x1123b, 0x1123c}, range{0x112a9, 0x112a9}, range{0x1144b, 0x1144c},
    range{0x115c2, 0x115c3}, range{0x115c9, 0x115d7}, range{0x11641, 0x11642}, range{0x1173c, 0x1173e},
    range{0x11944, 0x11944}, range{0x11946, 0x11946}, range{0x11a42, 0x11a43}, range{0x11a9b, 0x11a9c},
    range{0x11c41, 0x11c42}, range{0x11ef7, 0x11ef8}, range{0x11f43, 0x11f44}, range{0x16a6e, 0x16a6f},
    range{0x16af5, 0x16af5}, range{0x16b37, 0x16b38}, range{0x16b44, 0x16b44}, range{0x16e98, 0x16e98},
    range{0x1bc9f, 0x1bc9f}, range{0x1da88, 0x1da88}};

// The other characters of datatrove's set of punctuation.
constexpr std::array other_punctuation = {
    range{0x0, 0x8},       range{0xb, 0x1f},      range{0x22, 0x2d},     range{0x2f, 0x2f},     range{0x3a, 0x3e},
    range{0x40, 0x40},     range{0x5b, 0x60},     range{0x7b, 0x9f},     range{0xab, 0xab},     range{0xb4, 0xb4},
    range{0xbb, 0xbb},     range{0x2013, 0x2014}, range{0x2019, 0x2019}, range{0x201c, 0x201e}, range{0x2026, 0x2026},
    range{0x2236, 0x2236}, range{0x2501, 0x2501}, range{0x25ba, 0x25ba}, range{0x3001, 0x3001}, range{0x3008, 0x300d},
    range{0x3010, 0x3011}, range{0xff05, 0xff05}, range{0xff08, 0xff09}, range{0xff0c, 0xff0c}, range{0xff11, 0xff11},
    range{0xff1a, 0xff1b}, range{0xff5e, 0xff5e}};

constexpr std::array spaces = {
    range{0x9, 0xd},       range{0x1c, 0x20},     range{0x85, 0x85},     range{0xa0, 0xa0},     range{0x1680, 0x1680},
    range{0x2000, 0x200a}, range{0x2028, 0x2029}, range{0x202f, 0x202f}, range{0x205f, 0x205f}, range{0x3000, 0x3000}};

constexpr std::array row_ends = {range{0xa, 0xd}, range{0x1c, 0x1e}, range{0x85, 0x85}, range{0x2028, 0x2029}};

bool is_in(std::span<const range> sorted, char32_t code_point) {
  const auto found = std::ranges::lower_bound(sorted, code_point, {}, &range::last);
  return found != sorted.end() && found->first <= code_point;
}

std::uint8_t traits_of_category(char32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return trait::letter | trait::in_token;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return trait::in_token;
    default:
      return 0;
  }
}

struct range_row {
  std::span<const range> ranges;
  std::uint8_t traits;
};

constexpr std::array range_rows = {range_row{spaces, trait::space}, range_row{row_ends, trait::row_end},
                                   range_row{end_marks, trait::end_mark | trait::punctuation},
                                   range_row{other_punctuation, trait::punctuation}};

std::uint8_t found_traits(char32_t code_point) {
  unsigned made = traits_of_category(code_point);
  for (const range_row& row : range_rows) {
    if (is_in(row.ranges, code_point)) made |= row.traits;
  }
  return static_cast<std::uint8_t>(made);
}

constexpr std::size_t plane = 0x10000;

// Of the characters of the first plane: nearly all of every text.
const std::vector<std::uint8_t>& traits_of_plane() {
  static const std::vector<std::uint8_t> table = [] {
    std::vector<std::uint8_t> made(plane);
    for (std::size_t code_point = 0; code_point < plane; ++code_point) {
      made[code_point] = traits_of_category(static_cast<char32_t>(code_point));
    }
    for (const range_row& row : range_rows) {
      for (const range& each : row.ranges) {
        for (char32_t code_point = each.first; code_point <= each.last && code_point < plane; ++code_point) {
          made[code_point] |= row.traits;
        }
      }
    }
    return made;
  }();
  return table;
}

constexpr unsigned payload = 0x3f;  // of a continuation byte
constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

// Counts bytes, eight at once: `marked` sets the highest bit of each of them in a word, `is_it` is for the rest.
template <class Marked, class IsIt>
std::size_t count_bytes(std::string_view text, Marked marked, IsIt is_it) {
  marked_bytes found;
  std::size_t at = 0;
  for (; at + word_bytes <= text.size(); at += word_bytes) found.add(marked(word_at(text, at)));
  std::size_t number = found.number();
  for (; at < text.size(); ++at) number += is_it(text[at]) ? 1 : 0;
  return number;
}

}  // namespace

decoded_character decode_wide(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t first = at(0);
  if (first < 0xe0) return {.code_point = (first & 0x1fU) << 6U | (at(1) & payload), .bytes = 2};
  if (first < 0xf0) {
    return {.code_point = (first & 0x0fU) << 12U | (at(1) & payload) << 6U | (at(2) & payload), .bytes = 3};
  }
  return {.code_point = (first & 0x07U) << 18U | (at(1) & payload) << 12U | (at(2) & payload) << 6U | (at(3) & payload),
          .bytes = 4};
}

character wide_character_at(std::string_view text) {
  static const std::vector<std::uint8_t>& table = traits_of_plane();
  const decoded_character found = decode(text);
  return {.traits = found.code_point < plane ? table[found.code_point] : found_traits(found.code_point),
          .bytes = found.bytes};
}

character last_character_of(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && is_continuation(text[begin])) --begin;
  return character_at(text.substr(begin));
}

std::size_t characters_in(std::string_view text) {
  // of a continuation byte, 10xxxxxx, only the first of both bits is set
  const std::size_t continuations =
      count_bytes(text, [](std::uint64_t word) { return word & ~(word << 1U); }, is_continuation);
  return text.size() - continuations;
}

std::size_t count_of(char byte, std::string_view text) {
  const std::uint64_t repeated = lowest_bits * static_cast<unsigned char>(byte);
  // the highest bit of a byte is set unless all of its bits are 0
  const auto equal = [repeated](std::uint64_t word) {
    const std::uint64_t differs = word ^ repeated;
    return ~(((differs & ~highest_bits) + ~highest_bits) | differs) & highest_bits;
  };
  return count_bytes(text, equal, [byte](char each) { return each == byte; });
}

std::string_view without_leading_space(std::string_view text) {
  while (!text.empty()) {
    const character first = character_at(text);
    if ((first.traits & trait::space) == 0) break;
    text.remove_prefix(first.bytes);
  }
  return text;
}

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    const character last = last_character_of(text);
    if ((last.traits & trait::space) == 0) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

utf8_sequence sequence_at(std::string_view text) {
  namespace utf8 = gpu::host::utf8;
  using enum utf8_sequence::kind;
  const auto class_at = [&](std::size_t i) { return utf8::class_of(static_cast<unsigned char>(text[i])); };
  const utf8::byte_class first = class_at(0);
  auto read = static_cast<utf8::state>(utf8::begin_with(first).next / utf8::byte_classes);
  if (read == utf8::start) return {.bytes = 1, .is = first == utf8::ascii ? valid : malformed};
  std::size_t found = 1;
  for (; found < text.size() && read != utf8::start; ++found) {
    const utf8::continuation_rule& rule = utf8::continuation_rules[read];
    const utf8::byte_class next = class_at(found);
    if (next < rule.first || next > rule.last) return {.bytes = found, .is = malformed};
    read = rule.next;
  }
  return {.bytes = found, .is = read == utf8::start ? valid : incomplete};
}

std::string_view as_utf8(std::string_view text, std::string& room) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  gpu::host::utf8_meter meter(gpu::host::utf8_detail::code_points);
  meter.feed(std::as_bytes(std::span(text)));
  meter.end();
  if (meter.counts().malformed == 0) return text;
  room.clear();
  while (!text.empty()) {
    const utf8_sequence found = sequence_at(text);
    room += found.is == utf8_sequence::kind::valid ? text.substr(0, found.bytes) : replacement;
    text.remove_prefix(found.bytes);
  }
  return room;
}

namespace {

constexpr char lower(char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each | 0x20) : each; }

// Eight at once: the bit 5 is the only difference of a capital letter.
void append_lower_ascii(std::string_view text, std::string& to) {
  std::size_t at = to.size();
  to += text;
  for (; at + word_bytes <= to.size(); at += word_bytes) {
    std::uint64_t word = word_at(to, at);
    word |= in_range(word, 'A', 'Z') >> 2U;
    std::memcpy(&to[at], &word, word_bytes);
  }
  for (; at < to.size(); ++at) to[at] = lower(to[at]);
}

// The bytes of ASCII at the beginning of a text.
std::size_t leading_ascii(std::string_view text) {
  std::size_t at = 0;
  while (at + word_bytes <= text.size() && (word_at(text, at) & highest_bits) == 0) at += word_bytes;
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

void append_character(char32_t code_point, std::string& to) {
  std::array<utf8proc_uint8_t, 4> made{};
  const auto bytes = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), made.data());
  to.append(reinterpret_cast<const char*>(made.data()), static_cast<std::size_t>(bytes));
}

void append_lower(std::string_view text, std::string& to) {
  constexpr char32_t dotted_capital_i = 0x130;
  while (!text.empty()) {
    if (const std::size_t ascii = leading_ascii(text); ascii > 0) {
      append_lower_ascii(text.substr(0, ascii), to);
      text.remove_prefix(ascii);
      continue;
    }
    const decoded_character found = decode(text);
    if (found.code_point == dotted_capital_i) {
      to += "i\xcc\x87";
    } else {
      append_character(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(found.code_point))), to);
    }
    text.remove_prefix(found.bytes);
  }
}

}  // namespace gpuhist::report::texts
