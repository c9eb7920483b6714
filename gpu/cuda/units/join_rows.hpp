// Joining the rows of units in which the same strings are found, as the first step of select_rows.hpp. The rows of the
// edges of extents, and of pieces at the begin and the end of a tile or extent, whose units may have other pieces, are
// returned as they are:
//
//     rows of a tile   end of a unit | unit 00 | unit 01 | unit 00 | unit 01 | begin of a unit      strings, as bits
//     returned         end of a unit | 2 units 00 | 2 units 01 | begin of a unit
//
// Each lane holds the sum of units with other bits. If there are more, the sums are written, and begin again.
#pragma once

#include "gpu/cuda/units/lane_masks.hpp"
#include "gpu/cuda/units/piece_condition.hpp"
#include "gpu/cuda/units/select_rows.hpp"
#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/host_device.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::units {

/// All lanes of a team have one with the same state, except for their sums.
template <class Lanes>
class row_joiner {
 public:
  GPUHIST_HOST_DEVICE row_joiner(const Lanes& lanes, const unit_launch& launch, std::uint32_t to)
      : lanes_(lanes), launch_(launch), to_(to) {}

  /// The rows of an extent in a tile, from `first` to `after`. Not before the place that is written next.
  GPUHIST_HOST_DEVICE void join(std::uint32_t first, std::uint32_t after, const edge_rows& edges) {
    const std::uint32_t end = after - edges.after;
    std::uint32_t at = first + edges.before + 1;  // after the first piece
    copy(first, at);
    const std::uint32_t last = at < end && !ends_unit(end - 1) ? end - 1 : end;
    for (; at < last; at += Lanes::size) add_round(at, last);
    write_sums();
    copy(last, after);
  }

  /// The place after the rows that were written.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t end() const { return to_; }

 private:
  struct row {
    std::uint32_t numbers;
    std::uint32_t strings;  // and a number
  };

  struct unit_sum {
    std::uint32_t strings = 0;
    std::uint32_t units = 0;  // 0: the lane has no sum
    std::uint32_t bytes = 0;
  };

  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t* place(std::uint32_t index) const {
    return launch_.rows + std::size_t{index} * 2;
  }
  [[nodiscard]] GPUHIST_HOST_DEVICE row load(std::uint32_t index) const { return {place(index)[0], place(index)[1]}; }
  GPUHIST_HOST_DEVICE void store(std::uint32_t index, const row& value) const {
    place(index)[0] = value.numbers;
    place(index)[1] = value.strings;
  }
  [[nodiscard]] GPUHIST_HOST_DEVICE bool ends_unit(std::uint32_t index) const {
    return piece_numbers{place(index), 4}.ends_unit();
  }

  GPUHIST_HOST_DEVICE void copy(std::uint32_t first, std::uint32_t after) {
    for (; first < after; first += Lanes::size) {
      const std::uint32_t own = first + lanes_.rank();
      const row value = own < after ? load(own) : row{};
      lanes_.synchronize();  // all rows of the round were read
      if (own < after) store(to_ + lanes_.rank(), value);
      to_ += after - first < Lanes::size ? after - first : Lanes::size;
    }
    lanes_.synchronize();
  }

  GPUHIST_HOST_DEVICE void add_round(std::uint32_t at, std::uint32_t last) {
    const std::uint32_t own = at + lanes_.rank();
    const row value = own < last ? load(own) : row{};
    lanes_.synchronize();  // all rows of the round were read
    const std::uint32_t bytes = value.numbers & (piece_numbers::end_flag - 1);
    std::uint32_t rest = lanes_.lanes_with(own < last);
    while (rest != 0) {
      const std::uint32_t strings = lanes_.from(value.strings >> 16U, lowest_bit(rest));
      const bool is_equal = own < last && value.strings >> 16U == strings;
      const std::uint32_t equal = lanes_.lanes_with(is_equal);
      add({.strings = strings, .units = population(equal), .bytes = lanes_.sum(is_equal ? bytes : 0)});
      rest &= ~equal;
    }
  }

  GPUHIST_HOST_DEVICE void add(const unit_sum& more) {
    std::uint32_t lane = lanes_.lanes_with(own_.units > 0 && own_.strings == more.strings);
    if (lane == 0) lane = lanes_.lanes_with(own_.units == 0);
    if (lane == 0) {
      write_sums();
      lane = 1;
    }
    if (lanes_.rank() != lowest_bit(lane)) return;
    own_.strings = more.strings;
    own_.units += more.units;
    own_.bytes += more.bytes;
  }

  GPUHIST_HOST_DEVICE void write_sums() {
    const bool has_sum = own_.units > 0;
    const std::uint32_t with_sum = lanes_.lanes_with(has_sum);
    const std::uint32_t lower = (1U << lanes_.rank()) - 1;
    if (has_sum) {
      store(to_ + population(with_sum & lower), {own_.units << 16U, own_.bytes | own_.strings << 16U});
    }
    own_ = {};
    to_ += population(with_sum);
    lanes_.synchronize();
  }

  const Lanes& lanes_;
  const unit_launch& launch_;
  std::uint32_t to_;
  unit_sum own_{};
};

/// Step 1 of select_rows.hpp: writes what select_tile() writes.
template <class Lanes>
GPUHIST_HOST_DEVICE void join_tile(const Lanes& lanes, const unit_launch& launch, std::uint32_t tile) {
  const std::uint32_t begin = launch.tile_pieces[tile];
  row_joiner<Lanes> joiner(lanes, launch, begin);
  for_rows_in(
      launch, tile,
      [&](std::uint32_t index, bool begins, const tile_extent& within, std::uint32_t first, std::uint32_t after) {
        if (begins && lanes.rank() == 0) launch.selection.extent_rows[index] = joiner.end() - begin;
        if (after == first || after > launch.row_room) return;
        joiner.join(first, after, edges_in(launch, index, begins, within));
      });
  if (lanes.rank() == 0) launch.selection.tile_rows[tile] = joiner.end() - begin;
}

}  // namespace gpuhist::gpu::cuda::units
