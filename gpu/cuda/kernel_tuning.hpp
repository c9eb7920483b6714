// The tuning of the kernel for one span of device memory (gpu/cuda/span), as data. A pure function of the properties of
// the device chooses it. docs/tuning.md gives the reason for each value and the measurements. The kernel of the CUDA
// engine (gpu/cuda/kernels/lane_private.cu) has one fixed shape and does not use this.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace gpuhist::gpu::cuda {

/// The properties of a device that determine the tuning.
struct kernel_device {
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 1;
  std::size_t shared_bytes = 0;        ///< shared memory of a multiprocessor
  std::size_t shared_bytes_block = 0;  ///< part of it that one block may use at most (opt-in)
  int threads = 2048;                  ///< maximum resident on a multiprocessor

  bool operator==(const kernel_device&) const = default;
};

/// The order in which blocks read the tiles of a span.
enum class tile_walk {
  interleaved,  ///< block b reads tiles b, b + grid, ...: all blocks read neighbouring tiles at any time
  contiguous,   ///< each block reads one contiguous part
  ticket,       ///< each block draws the number of its next tile from an atomic counter
};

/// The shape of lane_private_span. A tile is the part that a block reads in one step: threads x loads x 16 bytes.
struct kernel_tuning {
  unsigned threads = 1024;                 ///< per block
  unsigned copies = 32;                    ///< copies of the 256 counters per block: 32 or 64
  unsigned loads = 2;                      ///< 16-byte loads in flight per thread while the previous ones are counted
  unsigned blocks_per_multiprocessor = 2;  ///< resident blocks
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

/// In words: "1024 threads a block, 1 a multiprocessor, 64 copies of the counters (64 KiB), ...".
std::string describe(const kernel_tuning& tuning);

}  // namespace gpuhist::gpu::cuda
