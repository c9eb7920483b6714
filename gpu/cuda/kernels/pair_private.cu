// The kernel that counts pairs of classes: for each extent, how often a byte of class a is followed by a byte of class
// b, both in the extent. pair_counters.hpp has the layout of its shared memory.
//
//     global   | ... e r r o r ... |      one load of 16 bytes for each thread, and the byte before it from the lane
//     before
//                 \ /
//     table    entry(e), entry(r)         one load for each byte; the copies of the table are lane-private, too
//     counters offset(entry(e), entry(r)) one multiplication and addition, and one addition in shared memory
//
// Blocks share the extents as in lane_private. A byte that another block or thread counts is read again as the first
// byte of a pair, so that each pair is counted by the one that counts its second byte.
#include "gpu/cuda/kernels/pair_private.hpp"

#include "gpu/cuda/kernels/extent_search.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/kernels/pair_counters.hpp"
#include "gpu/cuda/kernels/span_parts.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace gpuhist::gpu::cuda::kernels {
namespace {

constexpr unsigned threads = 1024;
constexpr unsigned warp = 32;
constexpr unsigned min_bytes_per_block = 65536;  // for less, clearing and folding cost more than the counting
constexpr std::uint32_t few_extents = 4;

struct pair_task {
  const std::uint8_t* bytes = nullptr;  // aligned to 256
  const extent* extents = nullptr;
  std::uint32_t extent_count = 0;
  std::uint32_t* rows = nullptr;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t bytes_per_block = 0;  // of the part of a block: a multiple of 128
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

// The vectors that a block counts: from `begin` in steps of `step`, below `count`. `has_before`: a byte of the extent
// is before the first vector.
struct vector_walk {
  const std::uint8_t* bytes;  // of the first vector
  std::uint32_t begin;
  std::uint32_t step;
  std::uint32_t count;
  bool has_before;
};

__device__ __forceinline__ uint4 load_vector(const vector_walk& walk, std::uint32_t at) {
  return at < walk.count ? __ldcs(reinterpret_cast<const uint4*>(walk.bytes) + at) : uint4{0, 0, 0, 0};
}

// The byte before the vector of this thread: the last one of the lane before.
__device__ __forceinline__ std::uint32_t byte_before(const vector_walk& walk, std::uint32_t at, uint4 words) {
  std::uint32_t before = __shfl_up_sync(0xffffffffU, words.w, 1) >> 24U;
  if (threadIdx.x % warp == 0 && at < walk.count && (at > 0 || walk.has_before)) {
    before = walk.bytes[static_cast<std::int64_t>(at) * vector_bytes - 1];
  }
  return before;
}

// All lanes of a warp take part in each step, because each passes its last byte to the next lane.
template <class Counters>
__device__ __forceinline__ void count_vectors(Counters& counters, const vector_walk& walk) {
  const unsigned lane = threadIdx.x % warp;
  for (std::uint32_t warp_at = walk.begin + threadIdx.x - lane; warp_at < walk.count; warp_at += 2 * walk.step) {
    const std::uint32_t at = warp_at + lane;
    const std::uint32_t next = at + walk.step;
    const uint4 first = load_vector(walk, at);
    const uint4 second = load_vector(walk, next);
    const std::uint32_t before_first = byte_before(walk, at, first);
    const std::uint32_t before_second = byte_before(walk, next, second);
    if (at < walk.count) counters.add_vector(before_first, at == 0 && !walk.has_before, first);
    if (next < walk.count) counters.add_vector(before_second, false, second);
  }
}

// The pairs whose second byte is one of the single bytes at both ends of a part that begins at `bytes`.
template <class Counters>
__device__ __forceinline__ void count_ends(Counters& counters, const std::uint8_t* bytes, const span_parts& parts,
                                           bool has_before) {
  const auto add = [&](std::uint64_t at) {
    if (at > 0 || has_before) {
      counters.add(counters.entry(bytes[static_cast<std::int64_t>(at) - 1]), counters.entry(bytes[at]));
    }
  };
  if (threadIdx.x < parts.head) add(threadIdx.x);
  if (threadIdx.x < parts.tail) add(parts.tail_begin() + threadIdx.x);
}

template <unsigned Copies, unsigned Blocks>
__global__ void __launch_bounds__(threads, min_resident(threads, Blocks)) pair_private_parts(const pair_task task) {
  extern __shared__ uint4 memory[];
  pair_counters<Copies> counters(reinterpret_cast<char*>(memory), task.classes);
  counters.prepare(task.class_of);
  const std::uint32_t part_begin = blockIdx.x * task.bytes_per_block;
  const std::uint32_t part_end = part_begin + min(task.bytes_per_block, task.chunk_bytes - part_begin);
  for (std::uint32_t i = first_extent_after(task.extents, task.extent_count, part_begin); i < task.extent_count; ++i) {
    const std::uint32_t begin = max(task.extents[i].begin, part_begin);
    const std::uint32_t end = min(task.extents[i].end, part_end);
    if (begin >= part_end) break;
    if (begin >= end) continue;
    const bool has_before = begin > task.extents[i].begin;
    const span_parts parts = divide_span(begin, end - begin);
    count_vectors(counters, {.bytes = task.bytes + begin + parts.head,
                             .begin = 0,
                             .step = threads,
                             .count = static_cast<std::uint32_t>(parts.vectors),
                             .has_before = has_before || parts.head > 0});
    count_ends(counters, task.bytes + begin, parts, has_before);
    counters.flush(task.rows + std::size_t{i} * task.classes * task.classes);
  }
}

// As lane_private_tiles.
template <unsigned Copies, unsigned Blocks>
__global__ void __launch_bounds__(threads, min_resident(threads, Blocks)) pair_private_tiles(const pair_task task) {
  extern __shared__ uint4 memory[];
  pair_counters<Copies> counters(reinterpret_cast<char*>(memory), task.classes);
  counters.prepare(task.class_of);
  std::uint32_t first_tile = blockIdx.x;
  for (std::uint32_t i = 0; i < task.extent_count; ++i) {
    const extent part = task.extents[i];
    if (part.begin >= part.end) continue;
    const span_parts parts = divide_span(part.begin, part.end - part.begin);
    const auto vectors = static_cast<std::uint32_t>(parts.vectors);
    const std::uint32_t tiles = max(1U, static_cast<std::uint32_t>(divide_up(vectors, threads)));
    if (first_tile < tiles) {
      count_vectors(counters, {.bytes = task.bytes + part.begin + parts.head,
                               .begin = first_tile * threads,
                               .step = gridDim.x * threads,
                               .count = vectors,
                               .has_before = parts.head > 0});
      if (first_tile == 0) count_ends(counters, task.bytes + part.begin, parts, false);
      counters.flush(task.rows + std::size_t{i} * task.classes * task.classes);
    }
    first_tile = (first_tile + gridDim.x - tiles % gridDim.x) % gridDim.x;
  }
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
  const auto resident = static_cast<std::uint64_t>(launch.multiprocessors) * Blocks;
  const std::uint64_t wanted = std::min(resident, divide_up(launch.chunk_bytes, min_bytes_per_block));
  const std::uint64_t part_bytes = divide_up(divide_up(launch.chunk_bytes, wanted), line_bytes) * line_bytes;
  pair_task task{.bytes = reinterpret_cast<const std::uint8_t*>(launch.bytes),
                 .extents = launch.extents,
                 .extent_count = launch.extent_count,
                 .rows = launch.rows,
                 .chunk_bytes = launch.chunk_bytes,
                 .bytes_per_block = static_cast<std::uint32_t>(part_bytes),
                 .classes = launch.classes->classes};
  std::copy(launch.classes->class_of.begin(), launch.classes->class_of.end(), task.class_of);
  const launch_shape shape{.blocks = divide_up(launch.chunk_bytes, part_bytes),
                           .threads = threads,
                           .shared_bytes = pair_layout<Copies>(task.classes).shared_bytes()};
  const auto kernel =
      launch.extent_count <= few_extents ? pair_private_tiles<Copies, Blocks> : pair_private_parts<Copies, Blocks>;
  // needed once for each device; repeated because it costs less than to remember it
  const cudaError_t code =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  return code == cudaSuccess ? queue(kernel, shape, stream, task) : code;
}

}  // namespace

cudaError_t launch_pair_private(const pair_launch& launch, cudaStream_t stream) {
  if (launch.chunk_bytes == 0 || launch.extent_count == 0) return cudaSuccess;
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
