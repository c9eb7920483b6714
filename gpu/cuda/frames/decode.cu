#include "gpu/cuda/frames/decode.hpp"

#include "gpu/cuda/deflate/begins.hpp"
#include "gpu/cuda/deflate/checksum.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/deflate/symbols.hpp"
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/zstd/checksum_of_few.hpp"
#include "gpu/cuda/zstd/checksum_of_many.hpp"
#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/execute.hpp"
#include "gpu/cuda/zstd/frames.hpp"
#include "gpu/cuda/zstd/huffman.hpp"
#include "gpu/cuda/zstd/parts.hpp"
#include "gpu/cuda/zstd/sequences.hpp"
#include "gpu/cuda/zstd/team.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace gpuhist::gpu::cuda::frames {

using namespace zstd;  // its phases serve gzip, too

namespace {

constexpr unsigned serial_threads = 64;  // of the phases with a thread for each block or a warp for each frame
constexpr unsigned literal_warps = 4;    // blocks of one thread block, in the phase of literals
constexpr unsigned sequence_blocks = 8;  // of one warp; their memory is 22 KiB

// Members of gzip: warps that search for begins, each for one portion.
constexpr unsigned begin_warps = 4;
constexpr unsigned crc32_threads = 128;

// Phase 6: threads for each frame. Many frames fill the device with small teams, which wait less for each other. Few
// frames get large teams, and phase 7 follows them through the text. (A small team that publishes would need a third
// more registers.)
template <unsigned Threads>
using tile_memory = execute_memory<16 * Threads, Threads, byte_output>;
constexpr unsigned small_team = 256;
constexpr unsigned large_team = 1024;
constexpr std::uint32_t few_frames = 384;

// Phase 6 of frames in parts: threads for each part, and threads that write a piece of its text.
constexpr unsigned part_team = 256;
constexpr unsigned piece_team = 512;
using part_memory = execute_memory<16 * part_team, part_team, symbol_output>;

// Phase 7: few frames get a warp each, which is a block of its own if it follows phase 6. Two of them keep a
// multiprocessor busy, so more memory is reserved than they use.
constexpr unsigned checksum_threads = 32;  // eight of many frames; their memory is 32 KiB
constexpr std::size_t reserved_by_follower = 90 * 1024;

__constant__ const code_meanings all_meanings = code_meanings::make();
__constant__ const deflate::symbol_meanings meanings_of_symbols = deflate::symbol_meanings::make();
__device__ const deflate::crc32_factors factors_of_crc32 = deflate::crc32_factors::make();

// Threads of a block copy words of `from`, which lies in slower memory.
template <class Value>
__device__ void copy_to_shared(const Value& from, Value& to) {
  constexpr unsigned words = sizeof(Value) / sizeof(std::uint32_t);
  static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    reinterpret_cast<std::uint32_t*>(&to)[i] = reinterpret_cast<const std::uint32_t*>(&from)[i];
  }
  __syncthreads();
}

__device__ unsigned global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void __launch_bounds__(serial_threads) describe(const batch_buffers batch) {
  if (global_thread() < batch.block_count) describe_block(batch, global_thread());
}

__global__ void __launch_bounds__(serial_threads) resolve(const batch_buffers batch) {
  if (global_thread() / 32 < batch.frame_count) resolve_references(warp_team{}, batch, global_thread() / 32);
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
  copy_to_shared(all_meanings, meanings);
  const unsigned which = threadIdx.x / quad_decoder::threads;
  decode_sequences<window_bits>(quad_decoder{}, batch, blockIdx.x * sequence_blocks + which, meanings, memory[which]);
}

__global__ void __launch_bounds__(begin_warps * 32) begins(const batch_buffers batch) {
  __shared__ deflate::length_code codes[begin_warps * 32];
  const unsigned index = blockIdx.x * begin_warps + threadIdx.x / 32;
  deflate::find_begin(warp_team{}, batch, index, codes[threadIdx.x]);
}

__global__ void __launch_bounds__(32) symbols(const batch_buffers batch) {
  __shared__ deflate::symbol_meanings meanings;
  __shared__ deflate::portion_memory memory;
  if (!deflate::has_begin(batch, blockIdx.x)) return;
  copy_to_shared(meanings_of_symbols, meanings);
  const warp_team team;
  deflate::portion_decoder(team, batch, blockIdx.x, meanings, memory).decode();
}

__global__ void __launch_bounds__(serial_threads) order(const batch_buffers batch) {
  if (global_thread() / 32 < batch.frame_count) deflate::order_pieces(warp_team{}, batch, global_thread() / 32);
}

__global__ void __launch_bounds__(serial_threads) link(const batch_buffers batch) {
  if (global_thread() / 32 < batch.frame_count) link_frame(warp_team{}, batch, global_thread() / 32);
}

template <unsigned Threads, bool Followed>
__global__ void __launch_bounds__(Threads) execute(const batch_buffers batch) {
#if __CUDA_ARCH__ >= 900
  if (Followed) cudaTriggerProgrammaticLaunchCompletion();  // the checksum may begin once all frames are begun
#endif
  extern __shared__ uint4 memory[];
  const block_team<Threads, Followed> team;
  execute_frame(team, batch, blockIdx.x, *reinterpret_cast<tile_memory<Threads>*>(memory));
}

// Segments of several frames, whose thread blocks alternate.
struct part_segments {
  part_segment all[part_progress::frames];
  unsigned count = 0;
};

__global__ void __launch_bounds__(part_team) execute_parts(const batch_buffers batch, const part_segments segments) {
  __shared__ part_memory memory;
  const part_segment segment = segments.all[blockIdx.x % segments.count];
  const unsigned index = blockIdx.x / segments.count;
  if (index < segment.parts()) execute_part(block_team<part_team>{}, batch, segment, index, memory);
}

__global__ void __launch_bounds__(piece_team) write_parts(const batch_buffers batch, const part_segments segments) {
  const part_segment segment = segments.all[blockIdx.x % segments.count];
  write_pieces(counting_team<piece_team>{}, batch, segment);
}

// As many thread blocks as the device runs at once.
unsigned resident_writers() {
  int device = 0;
  int multiprocessors = 0;
  int of_one = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, write_parts, piece_team, 0) != cudaSuccess) {
    return part_progress::frames;
  }
  return std::max<unsigned>(static_cast<unsigned>(multiprocessors * of_one), part_progress::frames);
}

__global__ void __launch_bounds__(checksum_threads) checksum_of_many(const batch_buffers batch) {
  using words = staged_words<checksum_threads, asynchronous_copies>;
  __shared__ words::memory staged;
  __shared__ std::uint64_t sums[checksum_threads];
  const unsigned index = global_thread() / xxh64::accumulators;
  const unsigned which = threadIdx.x % xxh64::accumulators;
  const bool checks = index < batch.frame_count && has_checksum(batch, index);
  if (checks) {
    const std::uint32_t stripes = xxh64::stripes_in(batch.results[index].text_bytes);
    words from(staged, threadIdx.x, {}, batch.text + batch.frames[index].text_at, stripes, which);
    sums[threadIdx.x] = accumulate(from, stripes, which);
  }
  __syncwarp();
  if (!checks || which != 0) return;
  std::uint64_t own[xxh64::accumulators];
  for (unsigned i = 0; i < xxh64::accumulators; ++i) own[i] = sums[threadIdx.x + i];
  compare_checksum(batch, index, own);
}

__global__ void __launch_bounds__(crc32_threads) add_crc32(const batch_buffers batch) {
  __shared__ deflate::crc32_factors factors;
  copy_to_shared(factors_of_crc32, factors);
  const unsigned lane = threadIdx.x % 32;
  deflate::for_each_stretch(batch, global_thread() / 32,
                            [&](std::uint32_t frame, const deflate::text_stretch& stretch) {
                              std::uint32_t sum = stretch.lane_part(factors, lane);
                              for (unsigned distance = 16; distance > 0; distance /= 2)
                                sum ^= __shfl_xor_sync(0xffffffffU, sum, distance);
                              if (lane == 0) atomicXor(&batch.results[frame].crc32, stretch.part(factors, sum));
                            });
}

// All threads of a warp call it. What the phases before phase 6 have written can be read, because phase 6 began after
// their end.
__device__ void follow_frame(const batch_buffers& batch, unsigned index) {
  __shared__ hash_memory memory;
  __shared__ std::uint64_t sums[xxh64::accumulators];
  if (!has_checksum(batch, index)) return;
  const warp_team team;
  growing_text text(batch.results[index]);
  const auto bytes = static_cast<std::uint32_t>(batch.results[index].text_bytes);
  text_accumulators all(team, memory, text, batch.text + batch.frames[index].text_at, xxh64::stripes_in(bytes));
  all.add_stripes();
  if (team.rank() < xxh64::accumulators) sums[team.rank()] = all.sum(0);
  team.sync();
  if (team.rank() != 0) return;
  text.wait_for(bytes);
  if (has_checksum(batch, index)) compare_checksum(batch, index, sums);  // phase 6 may have rejected the frame
}

// Waiting for phase 6 as a whole blocks the warp, so all of its threads do that together.
__global__ void __launch_bounds__(32) checksum_of_few(const batch_buffers batch) {
  follow_frame(batch, blockIdx.x);
  __syncwarp();
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

std::uint64_t blocks_for(std::uint64_t items, unsigned in_one) { return (items + in_one - 1) / in_one; }

template <unsigned Threads, bool Followed>
cudaError_t launch_execute(const batch_buffers& batch, cudaStream_t stream) {
  constexpr std::size_t shared_bytes = sizeof(tile_memory<Threads>);
  const auto kernel = execute<Threads, Followed>;
  const cudaError_t code =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  if (code != cudaSuccess) return code;
  return kernels::queue(kernel, {.blocks = batch.frame_count, .threads = Threads, .shared_bytes = shared_bytes}, stream,
                        batch);
}

// The next segments of some frames, of as many parts each. No part of them is left: the count is 0.
part_segments next_segments(std::span<const part_segment> frames, std::uint32_t parts, std::uint32_t executed) {
  part_segments next;
  const std::uint32_t blocks = parts * part_segment::blocks_of_part;
  for (const part_segment& frame : frames) {
    if (frame.end_block - frame.first_block <= std::uint64_t{executed} * part_segment::blocks_of_part) continue;
    part_segment& segment = next.all[next.count];
    segment = frame;
    segment.first_block += executed * part_segment::blocks_of_part;
    segment.end_block = lesser(frame.end_block, segment.first_block + blocks);
    segment.first_part = next.count * parts;
    segment.counters = next.count++;
  }
  return next;
}

// The text of one frame is written part after part, which does not keep a device busy. So several frames are executed
// at the same time, each in segments of at least 64 parts.
cudaError_t launch_parts(const batch_buffers& batch, std::span<const part_segment> in_parts, cudaStream_t stream) {
  constexpr std::uint32_t least_parts = 64;
  const std::uint32_t room = batch.symbol_room / part_segment::symbols_of_part;  // parts
  if (in_parts.empty()) return cudaSuccess;
  if (room == 0) return cudaErrorInvalidValue;
  const unsigned resident = resident_writers();
  const std::size_t at_once = std::clamp<std::size_t>(room / least_parts, 1, part_progress::frames);
  for (; !in_parts.empty(); in_parts = in_parts.subspan(std::min(at_once, in_parts.size()))) {
    const auto frames = in_parts.first(std::min(at_once, in_parts.size()));
    const auto parts = static_cast<std::uint32_t>(room / frames.size());
    for (std::uint32_t executed = 0;; executed += parts) {
      const part_segments segments = next_segments(frames, parts, executed);
      if (segments.count == 0) break;
      std::uint64_t most = 0;
      for (unsigned i = 0; i < segments.count; ++i) most = std::max<std::uint64_t>(most, segments.all[i].parts());
      const std::uint64_t blocks = most * segments.count;
      cudaError_t code =
          kernels::queue(execute_parts, {.blocks = blocks, .threads = part_team}, stream, batch, segments);
      if (code != cudaSuccess) return code;
      const std::uint64_t writers = std::min<std::uint64_t>(blocks * part_segment::pieces_of_part, resident);
      code = kernels::queue(write_parts, {.blocks = writers, .threads = piece_team}, stream, batch, segments);
      if (code != cudaSuccess) return code;
    }
  }
  return cudaSuccess;
}

// Frames in parts first: the checksum follows the last kernel.
cudaError_t launch_execute(const batch_buffers& batch, std::span<const part_segment> in_parts, cudaStream_t stream) {
  if (const cudaError_t code = launch_parts(batch, in_parts, stream); code != cudaSuccess) return code;
  return batch.frame_count <= few_frames ? launch_execute<large_team, true>(batch, stream)
                                         : launch_execute<small_team, false>(batch, stream);
}

// The machine code of the kernel is for compute capability 9.0 or higher, and so is the device.
bool may_overlap(void (*kernel)(batch_buffers)) {
  cudaFuncAttributes found{};
  return cudaFuncGetAttributes(&found, kernel) == cudaSuccess && found.binaryVersion >= 90 && found.ptxVersion >= 90;
}

cudaError_t launch_checksum(const batch_buffers& batch, cudaStream_t stream, bool follows) {
  if (batch.frame_count > few_frames) {
    return kernels::queue(
        checksum_of_many,
        {.blocks = blocks_for(batch.frame_count, checksum_threads / xxh64::accumulators), .threads = checksum_threads},
        stream, batch);
  }
  kernels::launch_shape shape{.blocks = batch.frame_count, .threads = 32};
  if (follows && may_overlap(checksum_of_few)) {
    shape.overlaps_previous = true;
    shape.shared_bytes = reserved_by_follower;
    const cudaError_t code = cudaFuncSetAttribute(checksum_of_few, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  static_cast<int>(reserved_by_follower));
    if (code != cudaSuccess) return code;
  }
  return kernels::queue(checksum_of_few, shape, stream, batch);
}

}  // namespace

cudaError_t launch_phase(phase which, const batch_buffers& batch, std::span<const part_segment> in_parts,
                         cudaStream_t stream) {
  if (batch.frame_count == 0 || batch.block_count == 0) return cudaSuccess;
  const auto queue = [&](auto kernel, std::uint64_t items, unsigned in_one, unsigned threads) {
    return kernels::queue(kernel, {.blocks = blocks_for(items, in_one), .threads = threads}, stream, batch);
  };
  const bool is_of_members =
      which == phase::begins || which == phase::symbols || which == phase::order || which == phase::crc32;
  const bool is_of_all = which == phase::link || which == phase::execute;
  if (!is_of_all && (is_of_members ? batch.member_count == 0 : batch.member_count == batch.frame_count)) {
    return cudaSuccess;
  }
  switch (which) {
    case phase::describe:
      return queue(describe, batch.block_count, serial_threads, serial_threads);
    case phase::resolve:
      return queue(resolve, batch.frame_count, serial_threads / 32, serial_threads);
    case phase::literals:
      return queue(literals, batch.block_count, literal_warps, literal_warps * 32);
    case phase::sequences:
      return queue(sequences, batch.block_count, sequence_blocks, 32);
    case phase::begins:
      return queue(begins, batch.block_count, begin_warps, begin_warps * 32);
    case phase::symbols:
      return queue(symbols, batch.block_count, 1, 32);
    case phase::order:
      return queue(order, batch.frame_count, serial_threads / 32, serial_threads);
    case phase::link:
      return queue(link, batch.frame_count, serial_threads / 32, serial_threads);
    case phase::execute:
      return launch_execute(batch, in_parts, stream);
    case phase::crc32:
      return queue(add_crc32, deflate::stretches_in(batch.text_room), crc32_threads / 32, crc32_threads);
    case phase::checksum:
      return launch_checksum(batch, stream, false);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_decode(const batch_buffers& batch, std::span<const part_segment> in_parts, cudaStream_t stream) {
  if (batch.frame_count == 0 || batch.block_count == 0) return cudaSuccess;
  for (unsigned i = 0; i + 1 < phase_count; ++i) {
    const cudaError_t code = launch_phase(static_cast<phase>(i), batch, in_parts, stream);
    if (code != cudaSuccess) return code;
  }
  const bool follows = batch.member_count == 0;  // phase 6 directly
  return batch.member_count == batch.frame_count ? cudaSuccess : launch_checksum(batch, stream, follows);
}

}  // namespace gpuhist::gpu::cuda::frames
