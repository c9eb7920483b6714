#include "config/presets.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::config {
namespace {

// The rules count characters: bytes of UTF-8 without continuation bytes. So the text need not be decoded.

// A mark can end a line of FineWeb's rule. Beyond ASCII there are many: any byte of such a character may be of one.
// A tokenizer may divide a word before and after each sign: of ASCII, or a character beyond it (its first byte).
constexpr std::array<std::string_view, 2> fineweb_schemes = {
    R"(fineweb:mark=.?!\x80-\xff)", R"(fineweb-tokens:sign=\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e\xc0-\xff)"};

// `space` is the white space between words: all other bytes belong to words.
constexpr std::array<std::string_view, 1> gopher_schemes = {
    R"(gopher:hash=#;space=\x20\t\n\x0b\x0c\r;continuation=\x80-\xbf)"};

// NeMo Curator counts line feeds and the marks ? ! , . as alphanumeric, and a line feed as white space, too.
constexpr std::array<std::string_view, 2> nemo_schemes = {
    R"(nemo:letter=a-zA-Z;digit=0-9;end=\n;mark=?!,.;blank=\x20\t\r\x08;paren=(){}[])",
    R"(nemo-utf8:continuation=\x80-\xbf)"};

// Quotients of whole numbers, as in the sources: a value at the threshold is kept in both.
constexpr std::array fineweb_rules = {
    preset_rule{"no-words", "words == 0"},
    preset_rule{"short", "bytes < 31"},
    preset_rule{"no-end-marks", "count(fineweb.mark) == 0"},
    preset_rule{"many-line-feeds", "lines / (words + 2 * count(fineweb-tokens.sign)) > 0.3"},
};

constexpr std::array gopher_rules = {
    preset_rule{"short", "words < 50"},
    preset_rule{"long", "words > 100000"},
    preset_rule{"short-words", "(bytes - count(gopher.space) - count(gopher.continuation)) / words < 3"},
    preset_rule{"long-words", "(bytes - count(gopher.space) - count(gopher.continuation)) / words > 10"},
    preset_rule{"many-hash-signs", "count(gopher.hash) / words > 0.1"},
};

constexpr std::array nemo_rules = {
    preset_rule{"empty", "bytes == count(nemo-utf8.continuation)"},
    preset_rule{"non-alphanumeric",
                "(bytes - count(nemo-utf8.continuation) - count(nemo.letter) - count(nemo.digit) - count(nemo.end) - "
                "count(nemo.mark)) / (bytes - count(nemo-utf8.continuation)) > 0.25"},
    preset_rule{"digits", "count(nemo.digit) / (bytes - count(nemo-utf8.continuation)) > 0.15"},
    preset_rule{"white-space",
                "(count(nemo.blank) + count(nemo.end)) / (bytes - count(nemo-utf8.continuation)) > 0.25"},
    preset_rule{"parentheses", "count(nemo.paren) / (bytes - count(nemo-utf8.continuation)) > 0.1"},
};

constexpr std::array presets = {
    preset{.name = "fineweb",
           .summary = "line feeds a word or sign; texts of one short line or without marks",
           .source = "datatrove, FineWebQualityFilter (Penedo 2024)",
           .covers = "1 of 4 rules, parts of 2",
           .schemes = fineweb_schemes,
           .rules = fineweb_rules},
    preset{.name = "gopher",
           .summary = "number of words, mean length of words, hash signs a word",
           .source = "Rae et al. 2021, Scaling Language Models (Gopher), appendix A.1.1, Quality Filtering",
           .covers = "3 of 8 rules, none of the 13 for repetition",
           .schemes = gopher_schemes,
           .rules = gopher_rules},
    preset{.name = "nemo",
           .summary = "shares of non-alphanumeric characters, digits, white space, parentheses",
           .source = "NVIDIA NeMo Curator: NonAlphaNumericFilter, NumbersFilter, WhiteSpaceFilter, ParenthesesFilter",
           .covers = "4 of the 17 filters for strings",
           .schemes = nemo_schemes,
           .rules = nemo_rules},
};

}  // namespace

std::span<const preset> preset_table() { return presets; }

const preset* find_preset(std::string_view name) {
  const auto* const found = std::ranges::find(presets, name, &preset::name);
  return found == presets.end() ? nullptr : found;
}

}  // namespace gpuhist::config
