#include "gpu/cuda/kernel_tuning.hpp"

namespace gpuhist::gpu::cuda {
namespace {

constexpr std::size_t kib = 1024;

// Shared memory that CUDA reserves in each block (compute capability 8.0 and later).
constexpr std::size_t reserved_per_block = 1 * kib;

bool fits(const kernel_tuning& tuning, const kernel_device& device) {
  const unsigned blocks = tuning.blocks_per_multiprocessor;
  return static_cast<unsigned>(device.threads) >= tuning.threads * blocks &&
         device.shared_bytes_block >= tuning.shared_bytes() &&
         device.shared_bytes >= blocks * (tuning.shared_bytes() + reserved_per_block);
}

const char* walk_name(tile_walk walk) {
  switch (walk) {
    case tile_walk::interleaved:
      return "interleaved";
    case tile_walk::contiguous:
      return "contiguous";
    case tile_walk::ticket:
      return "drawn";
  }
  return "?";
}

std::string kibibytes(std::size_t bytes) { return std::to_string(bytes / kib) + " KiB"; }

}  // namespace

kernel_tuning tuning_for(const kernel_device& device) {
  for (const kernel_tuning& tuning : shipped_tunings) {
    if (fits(tuning, device)) return tuning;
  }
  return shipped_tunings.back();
}

std::string describe(const kernel_tuning& tuning) {
  return std::to_string(tuning.threads) + " threads a block, " + std::to_string(tuning.blocks_per_multiprocessor) +
         " a multiprocessor, " + std::to_string(tuning.copies) + " copies of the counters (" +
         kibibytes(tuning.shared_bytes()) + "), " + std::to_string(tuning.loads) + " loads of 16 bytes in flight, " +
         walk_name(tuning.walk) + " tiles of " + kibibytes(tuning.tile_bytes());
}

}  // namespace gpuhist::gpu::cuda
