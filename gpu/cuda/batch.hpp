// Jobs that cross to the device together. Small chunks are cheap for the host, whose caches they fit; the link wants
// large copies. So a lane takes as many waiting chunks at once as fit its buffers, and chunks that lie side by side in
// host memory cross in one copy:
//
//     host     | chunk 7 | chunk 3 |   ...   | chunk 5 |        slots, in whatever order they were filled
//                    \_________/                 |
//     device   |     piece 0       | piece 1 |                  each piece begins at a multiple of 256 bytes
//
// Extents are laid out in the device's order, so one kernel counts all of them; rows come back in the same order.
#pragma once

#include "gpu/cuda/handles.hpp"
#include "gpu/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::gpu::cuda {

/// Not thread-safe: it is its lane's. Nothing allocates but the constructor.
class batch {
 public:
  /// A stretch of host memory that crosses in one copy, and where it goes.
  struct piece {
    const std::byte* from = nullptr;
    std::uint32_t at = 0;
    std::uint32_t size = 0;
  };

  /// Takes page-locked memory for the extents and the rows. Throws engine_error.
  batch(runtime& api, std::uint32_t max_bytes, std::uint32_t max_extents);

  /// Bytes of device memory that a batch of so many bytes of text may need.
  static std::uint32_t device_bytes(std::uint32_t max_bytes);

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] bool has_room_for(const counting_job& job) const;

  /// Precondition: has_room_for(job).
  void add(counting_job& job) noexcept;

  /// Decides what goes where; after the last add().
  void arrange() noexcept;

  [[nodiscard]] std::span<counting_job* const> jobs() const { return jobs_; }
  [[nodiscard]] std::span<const piece> pieces() const { return pieces_; }
  [[nodiscard]] std::span<const extent> extents() const { return {extents_.as<extent>(), extent_count_}; }
  [[nodiscard]] std::span<std::uint32_t> rows() const;  ///< extents().size() x 256

  /// From the first byte of the first piece to the last of the last, on the device.
  [[nodiscard]] std::uint32_t span_bytes() const;

  /// Text of all jobs.
  [[nodiscard]] std::uint64_t text_bytes() const;

  /// Gives every job its rows, folded from the 256 values that the device counts to the classes asked for.
  void hand_out_rows(const partition& counted) const noexcept;

  void clear() noexcept;

 private:
  std::uint32_t max_bytes_;
  std::uint32_t max_extents_;
  pinned_memory extents_;
  pinned_memory rows_;
  std::vector<counting_job*> jobs_;  // after arrange() by their address
  std::vector<piece> pieces_;
  std::uint32_t room_taken_ = 0;
  std::uint32_t extent_count_ = 0;
};

}  // namespace gpuhist::gpu::cuda
