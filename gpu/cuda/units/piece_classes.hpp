// Which bytes a device counts in units, and the rows in which the counts come back.
//
// A device counts a unit in pieces: a piece is the part of a unit that lies in one tile of the text (unit_tiles.hpp).
// The host adds the pieces of a unit. A row of a piece has 4, 8 or 16 numbers of 16 bits:
//
//     15 14            0
//     |e|    bytes     | class 1 | class 2 | class 3 | ...        e: the piece ends with the delimiter
//
// Class 0 is the delimiter, which is only at the end of a piece. A class without a number of its own, which is the last
// one, has the remaining bytes.
//
// With a condition, rows of units that are one piece each and for which it does not hold may be omitted. A run of such
// units has one row, without bytes:
//
//     |0|      0       |  units  |  bytes  | 0 ...
//
// If strings are searched, a row has 4 numbers. The last one has a bit for each string that was found in the piece. All
// units that are one piece each may be omitted, with one row for those of a tile in which the same strings are found.
// The first and the last bytes of an extent, up to one less than the longest string has, are in rows before and after
// those of its pieces, 4 bytes each:
//
//     |0|      0       |  units  |  bytes  | strings
//     |0|      0       |1|end edge|last row| bytes of text |       text        |
#pragma once

#include "gpu/cuda/units/piece_condition.hpp"
#include "gpu/cuda/units/searched_strings.hpp"
#include "gpu/tally.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::gpu::cuda::units {

/// The number that the kernel adds up for a byte value: bit b of the class, in byte b.
using class_table = std::array<std::uint32_t, 256>;

struct piece_classes {
  static constexpr unsigned max_classes = 16;

  std::byte delimiter{};
  std::array<std::uint8_t, 256> class_of{};
  unsigned classes = 1;   ///< at most max_classes
  unsigned counters = 4;  ///< numbers of a row: 4, 8 or 16
  piece_condition condition{};
  std::optional<searched_strings> strings{};  ///< then there is no condition, and at most 2 classes

  /// Whether some rows are not returned.
  [[nodiscard]] bool selects_rows() const { return condition.exists() || strings; }

  /// Bytes of text of the edges of an extent.
  [[nodiscard]] std::uint32_t edge_bytes() const { return strings ? strings->longest - 1 : 0; }

  /// The classes of `counted`, of which the delimiter is a class of its own. Nothing: these are too many.
  static std::optional<piece_classes> make(const partition& counted, std::byte delimiter);

  [[nodiscard]] std::size_t words_of_row() const { return counters / 2; }
  [[nodiscard]] std::size_t bytes_of_row() const { return words_of_row() * sizeof(std::uint32_t); }
  [[nodiscard]] class_table table() const;
};

/// Rows of pieces, in the order of the text. Borrows them.
class piece_rows {
 public:
  static constexpr unsigned end_flag = piece_numbers::end_flag;

  // In the second number of a row with text.
  static constexpr unsigned text_flag = 1U << 15U;
  static constexpr unsigned end_edge = 1U << 14U;
  static constexpr unsigned last_flag = 1U << 13U;  ///< the last row of an edge

  /// `words`: whole rows.
  piece_rows(std::span<const std::uint32_t> words, const piece_classes& classes) : words_(words), classes_(&classes) {}

  [[nodiscard]] std::size_t size() const { return words_.size() / classes_->words_of_row(); }
  [[nodiscard]] piece_rows only(std::size_t piece) const {
    return {words_.subspan(piece * classes_->words_of_row(), classes_->words_of_row()), *classes_};
  }
  [[nodiscard]] bool ends_unit(std::size_t piece) const { return row(piece).ends_unit(); }
  [[nodiscard]] std::uint32_t bytes(std::size_t piece) const { return row(piece).bytes(); }

  /// Whether the row is one of omitted units, and how many units and bytes these are.
  [[nodiscard]] bool is_of_omitted(std::size_t piece) const { return row(piece).at(0) == 0; }
  [[nodiscard]] std::uint32_t omitted_units(std::size_t piece) const { return row(piece).at(1); }
  [[nodiscard]] std::uint32_t omitted_bytes(std::size_t piece) const { return row(piece).at(2); }

  /// With strings: those that are found in a piece, or in each omitted unit of a row, as bits.
  [[nodiscard]] std::uint32_t strings(std::size_t piece) const { return row(piece).at(3); }

  /// With strings: whether the row has text of an edge of an extent.
  [[nodiscard]] bool is_text(std::size_t piece) const { return is_of_omitted(piece) && has(piece, text_flag); }
  [[nodiscard]] bool is_of_end(std::size_t piece) const { return has(piece, end_edge); }
  [[nodiscard]] bool is_last_of_edge(std::size_t piece) const { return has(piece, last_flag); }
  [[nodiscard]] std::string_view text(std::size_t piece) const {
    const auto* const words = &words_[piece * classes_->words_of_row()];
    return {reinterpret_cast<const char*>(words + 1), row(piece).at(1) & (last_flag - 1)};
  }

  /// Finds the units that are one piece each, from a piece on that begins a unit, up to a row that does not end a unit.
  /// Writes where they end, counted from the begin of the first one, plus `begin`. Returns their number, at most
  /// ends.size().
  [[nodiscard]] std::size_t find_single_units(std::size_t first, std::uint32_t begin,
                                              std::span<std::uint32_t> ends) const;

  /// The bytes of some classes in each of consecutive pieces. Classes are bits. Precondition: each of the pieces ends a
  /// unit.
  void count(std::size_t first, std::uint32_t of_classes, std::span<std::uint32_t> to) const;

  /// Adds the bytes of each class to `to`, which has the classes.
  template <class Counter>
  void add_counts(std::size_t piece, std::span<Counter> to) const {
    std::uint32_t rest = bytes(piece);
    const auto add = [&](std::size_t index, std::uint32_t count) {
      to[index] += static_cast<Counter>(count);
      rest -= count;
    };
    add(0, ends_unit(piece) ? 1 : 0);
    const unsigned counted = std::min(classes_->classes, classes_->counters);
    for (unsigned i = 1; i < counted; ++i) add(i, row(piece).at(i));
    if (classes_->classes > counted) to[counted] += static_cast<Counter>(rest);
  }

 private:
  [[nodiscard]] bool has(std::size_t piece, unsigned flag) const { return (row(piece).at(1) & flag) != 0; }
  template <unsigned Counters>
  void count_of(std::size_t first, std::uint32_t of_classes, std::span<std::uint32_t> to) const;

  [[nodiscard]] piece_numbers row(std::size_t piece) const {
    return {&words_[piece * classes_->words_of_row()], classes_->counters};
  }

  std::span<const std::uint32_t> words_;
  const piece_classes* classes_;
};

}  // namespace gpuhist::gpu::cuda::units
