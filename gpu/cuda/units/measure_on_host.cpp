#include "gpu/cuda/units/measure_on_host.hpp"

#include "gpu/cuda/units/lanes.hpp"
#include "gpu/cuda/units/measure.hpp"

#include <numeric>
#include <span>

namespace gpuhist::gpu::cuda::units {
namespace {

template <unsigned Counters>
void measure_tiles(const unit_launch& launch) {
  const auto bits_of = [&](std::uint32_t word, unsigned i) { return launch.classes[word >> (8 * i) & 0xffU]; };
  for (std::uint32_t tile = 0; tile < tiles_in(launch.text_room); ++tile) {
    measure_tile<Counters>(one_lane(), launch, bits_of, tile);
  }
}

}  // namespace

void measure_on_host(const unit_launch& launch) {
  const std::uint32_t tiles = tiles_in(launch.text_room);
  for (std::uint32_t tile = 0; tile < tiles; ++tile) count_pieces(one_lane(), launch, tile);
  const std::span pieces(launch.tile_pieces, tiles + 1);
  std::exclusive_scan(pieces.begin(), pieces.end(), pieces.begin(), std::uint32_t{0});
  launch.extent_pieces[launch.extent_count] = pieces.back();
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
