// The kernel that counts pairs of classes: for each extent, how often a byte of class a is followed by a byte of class
// b, both in the extent. pair_counters.hpp has the layout of its shared memory.
//
//     global   | ... e r r o r ... |      one load of 16 bytes for each thread, and the byte before it from the lane
//     before
//                 \ /
//     table    entry(e), entry(r)         one load for each byte; the copies of the table are lane-private, too
//     counters offset(entry(e), entry(r)) one multiplication and addition, and one addition in shared memory
//
// chunk_shares.hpp has the division of the extents among blocks. A byte that another block or thread counts is read
// again as the first byte of a pair, so that each pair is counted by the one that counts its second byte.
#include "gpu/cuda/kernels/counting_kernels.hpp"

#include "gpu/cuda/kernels/chunk_shares.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/kernels/pair_counters.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {
namespace {

constexpr unsigned threads = 1024;
constexpr unsigned warp = 32;
constexpr unsigned min_bytes_per_block = 65536;  // for less, clearing and folding cost more than the counting

struct pair_task {
  divided_chunk chunk;
  std::uint32_t classes = 0;
  std::uint8_t class_of[256] = {};
};

// The table and the counters of a block, as one of its threads uses them.
template <unsigned Copies>
class pair_counters {
 public:
  using layout = pair_layout<Copies>;

  __device__ __forceinline__ pair_counters(char* shared, std::uint32_t classes)
      : table_(shared + layout::entry_offset(0, layout::copy(threadIdx.x))),
        counters_(shared + layout::table_bytes),
        layout_(classes) {}

  __device__ void prepare(const std::uint8_t* class_of) {
    for (unsigned value = threadIdx.x / Copies; value < 256; value += threads / Copies) {
      constexpr std::uint32_t own = 0;  // table_ already has the offset of the copy
      *reinterpret_cast<std::uint32_t*>(table_ + layout::entry_offset(value, own)) =
          layout::entry(class_of[value], layout::copy(threadIdx.x));
    }
    auto* const words = reinterpret_cast<std::uint32_t*>(counters_);
    for (unsigned i = threadIdx.x; i < layout_.counter_bytes() / sizeof(std::uint32_t); i += threads) words[i] = 0;
    __syncthreads();
  }

  __device__ __forceinline__ std::uint32_t entry(std::uint32_t value) const {
    return *reinterpret_cast<const std::uint32_t*>(table_ + layout::entry_offset(value, 0));
  }

  // Byte `Byte` of a word.
  template <unsigned Byte>
  __device__ __forceinline__ std::uint32_t entry_of(std::uint32_t word) const {
    constexpr int shift = 8 * static_cast<int>(Byte) - (Copies == 32 ? 7 : 5);
    const std::uint32_t moved = shift < 0 ? word << (shift < 0 ? -shift : 0) : word >> (shift < 0 ? 0 : shift);
    return *reinterpret_cast<const std::uint32_t*>(table_ + (moved & layout::entry_offset(255, 0)));
  }

  // The addition returns nothing, so no thread waits for it.
  __device__ __forceinline__ void add(std::uint32_t first, std::uint32_t second) {
    atomicAdd(reinterpret_cast<std::uint32_t*>(counters_ + layout_.offset(first, second)), 1U);
  }

  // Adds the pairs whose second byte is in the word. Returns the entry of its last byte.
  __device__ __forceinline__ std::uint32_t add_word(std::uint32_t before, std::uint32_t word) {
    const std::uint32_t a = entry_of<0>(word);
    const std::uint32_t b = entry_of<1>(word);
    const std::uint32_t c = entry_of<2>(word);
    const std::uint32_t d = entry_of<3>(word);
    add(before, a);
    add(a, b);
    add(b, c);
    add(c, d);
    return d;
  }

  // `first`: there is no byte before the vector.
  __device__ __forceinline__ void add_vector(std::uint32_t before, bool first, uint4 words) {
    const std::uint32_t a = entry_of<0>(words.x);
    const std::uint32_t b = entry_of<1>(words.x);
    const std::uint32_t c = entry_of<2>(words.x);
    const std::uint32_t d = entry_of<3>(words.x);
    if (!first) add(entry(before), a);
    add(a, b);
    add(b, c);
    add(c, d);
    std::uint32_t last = add_word(d, words.y);
    last = add_word(last, words.z);
    add_word(last, words.w);
  }

  // Adds the counters to a row and clears them. `Copies` neighbouring threads sum the copies of one cell; all lanes of
  // a warp take part in each step.
  __device__ void flush(std::uint32_t* row) {
    __syncthreads();
    auto* const words = reinterpret_cast<std::uint32_t*>(counters_);
    const unsigned lane = threadIdx.x % warp;
    const std::uint32_t cells = layout_.cells();
    const std::uint32_t of_lane = lane / Copies;
    for (std::uint32_t first = threadIdx.x / Copies - of_lane; first < cells; first += threads / Copies) {
      const std::uint32_t cell = first + of_lane;
      std::uint32_t sum = 0;
      if (cell < cells) {
        std::uint32_t& counter = words[layout_.counter_word(cell, layout::copy(lane))];
        sum = counter;
        counter = 0;
      }
#pragma unroll
      for (unsigned distance = Copies / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffU, sum, distance, Copies);
      }
      if (layout::copy(lane) == 0 && sum != 0) {
        atomicAdd(row + cell / layout_.stride * layout_.classes + cell % layout_.stride, sum);
      }
    }
    __syncthreads();
  }

 private:
  char* table_;
  char* counters_;
  layout layout_;
};

__device__ __forceinline__ uint4 load_vector(const block_share& share, std::uint32_t at) {
  return at < share.vector_count() ? __ldcs(reinterpret_cast<const uint4*>(share.vectors()) + at) : uint4{0, 0, 0, 0};
}

__device__ __forceinline__ bool has_byte_before(const block_share& share, std::uint32_t vector) {
  return vector > 0 || share.aligned.head > 0 || share.has_before;
}

// The byte before the vector of this thread: the last one of the lane before.
__device__ __forceinline__ std::uint32_t byte_before(const block_share& share, std::uint32_t at, uint4 words) {
  std::uint32_t before = __shfl_up_sync(0xffffffffU, words.w, 1) >> 24U;
  if (threadIdx.x % warp == 0 && at < share.vector_count() && has_byte_before(share, at)) {
    before = share.vectors()[static_cast<std::int64_t>(at) * vector_bytes - 1];
  }
  return before;
}

// All lanes of a warp take part in each step, because each passes its last byte to the next lane.
template <class Counters>
__device__ __forceinline__ void count_vectors(Counters& counters, const block_share& share) {
  const unsigned lane = threadIdx.x % warp;
  const std::uint32_t count = share.vector_count();
  for (std::uint32_t warp_at = share.first_vector + threadIdx.x - lane; warp_at < count; warp_at += 2 * share.step) {
    const std::uint32_t at = warp_at + lane;
    const std::uint32_t next = at + share.step;
    const uint4 first = load_vector(share, at);
    const uint4 second = load_vector(share, next);
    const std::uint32_t before_first = byte_before(share, at, first);
    const std::uint32_t before_second = byte_before(share, next, second);
    if (at < count) counters.add_vector(before_first, !has_byte_before(share, at), first);
    if (next < count) counters.add_vector(before_second, false, second);
  }
}

// The pairs whose second byte is one of the single bytes at both ends of a part.
template <class Counters>
__device__ __forceinline__ void count_ends(Counters& counters, const block_share& share) {
  const auto add = [&](std::uint64_t at) {
    if (at > 0 || share.has_before) {
      const std::uint32_t before = share.bytes[static_cast<std::int64_t>(at) - 1];
      counters.add(counters.entry(before), counters.entry(share.bytes[at]));
    }
  };
  if (threadIdx.x < share.aligned.head) add(threadIdx.x);
  if (threadIdx.x < share.aligned.tail) add(share.aligned.tail_begin() + threadIdx.x);
}

template <unsigned Copies, class Shares>
__device__ __forceinline__ void count_shares(const pair_task& task, Shares shares) {
  extern __shared__ uint4 memory[];
  pair_counters<Copies> counters(reinterpret_cast<char*>(memory), task.classes);
  counters.prepare(task.class_of);
  for (block_share share; shares.next(share);) {
    count_vectors(counters, share);
    if (share.ends) count_ends(counters, share);
    counters.flush(task.chunk.rows + std::size_t{share.extent} * task.classes * task.classes);
  }
}

template <unsigned Copies, unsigned Blocks>
__global__ void __launch_bounds__(threads, min_resident(threads, Blocks))
    pair_private_contiguous(const pair_task task) {
  count_shares<Copies>(task, contiguous_shares(task.chunk, blockIdx.x, threads));
}

template <unsigned Copies, unsigned Blocks>
__global__ void __launch_bounds__(threads, min_resident(threads, Blocks)) pair_private_tiles(const pair_task task) {
  count_shares<Copies>(task, tile_shares(task.chunk, blockIdx.x, gridDim.x, threads));
}

constexpr std::size_t block_reserve = 1024;  // shared memory that CUDA uses for each block

// Shared memory of the current device.
struct shared_memory {
  int of_multiprocessor = 0;
  int of_block = 0;  // the most that a block may ask for

  cudaError_t read() {
    int device = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code != cudaSuccess) return code;
    code = cudaDeviceGetAttribute(&of_multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    return code != cudaSuccess ? code
                               : cudaDeviceGetAttribute(&of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
};

template <unsigned Copies, unsigned Blocks>
cudaError_t launch_with(const pair_launch& launch, cudaStream_t stream) {
  pair_task task{.chunk = divide_chunk(launch.chunk, Blocks, min_bytes_per_block), .classes = launch.classes->classes};
  std::copy(launch.classes->class_of.begin(), launch.classes->class_of.end(), task.class_of);
  const launch_shape shape{.blocks = task.chunk.blocks(),
                           .threads = threads,
                           .shared_bytes = pair_layout<Copies>(task.classes).shared_bytes()};
  const auto kernel =
      task.chunk.in_tiles() ? pair_private_tiles<Copies, Blocks> : pair_private_contiguous<Copies, Blocks>;
  // needed once for each device; repeated because it costs less than to remember it
  const cudaError_t code =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  return code == cudaSuccess ? queue(kernel, shape, stream, task) : code;
}

}  // namespace

cudaError_t launch_pair_private(const pair_launch& launch, cudaStream_t stream) {
  if (launch.chunk.chunk_bytes == 0 || launch.chunk.extent_count == 0) return cudaSuccess;
  shared_memory available;
  if (const cudaError_t code = available.read(); code != cudaSuccess) return code;
  const std::size_t needed = pair_layout<32>(launch.classes->classes).shared_bytes();
  if (needed > static_cast<std::size_t>(available.of_block)) return launch_with<8, 1>(launch, stream);
  if (2 * (needed + block_reserve) <= static_cast<std::size_t>(available.of_multiprocessor)) {
    return launch_with<32, 2>(launch, stream);
  }
  return launch_with<32, 1>(launch, stream);
}

}  // namespace gpuhist::gpu::cuda::kernels
