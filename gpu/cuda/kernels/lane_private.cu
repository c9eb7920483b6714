// The counting kernel. Each block keeps 32 copies of the 256 counters in shared memory, counter-major, and lane l of
// every warp adds to copy l:
//
//                  bank 0     bank 1     bank 2          bank 31
//     value 0x00   copy 0     copy 1     copy 2    ...   copy 31     128 bytes a value
//     value 0x01   copy 0     copy 1     copy 2    ...   copy 31
//        ...
//     value 0xff   copy 0     copy 1     copy 2    ...   copy 31     32 KiB in all
//                  lane 0     lane 1     lane 2          lane 31     of every warp
//
// Copy l of every counter lies in bank l, so the 32 lanes of a warp always add in 32 different banks, whatever their
// bytes are: text, noise and one repeated letter cost the same. The additions need no answer, so no lane waits for one.
// 1024 threads and 32 KiB a block, two blocks a multiprocessor; 16-byte streaming loads, two in flight a thread.
//
// Each block takes one contiguous stretch of the chunk and walks the extents that lie in it; the counters are folded
// and added to the extent's row only where an extent, or the block's stretch, ends.
#include "gpu/cuda/kernels/lane_private.hpp"

#include <algorithm>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {
namespace {

constexpr unsigned values = 256;
constexpr unsigned copies = 32;
constexpr unsigned block_threads = 1024;
constexpr unsigned blocks_per_multiprocessor = 2;

// Registers are limited so that both blocks fit, except where a multiprocessor has fewer than 2048 threads and holds
// one block anyway (7.5: 1024; 8.6, 8.9, 11.0 and 12.0: 1536).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 && __CUDA_ARCH__ / 100 != 10
constexpr unsigned least_resident_blocks = 1;
#else
constexpr unsigned least_resident_blocks = blocks_per_multiprocessor;
#endif

constexpr unsigned warps = block_threads / copies;
constexpr unsigned values_per_warp = values / warps;
constexpr unsigned least_bytes_per_block = 16384;  // one load a thread: less does not pay for the fold
constexpr unsigned every_lane = 0xffffffffU;

// Adds one to the counter of byte `Byte` of the word. `mine` is the lane's copy of counter 0; counters are 128 bytes
// apart, so the byte is moved to bits 7 to 14 and is the offset.
template <unsigned Byte>
__device__ __forceinline__ void add_byte(char* mine, std::uint32_t word) {
  constexpr int shift = 8 * static_cast<int>(Byte) - 7;
  const std::uint32_t offset = (shift < 0 ? word << 7U : word >> (shift < 0 ? 0 : shift)) & 0x7f80U;
  atomicAdd(reinterpret_cast<std::uint32_t*>(mine + offset), 1U);
}

__device__ __forceinline__ void add_word(char* mine, std::uint32_t word) {
  add_byte<0>(mine, word);
  add_byte<1>(mine, word);
  add_byte<2>(mine, word);
  add_byte<3>(mine, word);
}

__device__ __forceinline__ void add_vector(char* mine, uint4 words) {
  add_word(mine, words.x);
  add_word(mine, words.y);
  add_word(mine, words.z);
  add_word(mine, words.w);
}

// Counts bytes [begin, end) into the block's counters. `bytes` is aligned to 16; the ends need not be.
__device__ __forceinline__ void count(const std::uint8_t* bytes, std::uint32_t begin, std::uint32_t end, char* mine) {
  const std::uint32_t first = begin / 16U + (begin % 16U != 0U ? 1U : 0U);  // vectors [first, last) are whole
  const std::uint32_t last = end / 16U;
  const auto* vectors = reinterpret_cast<const uint4*>(bytes);

  std::uint32_t at = first + threadIdx.x;
  for (; at + block_threads < last; at += 2 * block_threads) {
    const uint4 one = __ldcs(vectors + at);
    const uint4 two = __ldcs(vectors + at + block_threads);
    add_vector(mine, one);
    add_vector(mine, two);
  }
  if (at < last) add_vector(mine, __ldcs(vectors + at));

  // the up to 15 bytes ahead of the vectors and after them; without a vector, all (up to 30) are "after"
  const bool any = first < last;
  const std::uint32_t head_end = any ? first * 16U : begin;
  const std::uint32_t tail_begin = any ? last * 16U : begin;
  if (threadIdx.x < head_end - begin) add_byte<0>(mine, bytes[begin + threadIdx.x]);
  if (threadIdx.x < end - tail_begin) add_byte<0>(mine, bytes[tail_begin + threadIdx.x]);
}

// Adds the block's counters to a row and clears them. Warp w folds values 8w to 8w+7: its lanes read one counter's 32
// copies, a row of the picture above, so again each in a bank of its own; lane k keeps the sum of the k-th value, and
// the row gets eight neighbouring sums in one instruction.
__device__ __forceinline__ void flush(std::uint32_t* counters, std::uint32_t* row) {
  const unsigned lane = threadIdx.x % copies;
  const unsigned first_value = threadIdx.x / copies * values_per_warp;
  std::uint32_t kept = 0;
  for (unsigned k = 0; k < values_per_warp; ++k) {
    std::uint32_t* copy = counters + (first_value + k) * copies + lane;
    std::uint32_t sum = *copy;
    *copy = 0;
    for (unsigned distance = copies / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(every_lane, sum, distance);
    if (lane == k) kept = sum;
  }
  if (kept != 0) atomicAdd(row + first_value + lane, kept);
}

// The first extent that ends after `at`; extents are sorted, so their ends are.
__device__ std::uint32_t first_extent_after(const extent* extents, std::uint32_t count, std::uint32_t at) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (extents[middle].end <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(block_threads, least_resident_blocks)
    lane_private(const std::uint8_t* bytes, const extent* extents, std::uint32_t extent_count, std::uint32_t* rows,
                 std::uint32_t chunk_bytes, std::uint32_t bytes_per_block) {
  __shared__ std::uint32_t counters[values * copies];
  for (unsigned i = threadIdx.x; i < values * copies; i += block_threads) counters[i] = 0;
  __syncthreads();

  const std::uint32_t stretch_begin = blockIdx.x * bytes_per_block;  // inside the chunk: see the launch
  const std::uint32_t stretch_end = stretch_begin + min(bytes_per_block, chunk_bytes - stretch_begin);
  char* const mine = reinterpret_cast<char*>(counters + threadIdx.x % copies);

  for (std::uint32_t i = first_extent_after(extents, extent_count, stretch_begin); i < extent_count; ++i) {
    const std::uint32_t begin = max(extents[i].begin, stretch_begin);
    const std::uint32_t end = min(extents[i].end, stretch_end);
    if (begin >= stretch_end) break;
    if (begin >= end) continue;
    count(bytes, begin, end, mine);
    __syncthreads();
    flush(counters, rows + std::size_t{i} * values);
    __syncthreads();
  }
}

constexpr std::uint64_t divide_up(std::uint64_t what, std::uint64_t by) { return (what + by - 1) / by; }

}  // namespace

cudaError_t launch_lane_private(const kernel_launch& what, cudaStream_t stream) {
  if (what.chunk_bytes == 0 || what.extent_count == 0) return cudaSuccess;
  const auto resident = static_cast<std::uint64_t>(what.multiprocessors) * blocks_per_multiprocessor;
  const std::uint64_t wanted = std::min(resident, divide_up(what.chunk_bytes, least_bytes_per_block));
  const std::uint64_t stretch = divide_up(divide_up(what.chunk_bytes, wanted), 16) * 16;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(static_cast<unsigned>(divide_up(what.chunk_bytes, stretch)));  // no block without bytes
  launch.blockDim = dim3(block_threads);
  launch.stream = stream;
  return cudaLaunchKernelEx(&launch, lane_private, reinterpret_cast<const std::uint8_t*>(what.bytes), what.extents,
                            what.extent_count, what.rows, what.chunk_bytes, static_cast<std::uint32_t>(stretch));
}

cudaError_t load_lane_private() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, lane_private);
}

}  // namespace gpuhist::gpu::cuda::kernels
