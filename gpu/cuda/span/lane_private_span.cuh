// lane_private over one span of device memory, for any tuning: the kernel of lane_private_span.cu and of the variants
// in bench/kernels.
//
// The steps of a block: its first loads are in flight while it clears its counters. Each thread has its next loads in
// flight while it counts the previous ones. The rest of the span, less than one round of all blocks, is spread over all
// blocks again. The copies are folded once at the end.
#pragma once

#include "gpu/cuda/kernel_tuning.hpp"
#include "gpu/cuda/kernels/aligned_span.hpp"
#include "gpu/cuda/kernels/lane_counters.cuh"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/span/bins.hpp"
#include "gpu/cuda/span/lane_private_span.hpp"
#include "gpu/cuda/span/span_reader.cuh"

#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {

template <kernel_tuning Tuning>
__device__ __forceinline__ void add_all(lane_counters<Tuning.copies>& shared_counters,
                                        const uint4 (&words)[Tuning.loads]) {
#pragma unroll
  for (unsigned k = 0; k < Tuning.loads; ++k) shared_counters.add(words[k]);
}

/// Clears the block's counters and adds the single bytes at both ends of the span. Ends with a barrier.
template <kernel_tuning Tuning>
__device__ __forceinline__ void begin_counting(lane_counters<Tuning.copies>& shared_counters, const span_task& task) {
  shared_counters.template clear<Tuning.threads>();
  __syncthreads();
  if (blockIdx.x != 0) return;
  if (threadIdx.x < task.aligned.head) shared_counters.template add_byte<0>(task.bytes[threadIdx.x]);
  if (threadIdx.x < task.aligned.tail)
    shared_counters.template add_byte<0>(task.bytes[task.aligned.tail_begin() + threadIdx.x]);
}

/// Counts whole rounds and the rest. The loads of each thread are one step ahead of its additions.
template <kernel_tuning Tuning>
__device__ __forceinline__ void count_rounds(lane_counters<Tuning.copies>& shared_counters, const span_task& task) {
  const span_reader<Tuning> reader(task);
  uint4 current[Tuning.loads];
  if (task.rounds != 0) {
    reader.load(current, 0);
  } else {
    reader.load_rest(current);
  }
  begin_counting<Tuning>(shared_counters, task);
  for (std::uint32_t round = 1; round <= task.rounds; ++round) {
    uint4 next[Tuning.loads];
    if (round != task.rounds) {
      reader.load(next, round);
    } else {
      reader.load_rest(next);
    }
    add_all<Tuning>(shared_counters, current);
#pragma unroll
    for (unsigned k = 0; k < Tuning.loads; ++k) current[k] = next[k];
  }
#pragma unroll
  for (unsigned k = 0; k < Tuning.loads; ++k) {
    if (reader.has_rest(k)) shared_counters.add(current[k]);
  }
}

/// Counts tiles whose numbers the blocks draw from a counter (tile_walk::ticket). The first tile of a block is the
/// number of the block. The number of the next tile is requested while the current tile is counted, and shared with the
/// threads of the block at the barrier.
template <kernel_tuning Tuning>
__device__ __forceinline__ void count_drawn(lane_counters<Tuning.copies>& shared_counters, const span_task& task) {
  __shared__ std::uint32_t drawn[2];
  const span_reader<Tuning> reader(task);
  uint4 current[Tuning.loads];
  std::uint32_t tile = blockIdx.x;
  if (tile < task.rounds) reader.load(current, tile);
  if (threadIdx.x == 0) drawn[0] = gridDim.x + atomicAdd(task.ticket, 1U);
  begin_counting<Tuning>(shared_counters, task);
  for (unsigned side = 0; tile < task.rounds; side ^= 1U) {
    tile = drawn[side];
    uint4 next[Tuning.loads];
    if (tile < task.rounds) reader.load(next, tile);
    std::uint32_t asked = 0;
    if (threadIdx.x == 0) asked = gridDim.x + atomicAdd(task.ticket, 1U);
    add_all<Tuning>(shared_counters, current);
    if (threadIdx.x == 0) drawn[side ^ 1U] = asked;
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < Tuning.loads; ++k) current[k] = next[k];
  }
  reader.load_rest(current);
#pragma unroll
  for (unsigned k = 0; k < Tuning.loads; ++k) {
    if (reader.has_rest(k)) shared_counters.add(current[k]);
  }
}

/// Adds the sums of the 256 values to the counters of the letters: one warp, from sums in shared memory.
__device__ __forceinline__ void commit_letters(const unsigned long long* sums, unsigned long long* counters) {
  if (threadIdx.x >= 32) return;
  unsigned long long other = 0;
  for (unsigned value = threadIdx.x; value < byte_values; value += 32) {
    if (bucket_of<bins::letters>(static_cast<std::uint8_t>(value)) == other_bucket) other += sums[value];
  }
  for (unsigned distance = 16; distance > 0; distance /= 2) other += __shfl_xor_sync(0xffffffffU, other, distance);
  if (threadIdx.x == other_bucket) atomicAdd(counters + other_bucket, other);
  if (threadIdx.x >= other_bucket) return;
  unsigned long long letters = 0;
  for (unsigned value = 'a' + 4 * threadIdx.x; value < 'a' + 4 * threadIdx.x + 4 && value <= 'z'; ++value) {
    letters += sums[value];
  }
  atomicAdd(counters + threadIdx.x, letters);
}

/// Folds the block's copies and adds them to the counters. Sums have 64 bits.
template <bins Counted, kernel_tuning Tuning>
__device__ __forceinline__ void commit(lane_counters<Tuning.copies>& shared_counters, void* shared,
                                       unsigned long long* counters) {
  using order = fold_layout<Tuning.copies, Tuning.threads>;
  __syncthreads();
  const auto sum = shared_counters.template fold<Tuning.threads, unsigned long long, false>();
  const unsigned value = order::value(threadIdx.x);
  const bool first_of_value = threadIdx.x % order::threads_per_value == 0;
  if constexpr (Counted == bins::bytes) {
    if (first_of_value && sum != 0) atomicAdd(counters + value, sum);
  } else {
    auto* const sums =
        static_cast<unsigned long long*>(shared);  // overwrites the copies, which are not needed any more
    __syncthreads();
    if (first_of_value) sums[value] = sum;
    __syncthreads();
    commit_letters(sums, counters);
  }
}

// The tuning as separate arguments: nvcc on the host cannot name a kernel with a template argument of class type.
template <bins Counted, unsigned Threads, unsigned Copies, unsigned Loads, unsigned Blocks, tile_walk Walk>
__global__ void __launch_bounds__(Threads, min_resident(Threads, Blocks)) lane_private_span(const span_task task) {
  constexpr kernel_tuning tuning{
      .threads = Threads, .copies = Copies, .loads = Loads, .blocks_per_multiprocessor = Blocks, .walk = Walk};
  extern __shared__ uint4 lane_private_counters[];
  lane_counters<Copies> shared_counters(reinterpret_cast<std::uint32_t*>(lane_private_counters));
  if constexpr (Walk == tile_walk::ticket) {
    count_drawn<tuning>(shared_counters, task);
  } else {
    count_rounds<tuning>(shared_counters, task);
  }
  commit<Counted, tuning>(shared_counters, lane_private_counters, task.counters);
}

/// Queues the kernel. With tile_walk::ticket, launch.scratch holds the ticket.
template <bins Counted, kernel_tuning Tuning>
cudaError_t launch_span(const span_launch& launch, cudaStream_t stream) {
  if (launch.size == 0) return cudaSuccess;
  const span_launch_plan plan = plan_span<Tuning>(launch, Tuning.blocks_per_multiprocessor);
  const auto kernel = lane_private_span<Counted, Tuning.threads, Tuning.copies, Tuning.loads,
                                        Tuning.blocks_per_multiprocessor, Tuning.walk>;
  if constexpr (Tuning.shared_bytes() > 48 * 1024) {  // more must be requested on every device
    const cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  static_cast<int>(Tuning.shared_bytes()));
    if (code != cudaSuccess) return code;
  }
  const launch_shape shape{.blocks = plan.blocks, .threads = Tuning.threads, .shared_bytes = Tuning.shared_bytes()};
  return queue(kernel, shape, stream, plan.task);
}

/// Queues the kernel for launch.counted.
template <kernel_tuning Tuning>
cudaError_t launch_tuned(const span_launch& launch, cudaStream_t stream) {
  return launch.counted == bins::letters ? launch_span<bins::letters, Tuning>(launch, stream)
                                         : launch_span<bins::bytes, Tuning>(launch, stream);
}

}  // namespace gpuhist::gpu::cuda::kernels
