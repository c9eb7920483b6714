// Counts of a text from table 3-7 of the Unicode standard, byte by byte, and random texts.
#pragma once

#include "gpu/host/utf8_meter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::gpu::host::utf8_oracle {

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// A text's counts, and where its first malformed sequence is.
struct reading {
  utf8_counts counts;
  std::optional<std::uint64_t> first_malformed;
  std::optional<std::uint64_t> line;
  bool operator==(const reading&) const = default;
};

// Table 3-7: the ranges of the first to fourth byte of well-formed sequences.
struct byte_range {
  unsigned first, last;
};
inline const std::vector<std::vector<byte_range>> table_3_7 = {
    {{0x00, 0x7f}},
    {{0xc2, 0xdf}, {0x80, 0xbf}},
    {{0xe0, 0xe0}, {0xa0, 0xbf}, {0x80, 0xbf}},
    {{0xe1, 0xec}, {0x80, 0xbf}, {0x80, 0xbf}},
    {{0xed, 0xed}, {0x80, 0x9f}, {0x80, 0xbf}},
    {{0xee, 0xef}, {0x80, 0xbf}, {0x80, 0xbf}},
    {{0xf0, 0xf0}, {0x90, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}},
    {{0xf1, 0xf3}, {0x80, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}},
    {{0xf4, 0xf4}, {0x80, 0x8f}, {0x80, 0xbf}, {0x80, 0xbf}},
};

inline script script_by_search(char32_t code_point) {
  for (const script_range& range : script_ranges) {
    if (range.first <= code_point && code_point <= range.last) return range.name;
  }
  return script::other;
}

inline char32_t decode(std::string_view sequence) {
  constexpr std::array<unsigned, 5> mask = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t value = static_cast<unsigned char>(sequence[0]) & mask.at(sequence.size());
  for (const char byte : sequence.substr(1)) value = value * 64 + (static_cast<unsigned char>(byte) & 0x3fU);
  return value;
}

// The longest prefix of a well-formed sequence at the beginning of `text` (1 if none), and whether it is complete.
inline std::pair<std::size_t, bool> longest_prefix(std::string_view text) {
  std::pair<std::size_t, bool> best{1, false};
  for (const auto& row : table_3_7) {
    std::size_t size = 0;
    while (size < std::min(row.size(), text.size()) && static_cast<unsigned char>(text[size]) >= row[size].first &&
           static_cast<unsigned char>(text[size]) <= row[size].last)
      ++size;
    if (size == row.size()) return {size, true};
    best.first = std::max(best.first, size);
  }
  return best;
}

inline reading expected_of(std::string_view text) {
  reading result;
  std::uint64_t lines = 1;
  for (std::size_t at = 0; at < text.size();) {
    const auto [size, complete] = longest_prefix(text.substr(at));
    if (complete) {
      ++result.counts.code_points;
      ++result.counts.scripts.at(static_cast<std::size_t>(script_by_search(decode(text.substr(at, size)))));
      if (text[at] == '\n') ++lines;
    } else {
      ++result.counts.malformed;
      result.counts.malformed_bytes += size;
      if (!result.first_malformed) {
        result.first_malformed = at;
        result.line = lines;
      }
    }
    at += size;
  }
  return result;
}

inline std::string encode(char32_t code_point) {
  const auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  const auto continuation = [&](unsigned shift) { return byte(0x80U | ((code_point >> shift) & 0x3fU)); };
  if (code_point < 0x80) return {byte(code_point)};
  if (code_point < 0x800) return {byte(0xc0U | (code_point >> 6U)), continuation(0)};
  if (code_point < 0x10000) return {byte(0xe0U | (code_point >> 12U)), continuation(6), continuation(0)};
  return {byte(0xf0U | (code_point >> 18U)), continuation(12), continuation(6), continuation(0)};
}

using generator = std::mt19937_64;

inline unsigned below(generator& random, unsigned limit) { return static_cast<unsigned>(random() % limit); }

inline std::string random_bytes(generator& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(below(random, 256));
  return bytes;
}

// A run of well-formed text in ASCII, one range of scripts, or all code points.
inline std::string random_run(generator& random) {
  const script_range& range = script_ranges.at(below(random, script_ranges.size()));
  const unsigned kind = below(random, 4);
  std::string run;
  for (unsigned left = below(random, 120); left != 0; --left) {
    char32_t code_point = below(random, 128);
    if (kind == 1) code_point = below(random, 0x110000);
    if (kind == 2 && left % 7 != 0) code_point = range.first + below(random, range.last - range.first + 1);
    if (kind == 3 && left % 9 == 0) code_point = 0x80 + below(random, 0x780);
    if (code_point < 0xd800 || code_point > 0xdfff) run += encode(code_point);
  }
  return run;
}

// Well-formed runs. After a run, with a chance of `errors` percent, there are random bytes or a cut sequence.
inline std::string random_text(generator& random, std::size_t size, unsigned errors) {
  std::string text;
  while (text.size() < size) {
    text += random_run(random);
    if (below(random, 100) >= errors) continue;
    if (below(random, 2) == 0) {
      text += random_bytes(random, 1 + below(random, 8));
    } else if (!text.empty()) {
      text.resize(text.size() - 1);
    }
  }
  return text.substr(0, size);
}

}  // namespace gpuhist::gpu::host::utf8_oracle
