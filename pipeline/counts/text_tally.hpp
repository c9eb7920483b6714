// The counts of consecutive text, with the bytes at its ends, so that the pairs at the seams of texts are counted.
//
//     text a      text b          a, then b: the pairs of a, the pairs of b, and (last byte of a, first byte of b)
//     | first .. last | first .. last |
//
// Appending differs from adding: totals of different inputs are added (gpu::tally), and no pair spans two inputs.
#pragma once

#include "gpu/tally.hpp"

#include <cstdint>
#include <optional>

namespace gpuhist::pipeline {

/// The two bytes at a seam, by their classes of pairs.
struct byte_pair {
  std::uint8_t first = 0;
  std::uint8_t second = 0;

  bool operator==(const byte_pair&) const = default;
};

/// The ends of a text. Appending is associative; no text is its identity. A gap is missing or damaged text: no pair
/// spans it.
struct text_edges {
  bool is_empty = true;               ///< no text and no gap
  std::optional<std::uint8_t> first;  ///< class of the first byte; nothing: the text begins with a gap
  std::optional<std::uint8_t> last;   ///< class of the last byte; nothing: the text ends with a gap

  /// A gap.
  static text_edges gap() { return {.is_empty = false, .first = {}, .last = {}}; }

  /// From the last column of a row (gpu::edges_of).
  static text_edges from_row(std::uint32_t edges) {
    if (edges == 0) return {};
    return {.is_empty = false,
            .first = static_cast<std::uint8_t>(edges & 0xffU),
            .last = static_cast<std::uint8_t>((edges >> 8U) & 0xffU)};
  }

  /// Returns the pair at the seam; nothing if there is none.
  std::optional<byte_pair> append(const text_edges& next) {
    if (next.is_empty) return std::nullopt;
    std::optional<byte_pair> seam;
    if (last && next.first) seam = {.first = *last, .second = *next.first};
    if (is_empty) first = next.first;
    is_empty = false;
    last = next.last;
    return seam;
  }

  bool operator==(const text_edges&) const = default;
};

/// A text. Extended by row_folding::append().
struct text_tally {
  gpu::tally counts;
  text_edges edges{};
};

}  // namespace gpuhist::pipeline
