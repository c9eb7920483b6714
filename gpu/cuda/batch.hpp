// Jobs that are copied to the device together. Small chunks are cheap for the host because they fit its caches, but the
// link needs large copies. So a lane takes as many waiting chunks as fit its buffers, and chunks that are adjacent in
// host memory are copied in one piece:
//
//     host     | chunk 7 | chunk 3 |   ...   | chunk 5 |        slots, filled in any order
//                    \_________/                 |
//     device   |     piece 0       | piece 1 |                  each piece begins at a multiple of 256 bytes
//
// Extents have the order of the pieces on the device, so one kernel counts all of them. Rows have the same order. If
// pairs are counted, their rows follow those of all bytes:
//
//     rows     | 256 counters for each extent | pair_columns counters for each extent |
#pragma once

#include "gpu/cuda/handles.hpp"
#include "gpu/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::gpu::cuda {

/// Owned by one lane, not thread-safe. Only the constructor allocates.
class batch {
 public:
  static constexpr std::size_t max_jobs = 1024;  ///< for which the constructor reserves memory

  /// A range of host memory that is copied at once, and its offset in device memory.
  struct piece {
    const std::byte* from = nullptr;
    std::uint32_t at = 0;
    std::uint32_t size = 0;
  };

  /// Allocates page-locked memory for the extents and the rows. `pair_columns`: row_layout::pair_columns(). Throws
  /// engine_error.
  batch(runtime& api, std::uint32_t max_bytes, std::uint32_t max_extents, std::size_t pair_columns);

  /// Device memory in bytes that a batch of `max_bytes` bytes of text needs at most.
  static std::uint32_t device_bytes(std::uint32_t max_bytes);

  /// Device memory in bytes for the rows of `extents` extents.
  static std::size_t row_bytes(std::uint32_t extents, std::size_t pair_columns);

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] bool has_room_for(const counting_job& job) const;

  /// Precondition: has_room_for(job).
  void add(counting_job& job) noexcept;

  /// Computes pieces and extents. Call it after the last add().
  void arrange() noexcept;

  [[nodiscard]] std::span<counting_job* const> jobs() const { return jobs_; }
  [[nodiscard]] std::span<const piece> pieces() const { return pieces_; }
  [[nodiscard]] std::span<const extent> extents() const { return {extents_.as<extent>(), extent_count_}; }
  [[nodiscard]] std::span<std::uint32_t> rows() const;  ///< extents().size() x (256 + pair_columns)
  [[nodiscard]] std::size_t pair_rows_at() const;       ///< in rows(), in counters

  /// Size of all pieces in device memory, alignment included.
  [[nodiscard]] std::uint32_t span_bytes() const;

  /// Size of the text of all jobs.
  [[nodiscard]] std::uint64_t text_bytes() const;

  /// Writes the rows of every job: the counts, folded from the 256 values that the device counts to the requested
  /// classes, and the pairs and edges if the layout has them.
  void write_rows(const row_layout& layout) const noexcept;

  void clear() noexcept;

 private:
  std::uint32_t max_bytes_;
  std::uint32_t max_extents_;
  std::size_t pair_columns_;
  pinned_memory extents_;
  pinned_memory rows_;
  std::vector<counting_job*> jobs_;  // after arrange() sorted by address
  std::vector<piece> pieces_;
  std::uint32_t room_taken_ = 0;
  std::uint32_t extent_count_ = 0;
};

}  // namespace gpuhist::gpu::cuda
