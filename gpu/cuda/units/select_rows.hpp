// Omitting the rows of units that are not selected, in three steps, each for all tiles:
//
//     1. select   the rows of a tile that are returned move to the begin of its rows
//     2.          the numbers of such rows before each tile are added up
//     3. move     the rows of all tiles move together, to other memory
//
// Omitted are units of one piece for which the condition does not hold. A piece at the begin of an extent or a tile is
// returned: the piece before it may belong to the same unit. A run of omitted units is one row (piece_classes.hpp):
//
//     rows of a tile   end of a unit | unit | unit | selected unit | unit | begin of a unit
//     returned         end of a unit | 2 units     | selected unit | 1 unit | begin of a unit
#pragma once

#include "gpu/cuda/units/lane_masks.hpp"
#include "gpu/cuda/units/piece_condition.hpp"
#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/host_device.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::units {

/// Selects the rows of an extent in a tile. All lanes of a team have one with the same state.
template <unsigned Counters, class Lanes>
class row_selector {
 public:
  GPUHIST_HOST_DEVICE row_selector(const Lanes& lanes, const unit_launch& launch) : lanes_(lanes), launch_(launch) {}

  /// Of the rows from `first` on, writes those that are returned from `to` on, which is not after `first`. Returns the
  /// place after them.
  GPUHIST_HOST_DEVICE std::uint32_t select(std::uint32_t first, std::uint32_t pieces, std::uint32_t to) {
    omitted_ = {};
    noted_ = {};
    for (std::uint32_t round = 0; round < pieces; round += Lanes::size) {
      to = select_round(first, round + lanes_.rank(), pieces, to);
    }
    if (omitted_.units == noted_.units) return to;
    if (lanes_.rank() == 0) store(to, row_of(omitted_, noted_));
    return to + 1;
  }

 private:
  static constexpr unsigned words = Counters / 2;

  struct row {
    std::uint32_t at[words];
  };

  // Units of the extent in the tile.
  struct amount {
    std::uint32_t units = 0;
    std::uint32_t bytes = 0;
  };

  GPUHIST_HOST_DEVICE std::uint32_t select_round(std::uint32_t first, std::uint32_t index, std::uint32_t pieces,
                                                 std::uint32_t to) {
    const bool exists = index < pieces;
    const row own = exists ? load(first + index) : row{};
    const piece_numbers numbers{row_at(first + (exists ? index : 0)), Counters};
    const bool omits = exists && index > 0 && numbers.ends_unit() && !holds(launch_.selection.condition, numbers);
    const std::uint32_t omitting = lanes_.lanes_with(omits);
    const std::uint32_t returning = lanes_.lanes_with(exists && !omits);
    const std::uint32_t bytes = omits ? numbers.bytes() : 0;
    const std::uint32_t lower = (1U << lanes_.rank()) - 1;
    const amount before{omitted_.units + population(omitting & lower), omitted_.bytes + lanes_.sum_before(bytes)};
    // up to the last row that is returned
    const std::uint32_t earlier = returning & lower;
    const amount of_earlier = from(before, earlier != 0 ? highest_bit(earlier) : 0);
    const amount noted = earlier != 0 ? of_earlier : noted_;
    const bool notes = exists && !omits && before.units != noted.units;
    const std::uint32_t noting = lanes_.lanes_with(notes);
    std::uint32_t own_place = to + population(earlier) + population(noting & lower);
    lanes_.synchronize();  // all rows of the round were read
    if (notes) store(own_place++, row_of(before, noted));
    if (exists && !omits) store(own_place, own);
    omitted_.units += population(omitting);
    omitted_.bytes += lanes_.sum(bytes);
    if (returning != 0) noted_ = from(before, highest_bit(returning));
    return to + population(returning) + population(noting);
  }

  GPUHIST_HOST_DEVICE amount from(const amount& value, unsigned lane) const {
    return {lanes_.from(value.units, lane), lanes_.from(value.bytes, lane)};
  }

  GPUHIST_HOST_DEVICE static row row_of(const amount& end, const amount& begin) {
    row made{};
    made.at[0] = (end.units - begin.units) << 16U;
    made.at[1] = end.bytes - begin.bytes;
    return made;
  }

  GPUHIST_HOST_DEVICE std::uint32_t* row_at(std::uint32_t index) const {
    return launch_.rows + std::size_t{index} * words;
  }
  GPUHIST_HOST_DEVICE row load(std::uint32_t index) const {
    row made;
    for (unsigned i = 0; i < words; ++i) made.at[i] = row_at(index)[i];
    return made;
  }
  GPUHIST_HOST_DEVICE void store(std::uint32_t index, const row& value) const {
    for (unsigned i = 0; i < words; ++i) row_at(index)[i] = value.at[i];
  }

  const Lanes& lanes_;
  const unit_launch& launch_;
  amount omitted_{};  // of all earlier rounds
  amount noted_{};    // before the last row that was returned
};

/// Calls `use(index, begins, within, first, after)` for the extents of a tile as for_extents_in(), with their rows in
/// it. `launch.tile_pieces`: of each tile, the number of pieces before it.
template <class Use>
GPUHIST_HOST_DEVICE void for_rows_in(const unit_launch& launch, std::uint32_t tile, const Use& use) {
  const std::uint64_t end_of_tile = (std::uint64_t{tile} + 1) * tile_bytes;
  std::uint32_t first = launch.tile_pieces[tile];
  for_extents_in(launch, tile, [&](std::uint32_t index, bool begins, const tile_extent& within) {
    const bool is_last = index + 1 == launch.extent_count || launch.extents[index + 1].begin >= end_of_tile;
    const std::uint32_t end = is_last ? launch.tile_pieces[tile + 1] : launch.extent_pieces[index + 1];
    const std::uint32_t after = within.bytes == 0 ? first : end;
    use(index, begins, within, first, after);
    first = after;
  });
}

/// Step 1. `launch.tile_pieces`: of each tile, the number of pieces before it. Writes the number of rows of the tile to
/// `selection.tile_rows`, and those before each extent that begins in it to `selection.extent_rows`.
template <unsigned Counters, class Lanes>
GPUHIST_HOST_DEVICE void select_tile(const Lanes& lanes, const unit_launch& launch, std::uint32_t tile) {
  const std::uint32_t begin = launch.tile_pieces[tile];
  row_selector<Counters, Lanes> selector(lanes, launch);
  std::uint32_t to = begin;
  for_rows_in(launch, tile,
              [&](std::uint32_t index, bool begins, const tile_extent&, std::uint32_t first, std::uint32_t after) {
                if (begins && lanes.rank() == 0) launch.selection.extent_rows[index] = to - begin;
                if (after > first && after <= launch.row_room) to = selector.select(first, after - first, to);
              });
  if (lanes.rank() == 0) launch.selection.tile_rows[tile] = to - begin;
}

/// Step 3. `selection.tile_rows`: of each tile, the number of rows before it.
template <class Lanes>
GPUHIST_HOST_DEVICE void move_tile(const Lanes& lanes, const unit_launch& launch, std::uint32_t tile) {
  const row_selection& selection = launch.selection;
  const std::size_t words = launch.counters / 2;
  const std::uint32_t before = selection.tile_rows[tile];
  const std::size_t moved = (selection.tile_rows[tile + 1] - before) * words;
  const std::uint32_t* const from = launch.rows + launch.tile_pieces[tile] * words;
  std::uint32_t* const to = selection.rows + before * words;
  for (std::size_t i = lanes.rank(); i < moved; i += Lanes::size) to[i] = from[i];
  for_extents_in(launch, tile, [&](std::uint32_t index, bool begins, const tile_extent&) {
    if (begins && lanes.rank() == 0) selection.extent_rows[index] += before;
  });
}

}  // namespace gpuhist::gpu::cuda::units
