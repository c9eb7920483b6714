// Three kernels: the pieces of each tile are counted, the numbers of pieces before each tile are added up, and the rows
// are written. The text is read twice, which costs less than rows that are not in the order of the text. With a
// condition three more, for the steps of select_rows.hpp. With strings these, and one before them (string_search.hpp).
//
// The table of classes, and the filter of strings, are in shared memory, a copy for each lane of a warp, so that
// look-ups have no bank conflicts:
//
//     word of value v for lane l:  32 v + l
#include "gpu/cuda/units/unit_kernels.hpp"

#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/units/delimiter_search.hpp"
#include "gpu/cuda/units/join_rows.hpp"
#include "gpu/cuda/units/lanes.hpp"
#include "gpu/cuda/units/measure.hpp"
#include "gpu/cuda/units/select_rows.hpp"
#include "gpu/cuda/units/string_search.hpp"

#include <cuda_runtime.h>

#include <algorithm>

namespace gpuhist::gpu::cuda::units {
namespace {

constexpr unsigned warp_threads = warp_lanes::size;
constexpr unsigned count_threads = 256;
constexpr unsigned sum_threads = 1024;
constexpr unsigned sum_items = 4;       // of a thread, in a round
constexpr unsigned measure_blocks = 2;  // of a multiprocessor
constexpr unsigned byte_values = 256;

__global__ void __launch_bounds__(count_threads) count_tiles(const unit_launch launch) {
  const std::uint32_t tile = blockIdx.x * (count_threads / warp_threads) + threadIdx.x / warp_threads;
  if (tile < tiles_in(launch.text_room)) count_pieces(warp_lanes(), launch, tile);
}

__global__ void __launch_bounds__(count_threads) count_delimiters_of_tiles(const unit_launch launch) {
  const std::uint32_t tile = blockIdx.x * (count_threads / warp_threads) + threadIdx.x / warp_threads;
  if (tile < tiles_in(launch.text_room)) count_delimiters(warp_lanes(), launch, tile);
}

// One block: there are few tiles. Replaces the pieces of each tile by those before it.
__global__ void __launch_bounds__(sum_threads) sum_tiles(const unit_launch launch) {
  __shared__ std::uint32_t of_warps[sum_threads / warp_threads];
  const warp_lanes lanes;
  const unsigned warp = threadIdx.x / warp_threads;
  const std::uint32_t tiles = tiles_in(launch.text_room);
  std::uint32_t before_round = 0;
  for (std::uint32_t round = 0; round < tiles; round += sum_threads * sum_items) {
    const std::uint32_t first = round + threadIdx.x * sum_items;
    std::uint32_t pieces[sum_items];
    std::uint32_t own = 0;
#pragma unroll
    for (unsigned i = 0; i < sum_items; ++i) {
      pieces[i] = first + i < tiles ? launch.tile_pieces[first + i] : 0;
      own += pieces[i];
    }
    const std::uint32_t before_thread = lanes.sum_before(own);
    if (lanes.rank() == warp_threads - 1) of_warps[warp] = before_thread + own;
    __syncthreads();
    const std::uint32_t of_warp = of_warps[lanes.rank()];  // as many warps as lanes
    const std::uint32_t before_warps = lanes.sum_before(of_warp);
    std::uint32_t before = before_round + lanes.from(before_warps, warp) + before_thread;
#pragma unroll
    for (unsigned i = 0; i < sum_items; ++i) {
      if (first + i < tiles) launch.tile_pieces[first + i] = before;
      before += pieces[i];
    }
    before_round += lanes.sum(of_warp);
    __syncthreads();  // of_warps is written again
  }
  if (threadIdx.x != 0) return;
  launch.tile_pieces[tiles] = before_round;
  launch.extent_pieces[launch.extent_count] = before_round;
}

static_assert(sum_threads / warp_threads == warp_threads);

// The copy of a lane.
class shared_table {
 public:
  __device__ explicit shared_table(const std::uint32_t* words)
      : bytes_(reinterpret_cast<const std::uint8_t*>(words)),
        lane_(threadIdx.x % warp_threads * sizeof(std::uint32_t)) {}

  __device__ std::uint32_t operator()(std::uint32_t word, unsigned i) const {
    constexpr unsigned shift = 7;  // 32 words of 4 bytes for each value
    const std::uint32_t at = i == 0 ? word << shift : word >> (8 * i - shift);
    return *reinterpret_cast<const std::uint32_t*>(bytes_ + ((at & 0xffU << shift) | lane_));
  }

 private:
  const std::uint8_t* bytes_;
  std::uint32_t lane_;
};

// As many as have enough registers.
template <unsigned Counters>
constexpr unsigned measure_threads = Counters == 16 ? 320 : 448;

template <unsigned Counters>
__global__ void __launch_bounds__(measure_threads<Counters>, measure_blocks) measure_tiles(const unit_launch launch) {
  constexpr unsigned threads = measure_threads<Counters>;
  __shared__ std::uint32_t words[byte_values * warp_threads];
  for (unsigned i = threadIdx.x; i < byte_values * warp_threads; i += threads) {
    words[i] = launch.classes[i / warp_threads];
  }
  __syncthreads();
  const shared_table table(words);
  constexpr unsigned warps = threads / warp_threads;
  for (std::uint32_t tile = blockIdx.x * warps + threadIdx.x / warp_threads; tile < tiles_in(launch.text_room);
       tile += gridDim.x * warps) {
    measure_tile<Counters>(warp_lanes(), launch, table, tile);
  }
}

template <unsigned Counters>
cudaError_t launch_measure(const unit_launch& launch, cudaStream_t stream) {
  constexpr std::uint32_t warps = measure_threads<Counters> / warp_threads;
  const std::uint32_t wanted = (tiles_in(launch.text_room) + warps - 1) / warps;
  const std::uint32_t resident = static_cast<std::uint32_t>(launch.multiprocessors) * measure_blocks;
  return kernels::queue(measure_tiles<Counters>,
                        {.blocks = std::min(wanted, resident), .threads = measure_threads<Counters>}, stream, launch);
}

cudaError_t launch_measure(const unit_launch& launch, cudaStream_t stream) {
  switch (launch.counters) {
    case 4:
      return launch_measure<4>(launch, stream);
    case 8:
      return launch_measure<8>(launch, stream);
    default:
      return launch_measure<16>(launch, stream);
  }
}

constexpr unsigned search_threads = 512;
constexpr unsigned search_blocks = 2;  // of a multiprocessor

__global__ void __launch_bounds__(search_threads, search_blocks) search_tiles(const unit_launch launch) {
  __shared__ std::uint32_t words[byte_values * warp_threads];
  for (unsigned i = threadIdx.x; i < byte_values * warp_threads; i += search_threads) {
    words[i] = launch.strings->filter[i / warp_threads];
  }
  __syncthreads();
  const shared_table filter(words);
  constexpr unsigned warps = search_threads / warp_threads;
  for (std::uint32_t tile = blockIdx.x * warps + threadIdx.x / warp_threads; tile < tiles_in(launch.text_room);
       tile += gridDim.x * warps) {
    search_tile(warp_lanes(), launch, filter, tile);
  }
}

cudaError_t launch_search(const unit_launch& launch, cudaStream_t stream) {
  if (launch.strings == nullptr) return cudaSuccess;
  constexpr std::uint32_t warps = search_threads / warp_threads;
  const std::uint32_t wanted = (tiles_in(launch.text_room) + warps - 1) / warps;
  const std::uint32_t resident = static_cast<std::uint32_t>(launch.multiprocessors) * search_blocks;
  return kernels::queue(search_tiles, {.blocks = std::min(wanted, resident), .threads = search_threads}, stream,
                        launch);
}

__global__ void __launch_bounds__(count_threads) join_tiles(const unit_launch launch) {
  const std::uint32_t tile = blockIdx.x * (count_threads / warp_threads) + threadIdx.x / warp_threads;
  if (tile < tiles_in(launch.text_room)) join_tile(warp_lanes(), launch, tile);
}

template <unsigned Counters>
__global__ void __launch_bounds__(count_threads) select_tiles(const unit_launch launch) {
  const std::uint32_t tile = blockIdx.x * (count_threads / warp_threads) + threadIdx.x / warp_threads;
  if (tile < tiles_in(launch.text_room)) select_tile<Counters>(warp_lanes(), launch, tile);
}

__global__ void __launch_bounds__(count_threads) move_tiles(const unit_launch launch) {
  const std::uint32_t tile = blockIdx.x * (count_threads / warp_threads) + threadIdx.x / warp_threads;
  if (tile < tiles_in(launch.text_room)) move_tile(warp_lanes(), launch, tile);
}

using tile_kernel = void (*)(unit_launch);

// A warp for each tile.
cudaError_t queue_tiles(tile_kernel kernel, const unit_launch& launch, cudaStream_t stream) {
  constexpr std::uint32_t warps = count_threads / warp_threads;
  const std::uint32_t blocks = (tiles_in(launch.text_room) + warps - 1) / warps;
  return kernels::queue(kernel, {.blocks = blocks, .threads = count_threads}, stream, launch);
}

cudaError_t queue_sums(const unit_launch& launch, cudaStream_t stream) {
  return kernels::queue(sum_tiles, {.blocks = 1, .threads = sum_threads}, stream, launch);
}

tile_kernel select_kernel(const unit_launch& launch) {
  if (launch.strings != nullptr) return join_tiles;
  switch (launch.counters) {
    case 4:
      return select_tiles<4>;
    case 8:
      return select_tiles<8>;
    default:
      return select_tiles<16>;
  }
}

cudaError_t launch_selection(const unit_launch& launch, cudaStream_t stream) {
  if (!launch.selects_rows()) return cudaSuccess;
  unit_launch rows = launch;
  rows.tile_pieces = launch.selection.tile_rows;
  rows.extent_pieces = launch.selection.extent_rows;
  cudaError_t code = queue_tiles(select_kernel(launch), launch, stream);
  if (code == cudaSuccess) code = queue_sums(rows, stream);
  return code == cudaSuccess ? queue_tiles(move_tiles, launch, stream) : code;
}

// What `count` counts in each tile, and then before each tile.
cudaError_t launch_counts(tile_kernel count, const unit_launch& launch, cudaStream_t stream) {
  const cudaError_t code = queue_tiles(count, launch, stream);
  return code == cudaSuccess ? queue_sums(launch, stream) : code;
}

}  // namespace

cudaError_t launch_units(const unit_launch& launch, cudaStream_t stream) {
  cudaError_t code = launch_counts(count_tiles, launch, stream);
  if (code == cudaSuccess) code = launch_measure(launch, stream);
  if (code == cudaSuccess) code = launch_search(launch, stream);
  return code == cudaSuccess ? launch_selection(launch, stream) : code;
}

cudaError_t launch_delimiter_counts(const unit_launch& launch, cudaStream_t stream) {
  return launch_counts(count_delimiters_of_tiles, launch, stream);
}

}  // namespace gpuhist::gpu::cuda::units
