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
#pragma once

#include "gpu/cuda/units/piece_condition.hpp"
#include "gpu/tally.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

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

  /// `words`: whole rows.
  piece_rows(std::span<const std::uint32_t> words, const piece_classes& classes) : words_(words), classes_(&classes) {}

  [[nodiscard]] std::size_t size() const { return words_.size() / classes_->words_of_row(); }
  [[nodiscard]] bool ends_unit(std::size_t piece) const { return row(piece).ends_unit(); }
  [[nodiscard]] std::uint32_t bytes(std::size_t piece) const { return row(piece).bytes(); }

  /// Whether the row is one of omitted units, and how many units and bytes these are.
  [[nodiscard]] bool is_of_omitted(std::size_t piece) const { return row(piece).at(0) == 0; }
  [[nodiscard]] std::uint32_t omitted_units(std::size_t piece) const { return row(piece).at(1); }
  [[nodiscard]] std::uint32_t omitted_bytes(std::size_t piece) const { return row(piece).at(2); }

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
  template <unsigned Counters>
  void count_of(std::size_t first, std::uint32_t of_classes, std::span<std::uint32_t> to) const;

  [[nodiscard]] piece_numbers row(std::size_t piece) const {
    return {&words_[piece * classes_->words_of_row()], classes_->counters};
  }

  std::span<const std::uint32_t> words_;
  const piece_classes* classes_;
};

}  // namespace gpuhist::gpu::cuda::units
