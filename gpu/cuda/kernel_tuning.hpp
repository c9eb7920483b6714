// Tuning of the counting kernel as data: which shape it has on which device, chosen by a pure function of what the
// device is. Why each value is what it is stands in docs/tuning.md, with what was measured.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace gpuhist::gpu::cuda {

/// What the choice depends on.
struct kernel_device {
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 1;
  std::size_t shared_bytes = 0;        ///< shared memory of a multiprocessor
  std::size_t shared_bytes_block = 0;  ///< of it, what one block may have when it asks
  int threads = 2048;                  ///< that are resident on a multiprocessor at most

  bool operator==(const kernel_device&) const = default;
};

/// In what order blocks take the tiles of a span.
enum class tile_walk {
  interleaved,  ///< block b takes tiles b, b + grid, ...: all read one neighbourhood at a time
  contiguous,   ///< each block takes a stretch of its own
  ticket,       ///< whoever is free takes the next one, by an atomic counter
};

/// The shape of lane_private. A tile is what a block reads in one step: threads x loads x 16 bytes.
struct kernel_tuning {
  unsigned threads = 1024;                 ///< a block
  unsigned copies = 32;                    ///< of the 256 counters, a block: 32 or 64
  unsigned loads = 2;                      ///< of 16 bytes, in flight a thread while the ones before are counted
  unsigned blocks_per_multiprocessor = 2;  ///< resident
  tile_walk walk = tile_walk::interleaved;

  [[nodiscard]] constexpr std::size_t tile_bytes() const { return std::size_t{16} * threads * loads; }
  [[nodiscard]] constexpr std::size_t shared_bytes() const { return std::size_t{copies} * 256 * 4; }

  bool operator==(const kernel_tuning&) const = default;
};

/// The tunings that are compiled in, best first. The last one fits every device of compute capability 7.5 or more.
inline constexpr std::array<kernel_tuning, 2> shipped_tunings{{
    {.threads = 1024, .copies = 64, .loads = 4, .blocks_per_multiprocessor = 1},  // 8.0 and later
    {.threads = 1024, .copies = 32, .loads = 2, .blocks_per_multiprocessor = 1},  // 7.5
}};

/// The first of shipped_tunings whose blocks are resident together on a multiprocessor of the device.
kernel_tuning tuning_for(const kernel_device& device);

/// For people: "1024 threads a block, 2 blocks a multiprocessor, 32 copies of the counters (32 KiB), ...".
std::string describe(const kernel_tuning& tuning);

}  // namespace gpuhist::gpu::cuda
