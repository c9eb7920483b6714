// Common parts of the lane_private kernels: loads, additions without collisions, and the fold of the copies of a block.
// lane_counters.hpp has the layout.
#pragma once

#include "gpu/cuda/kernels/lane_counters.hpp"

#include <cuda_runtime.h>

namespace gpuhist::gpu::cuda::kernels {

/// Loads 16 bytes that are read only once: the load evicts nothing from the caches.
__device__ __forceinline__ uint4 load_once(const uint4* from) { return __ldcs(from); }

/// The counters of a block, as one of its threads uses them.
template <unsigned Copies>
class lane_counters {
 public:
  using layout = lane_layout<Copies>;

  /// `counters`: layout::bytes of shared memory, aligned to 16, the same for all threads of the block.
  explicit __device__ __forceinline__ lane_counters(std::uint32_t* counters)
      : counters_(counters), lane_offset_(layout::lane_offset(threadIdx.x)) {}

  /// Adds one to the counter of byte `Byte` of the word. The addition returns nothing, so no thread waits for it.
  template <unsigned Byte>
  __device__ __forceinline__ void add_byte(std::uint32_t word) {
    const std::uint32_t offset = layout::template counter_offset<Byte>(word, lane_offset_);
    atomicAdd(reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(counters_) + offset), 1U);
  }

  __device__ __forceinline__ void add_word(std::uint32_t word) {
    add_byte<0>(word);
    add_byte<1>(word);
    add_byte<2>(word);
    add_byte<3>(word);
  }

  __device__ __forceinline__ void add(uint4 words) {
    add_word(words.x);
    add_word(words.y);
    add_word(words.z);
    add_word(words.w);
  }

  /// Sets all counters of the block to zero. The caller adds the barrier after it.
  template <unsigned Threads>
  __device__ __forceinline__ void clear() {
    auto* const vectors = reinterpret_cast<uint4*>(counters_);
#pragma unroll
    for (unsigned i = 0; i < layout::bytes / 16; i += Threads) vectors[i + threadIdx.x] = uint4{0, 0, 0, 0};
  }

  /// The sum of the copies of value fold_layout::value(thread): the same for all threads of that value. `Sum` has 32 or
  /// 64 bits. With `Clear`, the counters are zero afterwards. The caller adds a barrier before it, and one after it
  /// before the next addition.
  template <unsigned Threads, class Sum, bool Clear>
  __device__ __forceinline__ Sum fold() {
    using fold_order = fold_layout<Copies, Threads>;
    auto* const vectors = reinterpret_cast<uint4*>(counters_);
    Sum sum = 0;
#pragma unroll
    for (unsigned step = 0; step < fold_order::vectors_per_thread; ++step) {
      uint4& vector = vectors[fold_order::vector(threadIdx.x, step)];
      const uint4 four = vector;
      if (Clear) vector = uint4{0, 0, 0, 0};
      sum += Sum{four.x} + four.y + four.z + four.w;
    }
#pragma unroll
    for (unsigned distance = fold_order::threads_per_value / 2; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(0xffffffffU, sum, distance);
    }
    return sum;
  }

 private:
  std::uint32_t* counters_;
  std::uint32_t lane_offset_;
};

}  // namespace gpuhist::gpu::cuda::kernels
