// The search for a delimiter by its number in a text of device memory: the delimiters of each tile are counted, the
// numbers of delimiters before each tile are added up, and the search reads one tile.
#pragma once

#include "gpu/cuda/units/lane_masks.hpp"
#include "gpu/cuda/units/measure.hpp"
#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::units {

/// Writes launch.tile_pieces[tile]: the number of delimiters of the tile.
template <class Lanes>
GPUHIST_HOST_DEVICE void count_delimiters(const Lanes& lanes, const unit_launch& launch, std::uint32_t tile) {
  std::uint32_t found = 0;
  for_extents_in(launch, tile, [&](std::uint32_t, bool, const tile_extent& within) {
    found += count_delimiters_of(lanes, within, launch.delimiter);
  });
  if (lanes.rank() == 0) launch.tile_pieces[tile] = found;
}

/// The end of delimiter number `wanted` (from 1) of an extent in a tile. Precondition: there is one.
template <class Lanes>
GPUHIST_HOST_DEVICE std::uint32_t end_in(const Lanes& lanes, const tile_extent& within, std::uint8_t delimiter,
                                         std::uint32_t wanted) {
  const std::uint32_t delimiters = delimiter * 0x01010101U;
  for (std::uint32_t round = 0; round < within.bytes; round += Lanes::size * lane_bytes) {
    const std::uint32_t at = round + lanes.rank() * lane_bytes;
    const std::uint32_t bytes = at >= within.bytes               ? 0
                                : within.bytes - at < lane_bytes ? within.bytes - at
                                                                 : lane_bytes;
    const std::uint32_t own =
        bytes == 0 ? 0 : count_delimiters(load_lane(within.text, at, within.bytes), bytes, delimiters);
    const std::uint32_t before = lanes.sum_before(own);
    std::uint32_t end = 0;
    if (before < wanted && wanted <= before + own) {
      std::uint32_t left = wanted - before;
      for (end = at; left > 0; ++end) left -= within.text[end] == delimiter ? 1 : 0;
    }
    const std::uint32_t lane = lanes.lanes_with(end != 0);
    if (lane != 0) return lanes.from(end, lowest_bit(lane));
    wanted -= lanes.sum(own);
  }
  return within.bytes;
}

/// The place after delimiter number `wanted` (from 1) of the text from `begin` on, which is the begin of an extent.
/// `launch.tile_pieces`: of each tile the number of delimiters before it; at the end of all. `launch.text_room` if
/// there are fewer delimiters. All lanes call it together.
template <class Lanes>
GPUHIST_HOST_DEVICE std::uint32_t delimiter_end(const Lanes& lanes, const unit_launch& launch, std::uint32_t begin,
                                                std::uint32_t wanted) {
  const std::uint32_t tiles = tiles_in(launch.text_room);
  std::uint32_t low = begin / tile_bytes;
  std::uint32_t target = launch.tile_pieces[low] + wanted;
  for_extents_in(launch, low, [&](std::uint32_t, bool, const tile_extent& within) {
    if (within.text < launch.text + begin) target += count_delimiters_of(lanes, within, launch.delimiter);
  });
  if (launch.tile_pieces[tiles] < target) return launch.text_room;
  std::uint32_t high = tiles;  // the last tile with fewer delimiters before it
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (launch.tile_pieces[middle] < target ? low : high) = middle;
  }
  std::uint32_t left = target - launch.tile_pieces[low];
  std::uint32_t end = launch.text_room;
  for_extents_in(launch, low, [&](std::uint32_t, bool, const tile_extent& within) {
    if (left == 0) return;
    const std::uint32_t found = count_delimiters_of(lanes, within, launch.delimiter);
    if (found < left) {
      left -= found;
    } else {
      end = static_cast<std::uint32_t>(within.text - launch.text) + end_in(lanes, within, launch.delimiter, left);
      left = 0;
    }
  });
  return end;
}

}  // namespace gpuhist::gpu::cuda::units
