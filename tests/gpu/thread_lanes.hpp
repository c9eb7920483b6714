// The kernels that measure units, with lanes that are threads of the host.
#pragma once

#include "gpu/cuda/units/join_rows.hpp"
#include "gpu/cuda/units/lanes.hpp"
#include "gpu/cuda/units/measure.hpp"
#include "gpu/cuda/units/select_rows.hpp"
#include "gpu/cuda/units/string_search.hpp"
#include "gpu/cuda/units/unit_tiles.hpp"

#include <array>
#include <barrier>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::test {

namespace units = gpu::cuda::units;

// Lanes of a warp, each a thread.
template <unsigned Size>
class thread_lanes {
 public:
  static constexpr unsigned size = Size;

  struct shared_state {
    std::barrier<> all{Size};
    std::array<std::uint32_t, Size> values{};
  };

  thread_lanes(shared_state& shared, unsigned rank) : shared_(shared), rank_(rank) {}

  [[nodiscard]] unsigned rank() const { return rank_; }
  [[nodiscard]] std::uint32_t sum(std::uint32_t value) const {
    const auto values = exchange(value);
    return std::accumulate(values.begin(), values.end(), 0U);
  }
  [[nodiscard]] std::uint32_t sum_before(std::uint32_t value) const {
    const auto values = exchange(value);
    return std::accumulate(values.begin(), values.begin() + rank_, 0U);
  }
  [[nodiscard]] std::uint32_t from(std::uint32_t value, unsigned lane) const { return exchange(value).at(lane); }
  [[nodiscard]] std::uint32_t lanes_with(bool is) const {
    std::uint32_t bits = 0;
    for (const std::uint32_t each : exchange(is ? 1U << rank_ : 0)) bits |= each;
    return bits;
  }
  void synchronize() const { shared_.all.arrive_and_wait(); }

 private:
  [[nodiscard]] std::array<std::uint32_t, Size> exchange(std::uint32_t value) const {
    shared_.values.at(rank_) = value;
    shared_.all.arrive_and_wait();
    const auto values = shared_.values;
    shared_.all.arrive_and_wait();
    return values;
  }

  shared_state& shared_;
  unsigned rank_;
};

template <unsigned Counters, unsigned Size>
void run_lane(const units::unit_launch& launch, const thread_lanes<Size>& lanes, std::barrier<>& between) {
  const auto bits_of = [&](std::uint32_t word, unsigned i) { return launch.classes[word >> (8 * i) & 0xffU]; };
  const std::uint32_t tiles = units::tiles_in(launch.text_room);
  const auto sum_up = [&](std::uint32_t* of_tiles, std::uint32_t* of_extents) {
    between.arrive_and_wait();
    std::uint32_t before = 0;
    for (std::uint32_t tile = 0; lanes.rank() == 0 && tile < tiles; ++tile)
      before += std::exchange(of_tiles[tile], before);
    if (lanes.rank() == 0) of_tiles[tiles] = of_extents[launch.extent_count] = before;
    between.arrive_and_wait();
  };
  for (std::uint32_t tile = 0; tile < tiles; ++tile) count_pieces(lanes, launch, tile);
  sum_up(launch.tile_pieces, launch.extent_pieces);
  for (std::uint32_t tile = 0; tile < tiles; ++tile) measure_tile<Counters>(lanes, launch, bits_of, tile);
  if (!launch.selects_rows()) return;
  between.arrive_and_wait();
  if (launch.strings != nullptr) {
    const auto filter = [&](std::uint32_t word, unsigned i) { return launch.strings->filter[word >> (8 * i) & 0xffU]; };
    for (std::uint32_t tile = 0; tile < tiles; ++tile) search_tile(lanes, launch, filter, tile);
    between.arrive_and_wait();
  }
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    launch.strings != nullptr ? join_tile(lanes, launch, tile) : select_tile<Counters>(lanes, launch, tile);
  }
  sum_up(launch.selection.tile_rows, launch.selection.extent_rows);
  for (std::uint32_t tile = 0; tile < tiles; ++tile) move_tile(lanes, launch, tile);
}

template <unsigned Size>
void measure_with_threads(const units::unit_launch& launch) {
  typename thread_lanes<Size>::shared_state shared;
  std::barrier<> between{Size};
  std::vector<std::jthread> threads;
  for (unsigned rank = 0; rank < Size; ++rank) {
    threads.emplace_back([&, rank] {
      const thread_lanes<Size> lanes(shared, rank);
      if (launch.counters == 4) return run_lane<4>(launch, lanes, between);
      if (launch.counters == 8) return run_lane<8>(launch, lanes, between);
      run_lane<16>(launch, lanes, between);
    });
  }
}

}  // namespace gpuhist::test
