#include "gpu/cuda/zstd/frame_kernels.hpp"

#include "gpu/cuda/kernels/lane_private.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/units/unit_kernels.hpp"
#include "gpu/cuda/zstd/decode.hpp"

#include <cuda_runtime.h>

namespace gpuhist::gpu::cuda::zstd {
namespace {

constexpr unsigned values = 256;
constexpr unsigned extent_threads = 128;

// A frame that was rejected has no text.
__global__ void __launch_bounds__(extent_threads) write_extents(const frame_launch launch) {
  const unsigned index = blockIdx.x * extent_threads + threadIdx.x;
  if (index >= launch.batch.frame_count) return;
  const decoded_frame& frame = launch.batch.results[index];
  const auto begin = static_cast<std::uint32_t>(launch.batch.frames[index].text_at);
  const auto bytes = frame.is == verdict::decoded ? static_cast<std::uint32_t>(frame.text_bytes) : 0U;
  launch.extents[index] = {begin, begin + bytes};
}

// A block of threads for each group, a thread for each value.
__global__ void __launch_bounds__(values) sum_groups(const frame_launch launch) {
  const unsigned group = blockIdx.x;
  std::uint32_t sum = 0;
  for (std::uint32_t i = group == 0 ? 0 : launch.group_ends[group - 1]; i < launch.group_ends[group]; ++i) {
    sum += launch.rows[std::size_t{i} * values + threadIdx.x];
  }
  launch.totals[std::size_t{group} * values + threadIdx.x] = sum;
}

}  // namespace

cudaError_t launch_frames(const frame_launch& launch, cudaStream_t stream) {
  const std::uint32_t frames = launch.batch.frame_count;
  if (frames == 0) return cudaSuccess;
  cudaError_t code = launch_decode(launch.batch, stream);
  if (code != cudaSuccess) return code;
  code = kernels::queue(write_extents,
                        {.blocks = (frames + extent_threads - 1) / extent_threads, .threads = extent_threads}, stream,
                        launch);
  if (code != cudaSuccess) return code;
  code = kernels::launch_lane_private({.bytes = reinterpret_cast<const std::byte*>(launch.batch.text),
                                       .extents = launch.extents,
                                       .extent_count = frames,
                                       .rows = launch.rows,
                                       .chunk_bytes = launch.text_room,
                                       .multiprocessors = launch.multiprocessors},
                                      stream);
  if (code != cudaSuccess) return code;
  code = kernels::queue(sum_groups, {.blocks = launch.group_count, .threads = values}, stream, launch);
  if (code != cudaSuccess || launch.units.text == nullptr) return code;
  return units::launch_units(launch.units, stream);
}

}  // namespace gpuhist::gpu::cuda::zstd
