// Scripts by code point: the ranges, and a table in two levels that is made from them at compile time.
//
// The ranges are blocks of the Unicode standard, or parts of blocks. They are not the property Script: characters
// that a block holds for other reasons (unassigned code points, punctuation of the block) count for its script.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::host {

/// `common` is ASCII except letters; `other` is every other code point outside the ranges below.
enum class script : std::uint8_t {
  common,
  latin,
  greek,
  cyrillic,
  hebrew,
  arabic,
  devanagari,
  thai,
  hangul,
  kana,
  han,
  emoji,
  other
};
constexpr std::size_t script_count = 13;

/// Code points `first` to `last`, both included.
struct script_range {
  char32_t first;
  char32_t last;
  script name;
};

/// In the order of code points, without overlap.
constexpr auto script_ranges = std::to_array<script_range>({
    {0x0000, 0x0040, script::common},       {0x0041, 0x005a, script::latin},
    {0x005b, 0x0060, script::common},       {0x0061, 0x007a, script::latin},
    {0x007b, 0x007f, script::common},       {0x00c0, 0x00d6, script::latin},  // Latin-1 Supplement: letters
    {0x00d8, 0x00f6, script::latin},                                          // without the multiplication sign
    {0x00f8, 0x02af, script::latin},       // without the division sign; Latin Extended-A, -B, IPA Extensions
    {0x0370, 0x03ff, script::greek},       // Greek and Coptic
    {0x0400, 0x052f, script::cyrillic},    // Cyrillic, Cyrillic Supplement
    {0x0590, 0x05ff, script::hebrew},      // Hebrew
    {0x0600, 0x06ff, script::arabic},      // Arabic
    {0x0750, 0x077f, script::arabic},      // Arabic Supplement
    {0x0870, 0x08ff, script::arabic},      // Arabic Extended-B, -A
    {0x0900, 0x097f, script::devanagari},  // Devanagari
    {0x0e00, 0x0e7f, script::thai},        // Thai
    {0x1100, 0x11ff, script::hangul},      // Hangul Jamo
    {0x1c80, 0x1c8f, script::cyrillic},    // Cyrillic Extended-C
    {0x1d00, 0x1dbf, script::latin},       // Phonetic Extensions, Phonetic Extensions Supplement
    {0x1e00, 0x1eff, script::latin},       // Latin Extended Additional
    {0x1f00, 0x1fff, script::greek},       // Greek Extended
    {0x2c60, 0x2c7f, script::latin},       // Latin Extended-C
    {0x2de0, 0x2dff, script::cyrillic},    // Cyrillic Extended-A
    {0x2e80, 0x2fdf, script::han},         // CJK Radicals Supplement, Kangxi Radicals
    {0x3040, 0x30ff, script::kana},        // Hiragana, Katakana
    {0x3130, 0x318f, script::hangul},      // Hangul Compatibility Jamo
    {0x31f0, 0x31ff, script::kana},        // Katakana Phonetic Extensions
    {0x3400, 0x4dbf, script::han},         // CJK Unified Ideographs Extension A
    {0x4e00, 0x9fff, script::han},         // CJK Unified Ideographs
    {0xa640, 0xa69f, script::cyrillic},    // Cyrillic Extended-B
    {0xa720, 0xa7ff, script::latin},       // Latin Extended-D
    {0xa8e0, 0xa8ff, script::devanagari},  // Devanagari Extended
    {0xa960, 0xa97f, script::hangul},      // Hangul Jamo Extended-A
    {0xab30, 0xab6f, script::latin},       // Latin Extended-E
    {0xac00, 0xd7ff, script::hangul},      // Hangul Syllables, Hangul Jamo Extended-B
    {0xf900, 0xfaff, script::han},         // CJK Compatibility Ideographs
    {0xfb00, 0xfb06, script::latin},       // Alphabetic Presentation Forms: Latin ligatures
    {0xfb1d, 0xfb4f, script::hebrew},      // Alphabetic Presentation Forms: Hebrew
    {0xfb50, 0xfdff, script::arabic},      // Arabic Presentation Forms-A
    {0xfe70, 0xfefe, script::arabic},      // Arabic Presentation Forms-B, without the byte order mark
    {0xff21, 0xff3a, script::latin},       // Halfwidth and Fullwidth Forms: Latin letters
    {0xff41, 0xff5a, script::latin},        {0xff66, 0xff9f, script::kana},
    {0xffa0, 0xffdc, script::hangul},       {0x10780, 0x107bf, script::latin},  // Latin Extended-F
    {0x10ec0, 0x10eff, script::arabic},                                         // Arabic Extended-C
    {0x11b00, 0x11b5f, script::devanagari},                                     // Devanagari Extended-A
    {0x1aff0, 0x1b16f, script::kana},      // Kana Extended-B, Kana Supplement, Kana Extended-A, Small Kana Extension
    {0x1df00, 0x1dfff, script::latin},     // Latin Extended-G
    {0x1e030, 0x1e08f, script::cyrillic},  // Cyrillic Extended-D
    {0x1ee00, 0x1eeff, script::arabic},    // Arabic Mathematical Alphabetic Symbols
    {0x1f300, 0x1faff, script::emoji},     // from Miscellaneous Symbols and Pictographs to Symbols Extended-A
    {0x20000, 0x2a6df, script::han},       // CJK Unified Ideographs Extension B
    {0x2a700, 0x2ee5f, script::han},       // Extensions C, D, E, F, I
    {0x2f800, 0x2fa1f, script::han},       // CJK Compatibility Ideographs Supplement
    {0x30000, 0x3347f, script::han},       // Extensions G, H, J
});

/// The table in two levels. A page is 64 code points: those that share all bytes except the last continuation byte.
struct script_pages {
  static constexpr std::size_t page_size = 64;
  static constexpr std::size_t pages = 0x110000 / page_size;
  static constexpr std::size_t max_mixed = 2 * script_ranges.size();  // pages at the ends of ranges

  std::array<std::uint8_t, pages> page{};                              // row of `cells` of each page
  std::array<script, (script_count + max_mixed) * page_size> cells{};  // the first rows have one script each
};

constexpr script_pages make_script_pages() {
  script_pages made;
  constexpr std::size_t size = script_pages::page_size;
  for (std::size_t i = 0; i < script_count * size; ++i) made.cells[i] = static_cast<script>(i / size);
  made.page.fill(static_cast<std::uint8_t>(script::other));
  std::size_t rows = script_count;
  for (const script_range& range : script_ranges) {
    for (std::size_t page = range.first / size; page <= range.last / size; ++page) {
      std::uint8_t& row = made.page[page];
      if (range.first <= page * size && page * size + (size - 1) <= range.last) {
        row = static_cast<std::uint8_t>(range.name);
        continue;
      }
      if (row < script_count) {  // the first range that has a part of this page
        for (std::size_t i = 0; i < size; ++i) made.cells[rows * size + i] = static_cast<script>(row);
        row = static_cast<std::uint8_t>(rows++);
      }
      for (std::size_t i = 0; i < size; ++i) {
        if (range.first <= page * size + i && page * size + i <= range.last) made.cells[row * size + i] = range.name;
      }
    }
  }
  return made;
}

inline constexpr script_pages script_table = make_script_pages();

/// The script of a code point up to U+10FFFF.
constexpr script script_of(char32_t code_point) {
  constexpr std::size_t size = script_pages::page_size;
  return script_table.cells[script_table.page[code_point / size] * size + code_point % size];
}

}  // namespace gpuhist::gpu::host
