// bit_sliced: counts the buckets of the letters with bit planes. A thread transposes 32 bytes to eight words, each with
// one bit of every byte (letter_planes.hpp). Boolean functions of these words give the bytes of each of the seven
// buckets; a population count counts them into seven registers. The number of other bytes is the size minus the
// letters.
//
// Performance considerations: the loop has no shared memory, no atomics and no branch on the data, so every data set
// costs the same. Device memory delivers about 17 bytes per clock to each multiprocessor of an H200, which executes 64
// integer operations per clock: 3.8 per byte, 120 for 32 bytes. The loop for 32 bytes (SASS of sm_90): 42 LOP3 and 12
// right shifts in the integer pipe, 12 left shifts and 7 additions in the other pipe, 7 POPC, 2 loads of 16 bytes, and
// about 12 instructions for the loop. Of these 95 instructions fewer than 60 are in the integer pipe, enough for 36
// bytes per clock. Seven population counts (16 per clock) use a quarter of their pipe, so carry-save adders before the
// population count would not help. 40 registers, no spills: six blocks of 256 threads per multiprocessor.
//
// Source: bit slicing is Biham, "A fast new DES implementation in software", 1997; the transposition is from Warren,
// "Hacker's Delight", 7-3; counting bytes by population counts of planes: Klarqvist, Mula, Lemire, "Efficient
// computation of positional population counts using SIMD instructions", 2019.
#include "bench/kernels/letter_planes.hpp"
#include "bench/kernels/strategies.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/span/span_reader.cuh"

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;
using gpu::cuda::kernel_tuning;

constexpr unsigned letter_buckets = 7;

// No copies: the counters are registers.
constexpr kernel_tuning tuning{.threads = 256, .copies = 0, .loads = 2, .blocks_per_multiprocessor = 6};

// The number of blocks per multiprocessor that fit without register spills; four on multiprocessors with fewer threads.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
constexpr unsigned min_blocks = tuning.blocks_per_multiprocessor;
#else
constexpr unsigned min_blocks = 4;
#endif

__device__ __forceinline__ void add(unsigned (&counts)[letter_buckets], const uint4 (&vectors)[tuning.loads]) {
  const uint4& a = vectors[0];
  const uint4& b = vectors[1];
  const letter_masks found = letters_of(transpose({a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}));
#pragma unroll
  for (unsigned k = 0; k < letter_buckets; ++k) counts[k] += static_cast<unsigned>(__popc(found.mask[k]));
}

// Counts the single bytes at both ends of the span, one per thread.
__device__ __forceinline__ void add_byte(unsigned (&counts)[letter_buckets], std::uint8_t byte) {
  const unsigned bucket = bucket_of<bins::letters>(byte);
#pragma unroll
  for (unsigned k = 0; k < letter_buckets; ++k) counts[k] += bucket == k ? 1U : 0U;
}

__device__ __forceinline__ unsigned warp_sum(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffU, value);
#else
  for (unsigned distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffU, value, distance);
  return value;
#endif
}

// Every block subtracts its letters from the last counter, to which the first block adds the size of the span.
__device__ __forceinline__ void commit(const unsigned (&counts)[letter_buckets], const span_task& task) {
  __shared__ unsigned block_counts[letter_buckets];
  if (threadIdx.x < letter_buckets) block_counts[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < letter_buckets; ++k) {
    const unsigned sum = warp_sum(counts[k]);
    if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(block_counts + k, sum);
  }
  __syncthreads();
  if (threadIdx.x < letter_buckets) {
    const unsigned long long sum = block_counts[threadIdx.x];
    atomicAdd(task.counters + threadIdx.x, sum);
    atomicAdd(task.counters + other_bucket, 0ULL - sum);  // modulo 2^64, as the total
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    atomicAdd(task.counters + other_bucket,
              static_cast<unsigned long long>(task.aligned.tail_begin() + task.aligned.tail));
  }
}

__global__ void __launch_bounds__(tuning.threads, min_blocks) bit_sliced(const span_task task) {
  const span_reader<tuning> reader(task);
  unsigned counts[letter_buckets] = {};
  uint4 current[tuning.loads] = {};
  if (task.rounds != 0) {
    reader.load(current, 0);
  } else {
    reader.load_rest(current);
  }
  if (blockIdx.x == 0) {
    if (threadIdx.x < task.aligned.head) add_byte(counts, task.bytes[threadIdx.x]);
    if (threadIdx.x < task.aligned.tail) add_byte(counts, task.bytes[task.aligned.tail_begin() + threadIdx.x]);
  }
#pragma unroll 2  // so that swapping the words of two steps needs no moves
  for (std::uint32_t round = 1; round <= task.rounds; ++round) {
    uint4 next[tuning.loads] = {};  // words past the end are zero, which is not a letter
    if (round != task.rounds) {
      reader.load(next, round);
    } else {
      reader.load_rest(next);
    }
    add(counts, current);
#pragma unroll
    for (unsigned k = 0; k < tuning.loads; ++k) current[k] = next[k];
  }
  add(counts, current);
  commit(counts, task);
}

}  // namespace

cudaError_t launch_bit_sliced(const span_launch& launch, cudaStream_t stream) {
  if (launch.counted != bins::letters) return cudaErrorInvalidValue;
  if (launch.size == 0) return cudaSuccess;
  int resident = 0;
  const cudaError_t code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, bit_sliced, tuning.threads, 0);
  if (code != cudaSuccess) return code;
  const span_launch_plan plan = plan_span<tuning>(launch, static_cast<unsigned>(resident));
  return queue(bit_sliced, {.blocks = plan.blocks, .threads = tuning.threads}, stream, plan.task);
}

}  // namespace gpuhist::bench::kernels
