#include "gpu/cuda/frames/frame_kernels.hpp"

#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/frames/decode.hpp"
#include "gpu/cuda/kernels/counting_kernels.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/units/delimiter_search.hpp"
#include "gpu/cuda/units/lanes.hpp"
#include "gpu/cuda/units/unit_kernels.hpp"
#include "gpu/cuda/zstd/checksum.hpp"
#include "gpu/cuda/zstd/steps.hpp"
#include "gpu/cuda/zstd/team.hpp"

#include <cuda_runtime.h>

namespace gpuhist::gpu::cuda::frames {

using namespace zstd;  // its phases serve gzip, too

namespace {

constexpr unsigned values = 256;
constexpr unsigned extent_threads = 128;
constexpr unsigned search_threads = 128;
constexpr unsigned divide_threads = 32;  // there are few groups
constexpr unsigned product_threads = 256;
constexpr unsigned carry_threads = 256;
constexpr unsigned carry_blocks_of_threads = 256;

__global__ void __launch_bounds__(extent_threads) write_extents(const frame_launch launch) {
  const unsigned index = blockIdx.x * extent_threads + threadIdx.x;
  if (index >= launch.batch.frame_count) return;
  launch.extents[index] = extent_of(launch.batch.frames[index], launch.batch.results[index]);
}

__global__ void __launch_bounds__(carry_threads) copy_text(const batch_buffers batch, const std::uint8_t* text_before) {
  copy_carried(batch, text_before, blockIdx.x * carry_threads + threadIdx.x, gridDim.x * carry_threads);
}

__global__ void __launch_bounds__(warp_team::size) carry(const batch_buffers batch) {
  deflate::is_member(batch.frames[0]) ? deflate::carry_member(warp_team{}, batch) : carry_blocks(warp_team{}, batch);
}

// A block of threads for each row, a thread for each value. The sum of the rows from `first` on, before `end`.
__device__ void sum_rows(const frame_launch& launch, std::uint32_t first, std::uint32_t end) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = first; i < end; ++i) sum += launch.rows[std::size_t{i} * values + threadIdx.x];
  launch.totals[std::size_t{blockIdx.x} * values + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(values) sum_groups(const frame_launch launch) {
  const text_division& division = launch.division;
  sum_rows(launch, division.first_frame_of(blockIdx.x), division.groups[blockIdx.x].frame_end);
}

__global__ void __launch_bounds__(values) sum_slices(const frame_launch launch) {
  const text_division& division = launch.division;
  const unsigned slice = blockIdx.x;
  sum_rows(launch, slice == 0 ? 0 : division.slice_ends[slice - 1], division.slice_ends[slice]);
  if (threadIdx.x == 0) division.last_bytes[slice] = last_byte_of(division, slice);
}

// A warp for each cut.
__global__ void __launch_bounds__(search_threads) find_lines(const text_division division) {
  const units::warp_lanes lanes;
  const std::uint32_t cut = (blockIdx.x * search_threads + threadIdx.x) / units::warp_lanes::size;
  if (cut >= division.cut_count()) return;
  const std::uint32_t group = group_of_cut(division, cut);
  if (division.groups[group].unit != cut_unit::lines) return;
  const std::uint32_t begin = division.lines.extents[division.first_frame_of(group)].begin;
  const std::uint32_t place = units::delimiter_end(lanes, division.lines, begin, division.cuts[cut]);
  if (lanes.rank() == 0) division.places[cut] = place;
}

__global__ void __launch_bounds__(divide_threads) divide_groups(const text_division division) {
  const unsigned group = blockIdx.x * divide_threads + threadIdx.x;
  if (group < division.group_count) divide_group(division, group);
}

__global__ void __launch_bounds__(product_threads) multiply_words(const product_launch launch) {
  const std::size_t pair = std::size_t{blockIdx.x} * product_threads + threadIdx.x;
  if (pair >= launch.count / 2) return;
  ulonglong2 words = reinterpret_cast<const ulonglong2*>(launch.words)[pair];
  words.x *= xxh64::prime2;
  words.y *= xxh64::prime2;
  reinterpret_cast<ulonglong2*>(launch.products)[pair] = words;
}

cudaError_t launch_count(const frame_launch& launch, const extent* extents, std::uint32_t count, cudaStream_t stream) {
  return kernels::launch_lane_private({.bytes = reinterpret_cast<const std::byte*>(launch.batch.text),
                                       .extents = extents,
                                       .extent_count = count,
                                       .rows = launch.rows,
                                       .chunk_bytes = launch.batch.text_room,
                                       .multiprocessors = launch.multiprocessors},
                                      stream);
}

cudaError_t launch_groups(const frame_launch& launch, cudaStream_t stream) {
  const cudaError_t code = launch_count(launch, launch.extents, launch.batch.frame_count, stream);
  if (code != cudaSuccess) return code;
  return kernels::queue(sum_groups, {.blocks = launch.division.group_count, .threads = values}, stream, launch);
}

cudaError_t launch_slices(const frame_launch& launch, cudaStream_t stream) {
  const text_division& division = launch.division;
  const std::uint32_t cuts = division.cut_count();
  cudaError_t code = cudaSuccess;
  if (division.has_lines && cuts > 0) {
    constexpr std::uint32_t searches = search_threads / units::warp_lanes::size;
    code = units::launch_delimiter_counts(division.lines, stream);
    if (code != cudaSuccess) return code;
    code = kernels::queue(find_lines, {.blocks = (cuts + searches - 1) / searches, .threads = search_threads}, stream,
                          division);
    if (code != cudaSuccess) return code;
  }
  const std::uint32_t blocks = (division.group_count + divide_threads - 1) / divide_threads;
  code = kernels::queue(divide_groups, {.blocks = blocks, .threads = divide_threads}, stream, division);
  if (code != cudaSuccess) return code;
  code = launch_count(launch, division.extents, launch.batch.frame_count + cuts, stream);
  if (code != cudaSuccess) return code;
  return kernels::queue(sum_slices, {.blocks = division.slice_count, .threads = values}, stream, launch);
}

}  // namespace

cudaError_t launch_frames(const frame_launch& launch, cudaStream_t stream) {
  const std::uint32_t frames = launch.batch.frame_count;
  if (frames == 0) return cudaSuccess;
  cudaError_t code = cudaSuccess;
  if (launch.text_before != nullptr) {
    code = kernels::queue(copy_text, {.blocks = carry_blocks_of_threads, .threads = carry_threads}, stream,
                          launch.batch, launch.text_before);
    if (code != cudaSuccess) return code;
  }
  code = launch_decode(launch.batch, launch.in_parts, stream);
  if (code != cudaSuccess) return code;
  code = kernels::queue(write_extents,
                        {.blocks = (frames + extent_threads - 1) / extent_threads, .threads = extent_threads}, stream,
                        launch);
  if (code != cudaSuccess) return code;
  code = launch.division.cuts == nullptr ? launch_groups(launch, stream) : launch_slices(launch, stream);
  if (code != cudaSuccess) return code;
  if (launch.is_step) return kernels::queue(carry, {.blocks = 1, .threads = warp_team::size}, stream, launch.batch);
  return launch.units.text == nullptr ? cudaSuccess : units::launch_units(launch.units, stream);
}

cudaError_t launch_products(const product_launch& launch, cudaStream_t stream) {
  const std::size_t blocks = (launch.count / 2 + product_threads - 1) / product_threads;
  return kernels::queue(multiply_words, {.blocks = blocks, .threads = product_threads}, stream, launch);
}

}  // namespace gpuhist::gpu::cuda::frames
