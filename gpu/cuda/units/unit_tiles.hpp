// Text in device memory whose units are measured, and its division into tiles. A warp measures a tile:
//
//     text      | extent 0              |  | extent 1 | extent 2 ...             |
//     tiles     | tile 0          | tile 1          | tile 2          | tile 3 ...
//     pieces    | line\n line\n li|ne\n end|  | line\n| a line of two |tiles\n li|
//
// A piece ends after a delimiter, at the end of a tile, or at the end of an extent. So tiles do not depend on each
// other, and 16 bits suffice for the numbers of a piece, whatever the length of a unit.
//
// If strings are searched, the first and the last bytes of each extent have rows, too (edge_rows), for strings that
// begin in an extent and end in another one.
#pragma once

#include "gpu/cuda/kernels/extent_search.hpp"
#include "gpu/cuda/units/piece_condition.hpp"
#include "gpu/cuda/units/searched_strings.hpp"
#include "gpu/engine.hpp"
#include "gpu/host_device.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::units {

inline constexpr std::uint32_t tile_bytes = std::uint32_t{16} << 10U;

/// Bytes that a lane reads at once. Extents begin at multiples of it, and text can be read up to the next one.
inline constexpr std::uint32_t lane_bytes = 32;

/// Rows that are returned, instead of all. Without a condition and strings, nothing is written.
struct row_selection {
  piece_condition condition{};           ///< the rows of units for which it does not hold may be omitted
  std::uint32_t* tile_rows = nullptr;    ///< scratch memory: as tile_pieces
  std::uint32_t* extent_rows = nullptr;  ///< written: as extent_pieces, of rows that are returned
  std::uint32_t* rows = nullptr;         ///< written: rows that are returned; room for row_room, aligned to 32
};

/// One measurement. All pointers are of device memory, or all of host memory.
struct unit_launch {
  const std::uint8_t* text = nullptr;  ///< aligned to 32
  const extent* extents = nullptr;     ///< each begins at a multiple of lane_bytes
  std::uint32_t extent_count = 0;
  std::uint32_t text_room = 0;             ///< all extents end there or before
  const std::uint32_t* classes = nullptr;  ///< a class_table
  unsigned counters = 4;                   ///< numbers of a row: 4, 8 or 16
  std::uint8_t delimiter = '\n';
  std::uint32_t* tile_pieces = nullptr;    ///< scratch memory: tiles_in(text_room) + 1 elements
  std::uint32_t* extent_pieces = nullptr;  ///< written: pieces before each extent, and in a last element of all
  std::uint32_t* rows = nullptr;           ///< written: as piece_classes.hpp, aligned to 32
  std::uint32_t row_room = 0;  ///< rows from there on are not written; an extent in a tile with such rows returns none
  row_selection selection{};
  /// Their bits are set in the rows, which have 4 numbers, and units in which the same are found are joined. Null:
  /// none.
  const searched_strings* strings = nullptr;
  std::uint32_t edge_bytes = 0;  ///< with strings, of the begin and of the end of an extent that have rows
  int multiprocessors = 1;

  GPUHIST_HOST_DEVICE bool selects_rows() const { return selection.condition.exists() || strings != nullptr; }
};

/// One more than there are full tiles, so that empty extents at the end are in a tile, too.
GPUHIST_HOST_DEVICE inline std::uint32_t tiles_in(std::uint32_t text_room) { return text_room / tile_bytes + 1; }

/// The bytes of an extent in a tile.
struct tile_extent {
  const std::uint8_t* text;
  std::uint32_t bytes;
};

/// Calls `measure(index, begins, within)` for every extent that begins in a tile or has bytes in it, in order.
/// `begins`: in this tile.
template <class Measure>
GPUHIST_HOST_DEVICE void for_extents_in(const unit_launch& launch, std::uint32_t tile, const Measure& measure) {
  const std::uint64_t begin = std::uint64_t{tile} * tile_bytes;
  const std::uint64_t end = begin + tile_bytes;
  std::uint32_t index = 0;  // of the first extent that does not end before the tile
  if (tile > 0) {
    const auto before = static_cast<std::uint32_t>(begin - 1);
    index = kernels::first_extent_after(launch.extents, launch.extent_count, before);
  }
  for (; index < launch.extent_count && launch.extents[index].begin < end; ++index) {
    const extent whole = launch.extents[index];
    const auto from = static_cast<std::uint32_t>(whole.begin > begin ? whole.begin : begin);
    const auto to = static_cast<std::uint32_t>(whole.end < end ? whole.end : end);
    measure(index, whole.begin >= begin, tile_extent{launch.text + from, to > from ? to - from : 0});
  }
}

/// Rows with text of an extent, before and after those of its pieces in a tile.
struct edge_rows {
  static constexpr std::uint32_t bytes_of_row = sizeof(std::uint32_t);  ///< of text

  std::uint32_t before = 0;
  std::uint32_t after = 0;

  GPUHIST_HOST_DEVICE std::uint32_t all() const { return before + after; }
};

/// The bytes of text that each edge of an extent has.
GPUHIST_HOST_DEVICE inline std::uint32_t edge_bytes_of(const unit_launch& launch, const extent& whole) {
  const std::uint32_t bytes = whole.end - whole.begin;
  return bytes < launch.edge_bytes ? bytes : launch.edge_bytes;
}

/// The arguments are those of for_extents_in().
GPUHIST_HOST_DEVICE inline edge_rows edges_in(const unit_launch& launch, std::uint32_t index, bool begins,
                                              const tile_extent& within) {
  if (launch.edge_bytes == 0 || within.bytes == 0) return {};
  const extent whole = launch.extents[index];
  const std::uint32_t rows = (edge_bytes_of(launch, whole) + edge_rows::bytes_of_row - 1) / edge_rows::bytes_of_row;
  const bool ends = within.text + within.bytes == launch.text + whole.end;
  return {begins ? rows : 0, ends ? rows : 0};
}

}  // namespace gpuhist::gpu::cuda::units
