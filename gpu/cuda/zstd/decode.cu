#include "gpu/cuda/zstd/decode.hpp"

#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/zstd/checksum.hpp"
#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/execute.hpp"
#include "gpu/cuda/zstd/frames.hpp"
#include "gpu/cuda/zstd/huffman.hpp"
#include "gpu/cuda/zstd/sequences.hpp"
#include "gpu/cuda/zstd/team.hpp"

#include <cuda_runtime.h>

namespace gpuhist::gpu::cuda::zstd {
namespace {

constexpr unsigned serial_threads = 64;  // of the phases with one thread for each block or frame
constexpr unsigned literal_warps = 4;    // blocks of one thread block, in the phase of literals
constexpr unsigned sequence_blocks = 8;  // of one warp; their memory is 22 KiB
constexpr unsigned checksum_threads = 128;

// Phase 6: threads for each frame. Many frames fill the device with small teams, which wait less for each other; few
// frames get large teams.
template <unsigned Threads>
using tile_memory = execute_memory<16 * Threads, Threads>;
constexpr unsigned small_team = 256;
constexpr unsigned large_team = 1024;
constexpr std::uint32_t few_frames = 384;

__constant__ const code_meanings all_meanings = code_meanings::make();

__device__ unsigned global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void __launch_bounds__(serial_threads) describe(const batch_buffers batch) {
  if (global_thread() < batch.block_count) describe_block(batch, global_thread());
}

__global__ void __launch_bounds__(serial_threads) resolve(const batch_buffers batch) {
  if (global_thread() < batch.frame_count) resolve_references(batch, global_thread());
}

__global__ void __launch_bounds__(literal_warps * 32) literals(const batch_buffers batch) {
  __shared__ huffman_table tables[literal_warps];
  const unsigned warp = threadIdx.x / 32;
  const unsigned index = blockIdx.x * literal_warps + warp;
  if (index < batch.block_count) decode_literals(warp_team{}, batch, index, tables[warp]);
}

__global__ void __launch_bounds__(32) sequences(const batch_buffers batch) {
  __shared__ code_meanings meanings;
  __shared__ sequence_memory memory[sequence_blocks];
  for (unsigned i = threadIdx.x; i < sizeof(meanings); i += 32) {
    reinterpret_cast<std::uint8_t*>(&meanings)[i] = reinterpret_cast<const std::uint8_t*>(&all_meanings)[i];
  }
  __syncwarp();
  const unsigned which = threadIdx.x / quad_decoder::threads;
  decode_sequences<window_bits>(quad_decoder{}, batch, blockIdx.x * sequence_blocks + which, meanings, memory[which]);
}

__global__ void __launch_bounds__(serial_threads) link(const batch_buffers batch) {
  if (global_thread() < batch.frame_count) link_frame(batch, global_thread());
}

template <unsigned Threads>
__global__ void __launch_bounds__(Threads) execute(const batch_buffers batch) {
  extern __shared__ uint4 memory[];
  const block_team<Threads> team;
  execute_frame(team, batch, blockIdx.x, *reinterpret_cast<tile_memory<Threads>*>(memory));
}

__global__ void __launch_bounds__(checksum_threads) checksum(const batch_buffers batch) {
  __shared__ std::uint64_t sums[checksum_threads];
  const unsigned index = global_thread() / xxh64::accumulators;
  const unsigned which = threadIdx.x % xxh64::accumulators;
  const bool checks = index < batch.frame_count && has_checksum(batch, index);
  if (checks) {
    sums[threadIdx.x] =
        xxh64::accumulate(batch.text + batch.frames[index].text_at, batch.results[index].text_bytes, which);
  }
  __syncwarp();
  if (!checks || which != 0) return;
  std::uint64_t own[xxh64::accumulators];
  for (unsigned i = 0; i < xxh64::accumulators; ++i) own[i] = sums[threadIdx.x + i];
  compare_checksum(batch, index, own);
}

std::uint64_t blocks_for(std::uint64_t items, unsigned in_one) { return (items + in_one - 1) / in_one; }

template <unsigned Threads>
cudaError_t launch_execute(const batch_buffers& batch, cudaStream_t stream) {
  constexpr std::size_t shared_bytes = sizeof(tile_memory<Threads>);
  const cudaError_t code = cudaFuncSetAttribute(execute<Threads>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                static_cast<int>(shared_bytes));
  if (code != cudaSuccess) return code;
  return kernels::queue(execute<Threads>,
                        {.blocks = batch.frame_count, .threads = Threads, .shared_bytes = shared_bytes}, stream, batch);
}

}  // namespace

cudaError_t launch_phase(phase which, const batch_buffers& batch, cudaStream_t stream) {
  if (batch.frame_count == 0 || batch.block_count == 0) return cudaSuccess;
  const auto queue = [&](auto kernel, std::uint64_t items, unsigned in_one, unsigned threads) {
    return kernels::queue(kernel, {.blocks = blocks_for(items, in_one), .threads = threads}, stream, batch);
  };
  switch (which) {
    case phase::describe:
      return queue(describe, batch.block_count, serial_threads, serial_threads);
    case phase::resolve:
      return queue(resolve, batch.frame_count, serial_threads, serial_threads);
    case phase::literals:
      return queue(literals, batch.block_count, literal_warps, literal_warps * 32);
    case phase::sequences:
      return queue(sequences, batch.block_count, sequence_blocks, 32);
    case phase::link:
      return queue(link, batch.frame_count, serial_threads, serial_threads);
    case phase::execute:
      return batch.frame_count <= few_frames ? launch_execute<large_team>(batch, stream)
                                             : launch_execute<small_team>(batch, stream);
    case phase::checksum:
      return queue(checksum, batch.frame_count, checksum_threads / xxh64::accumulators, checksum_threads);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_decode(const batch_buffers& batch, cudaStream_t stream) {
  for (unsigned i = 0; i < phase_count; ++i) {
    if (const cudaError_t code = launch_phase(static_cast<phase>(i), batch, stream); code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

}  // namespace gpuhist::gpu::cuda::zstd
