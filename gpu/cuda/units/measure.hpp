// Measuring the units of a tile: first the number of its pieces, then their rows. Lanes read 64 bytes each, two blocks,
// in turn:
//
//     lane            0               1               2
//     block         0       1       0       1       0
//     text        ... | li | ne\n | lin | e\n a | very lo | ng line ...
//     delimiters      |    |   1  |     |  1    |
//     before          sums of the lanes before it, of all earlier bytes of the extent
//     row of a piece     sums at its end, less the sums at the end of the piece before
//
// The sums at the end of the last piece before those of a lane are those of the nearest lane before it that has a
// delimiter.
#pragma once

#include "gpu/cuda/units/lane_masks.hpp"
#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/host_device.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::units {

/// The number of bytes of a word that are `value`, which is repeated in `values`.
GPUHIST_HOST_DEVICE inline unsigned count_equal(std::uint32_t word, std::uint32_t values) {
  constexpr std::uint32_t low_bits = 0x7f7f7f7f;
  const std::uint32_t other = word ^ values;  // 0 in bytes that are equal
  return population(~(((other & low_bits) + low_bits) | other | low_bits));
}

/// The number of delimiters of a lane. `bytes`: that are text.
GPUHIST_HOST_DEVICE inline unsigned count_delimiters(const lane_text& text, std::uint32_t bytes,
                                                     std::uint32_t delimiters) {
  constexpr std::uint32_t word_bytes = sizeof(std::uint32_t);
  unsigned found = 0;
  for (unsigned i = 0; i < words_of_lane; ++i) {
    std::uint32_t word = text.words[i];
    if (bytes < (i + 1) * word_bytes) {  // other bytes after the end
      const std::uint32_t after = bytes > i * word_bytes ? ~std::uint32_t{0} << (8 * (bytes - i * word_bytes)) : ~0U;
      word = (word & ~after) | (~delimiters & after);
    }
    found += count_equal(word, delimiters);
  }
  return found;
}

template <class Lanes>
GPUHIST_HOST_DEVICE std::uint32_t count_delimiters_of(const Lanes& lanes, const tile_extent& within,
                                                      std::uint8_t delimiter) {
  const std::uint32_t delimiters = delimiter * 0x01010101U;
  std::uint32_t found = 0;
  std::uint32_t at = lanes.rank() * lane_bytes;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
  for (; at + lane_bytes <= within.bytes; at += Lanes::size * lane_bytes) {
    found += count_delimiters(load_lane(within.text, at, within.bytes), lane_bytes, delimiters);
  }
  if (at < within.bytes)
    found += count_delimiters(load_lane(within.text, at, within.bytes), within.bytes - at, delimiters);
  return lanes.sum(found);
}

/// The pieces of an extent in a tile: one for each delimiter, and one for the bytes after the last.
template <class Lanes>
GPUHIST_HOST_DEVICE std::uint32_t count_pieces_of(const Lanes& lanes, const tile_extent& within,
                                                  std::uint8_t delimiter) {
  if (within.bytes == 0) return 0;
  return count_delimiters_of(lanes, within, delimiter) + (within.text[within.bytes - 1] == delimiter ? 0 : 1);
}

/// Writes launch.tile_pieces[tile]: the number of pieces of the tile, with the rows of edges.
template <class Lanes>
GPUHIST_HOST_DEVICE void count_pieces(const Lanes& lanes, const unit_launch& launch, std::uint32_t tile) {
  std::uint32_t pieces = 0;
  for_extents_in(launch, tile, [&](std::uint32_t index, bool begins, const tile_extent& within) {
    pieces += count_pieces_of(lanes, within, launch.delimiter) + edges_in(launch, index, begins, within).all();
  });
  if (lanes.rank() == 0) launch.tile_pieces[tile] = pieces;
}

template <unsigned Counters>
GPUHIST_HOST_DEVICE void store_row(const unit_launch& launch, std::uint32_t index, const row_words<Counters>& row) {
  if (index >= launch.row_room) return;
  std::uint32_t* const to = launch.rows + std::size_t{index} * row_words<Counters>::size;
#if defined(__CUDA_ARCH__)
  if constexpr (Counters == 4) {
    *reinterpret_cast<uint2*>(to) = make_uint2(row.at[0], row.at[1]);
  } else {
    for (unsigned i = 0; i < row_words<Counters>::size; i += 4) {
      *reinterpret_cast<uint4*>(to + i) = make_uint4(row.at[i], row.at[i + 1], row.at[i + 2], row.at[i + 3]);
    }
  }
#else
  std::memcpy(to, row.at, sizeof row.at);
#endif
}

/// Writes the rows of the pieces of extents in a tile. All lanes of a team have one with the same state.
template <unsigned Counters, class Lanes, class Table>
class extent_measurer {
 public:
  using row = row_words<Counters>;

  GPUHIST_HOST_DEVICE extent_measurer(const Lanes& lanes, const unit_launch& launch, const Table& table)
      : lanes_(lanes), launch_(launch), table_(table) {}

  /// `first`: the index of the first row. Returns the number of pieces.
  GPUHIST_HOST_DEVICE std::uint32_t measure(const tile_extent& within, std::uint32_t first) {
    sums_ = {};
    last_ = {};
    first_ = first;
    round_text text = load_round(within, lanes_.rank() * round_lane_bytes);
    for (std::uint32_t round = 0; round < within.bytes; round += round_bytes) {
      const std::uint32_t at = round + lanes_.rank() * round_lane_bytes;
      const round_text next = load_round(within, at + round_bytes);
      measure_round(text, at, within.bytes);
      text = next;
    }
    if (last_.first() == within.bytes) return sums_.first();
    const std::uint32_t pieces = sums_.first() + 1;
    sums_.set_first(within.bytes);
    sums_ -= last_;
    if (lanes_.rank() == 0) store_row<Counters>(launch_, first_ + pieces - 1, sums_);
    return pieces;
  }

 private:
  static constexpr unsigned blocks = 2;  // of a lane in a round
  static constexpr std::uint32_t round_lane_bytes = blocks * lane_bytes;
  static constexpr std::uint32_t round_bytes = Lanes::size * round_lane_bytes;

  struct round_text {
    lane_text block[blocks];
  };

  // The text of a lane in a round.
  struct lane_round {
    lane_masks masks[blocks];
    std::uint32_t delimiters[blocks];
    row before;       // all earlier bytes of the extent. The first number: of delimiters
    row first_block;  // the bytes of block 0
    std::uint32_t at;

    GPUHIST_HOST_DEVICE bool has_delimiter() const { return (delimiters[0] | delimiters[1]) != 0; }

    // The sums at the end of the byte with this bit of a block. The first number is the end within the extent.
    GPUHIST_HOST_DEVICE row sums_at(bool second, unsigned bit) const {
      lane_masks of_block;
      for (unsigned i = 0; i < class_bits; ++i) of_block.planes[i] = second ? masks[1].planes[i] : masks[0].planes[i];
      row sums = count_classes<Counters>(of_block, ~0U << bit);
      for (unsigned i = 0; i < row::size; ++i) sums.at[i] += before.at[i] + (second ? first_block.at[i] : 0);
      sums.set_first(at + (second ? lane_bytes : 0) + lane_bytes - bit);
      return sums;
    }
  };

  GPUHIST_HOST_DEVICE static round_text load_round(const tile_extent& within, std::uint32_t at) {
    return {{load_lane(within.text, at, within.bytes), load_lane(within.text, at + lane_bytes, within.bytes)}};
  }

  GPUHIST_HOST_DEVICE row count_block(const lane_text& text, std::uint32_t at, std::uint32_t bytes, lane_masks& masks,
                                      std::uint32_t& delimiters) const {
    masks = classify(text, table_);
    const std::uint32_t valid = at >= bytes ? 0 : bytes - at >= lane_bytes ? ~0U : ~(~0U >> (bytes - at));
    delimiters = bytes_of_class<Counters>(masks, 0) & valid;
    row counts = count_classes<Counters>(masks, valid);
    counts.at[0] |= population(delimiters);
    return counts;
  }

  GPUHIST_HOST_DEVICE void measure_round(const round_text& text, std::uint32_t at, std::uint32_t bytes) {
    lane_round round;
    round.at = at;
    round.first_block = count_block(text.block[0], at, bytes, round.masks[0], round.delimiters[0]);
    row own = count_block(text.block[1], at + lane_bytes, bytes, round.masks[1], round.delimiters[1]);
    own += round.first_block;
    for (unsigned i = 0; i < row::size; ++i) round.before.at[i] = lanes_.sum_before(own.at[i]);
    const row total = from(round.before, own, Lanes::size - 1);
    round.before += sums_;
    sums_ += total;
    const bool in_second = round.delimiters[1] != 0;
    const bool has_delimiter = round.has_delimiter();
    const row last = has_delimiter
                         ? round.sums_at(in_second, lowest_bit(in_second ? round.delimiters[1] : round.delimiters[0]))
                         : row{};
    const std::uint32_t with_delimiter = lanes_.lanes_with(has_delimiter);
    if (with_delimiter == 0) return;
    const std::uint32_t earlier = with_delimiter & ((1U << lanes_.rank()) - 1);
    const row previous = from(last, earlier != 0 ? highest_bit(earlier) : 0);
    if (has_delimiter) write(round, earlier != 0 ? previous : last_, last);
    last_ = from(last, highest_bit(with_delimiter));
  }

  // `last`: the sums at the end of the last piece that ends in the round.
  GPUHIST_HOST_DEVICE void write(const lane_round& round, row previous, const row& last) {
    std::uint32_t first = round.delimiters[0];
    std::uint32_t second = round.delimiters[1];
    for (std::uint32_t index = first_ + round.before.first(); (first | second) != 0; ++index) {
      const bool in_second = first == 0;
      const unsigned bit = highest_bit(in_second ? second : first);
      first ^= in_second ? 0 : 1U << bit;
      second ^= in_second ? 1U << bit : 0;
      const row end = (first | second) == 0 ? last : round.sums_at(in_second, bit);
      row piece = end;
      piece -= previous;
      piece.at[0] |= piece_rows::end_flag;
      store_row<Counters>(launch_, index, piece);
      previous = end;
    }
  }

  GPUHIST_HOST_DEVICE row from(const row& values, unsigned lane) const {
    row made;
    for (unsigned i = 0; i < row::size; ++i) made.at[i] = lanes_.from(values.at[i], lane);
    return made;
  }
  GPUHIST_HOST_DEVICE row from(row values, const row& more, unsigned lane) const { return from(values += more, lane); }

  const Lanes& lanes_;
  const unit_launch& launch_;
  const Table& table_;
  row sums_{};  // of all earlier rounds; the first number: of delimiters
  row last_{};  // at the end of the last piece; the first number: its end within the extent
  std::uint32_t first_ = 0;
};

/// Writes the rows of the pieces of a tile, and leaves out those of edges. `launch.tile_pieces`: of each tile, the
/// number of pieces before it.
template <unsigned Counters, class Lanes, class Table>
GPUHIST_HOST_DEVICE void measure_tile(const Lanes& lanes, const unit_launch& launch, const Table& table,
                                      std::uint32_t tile) {
  extent_measurer<Counters, Lanes, Table> measurer(lanes, launch, table);
  std::uint32_t row = launch.tile_pieces[tile];
  for_extents_in(launch, tile, [&](std::uint32_t index, bool begins, const tile_extent& within) {
    if (begins && lanes.rank() == 0) launch.extent_pieces[index] = row;
    if (within.bytes == 0) return;
    const edge_rows edges = edges_in(launch, index, begins, within);
    row += edges.all() + measurer.measure(within, row + edges.before);
  });
}

}  // namespace gpuhist::gpu::cuda::units
