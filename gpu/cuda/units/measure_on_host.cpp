#include "gpu/cuda/units/measure_on_host.hpp"

#include "gpu/cuda/units/lanes.hpp"
#include "gpu/cuda/units/measure.hpp"
#include "gpu/cuda/units/select_rows.hpp"

#include <numeric>
#include <span>

namespace gpuhist::gpu::cuda::units {
namespace {

// Replaces the number of each tile by the sum of those before it. Returns the sum of all.
std::uint32_t sum_up(std::span<std::uint32_t> tiles) {
  std::exclusive_scan(tiles.begin(), tiles.end(), tiles.begin(), std::uint32_t{0});
  return tiles.back();
}

template <unsigned Counters>
void measure_tiles(const unit_launch& launch) {
  const auto bits_of = [&](std::uint32_t word, unsigned i) { return launch.classes[word >> (8 * i) & 0xffU]; };
  for (std::uint32_t tile = 0; tile < tiles_in(launch.text_room); ++tile) {
    measure_tile<Counters>(one_lane(), launch, bits_of, tile);
  }
  if (!launch.selection.condition.exists()) return;
  const std::uint32_t tiles = tiles_in(launch.text_room);
  for (std::uint32_t tile = 0; tile < tiles; ++tile) select_tile<Counters>(one_lane(), launch, tile);
  launch.selection.extent_rows[launch.extent_count] = sum_up({launch.selection.tile_rows, tiles + 1});
  for (std::uint32_t tile = 0; tile < tiles; ++tile) move_tile(one_lane(), launch, tile);
}

}  // namespace

void measure_on_host(const unit_launch& launch) {
  const std::uint32_t tiles = tiles_in(launch.text_room);
  for (std::uint32_t tile = 0; tile < tiles; ++tile) count_pieces(one_lane(), launch, tile);
  launch.extent_pieces[launch.extent_count] = sum_up({launch.tile_pieces, tiles + 1});
  switch (launch.counters) {
    case 4:
      return measure_tiles<4>(launch);
    case 8:
      return measure_tiles<8>(launch);
    default:
      return measure_tiles<16>(launch);
  }
}

}  // namespace gpuhist::gpu::cuda::units
