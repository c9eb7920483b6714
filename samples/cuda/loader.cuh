// Loads groups of four samples or weights, of any stride and alignment, and converts them to carriers.
#pragma once

#include "samples/cuda/task.hpp"
#include "samples/half.hpp"
#include "samples/keys.hpp"

#include <cuda_runtime.h>
#include <cstdint>

namespace gpuhist::gpu::cuda::samples {

inline constexpr unsigned group = 4;

/// The bytes of a group, as in memory: 4, 8, 16 or 32 bytes.
template <unsigned Words>
struct raw_group {
  std::uint32_t words[Words];
};

__device__ __forceinline__ const std::byte* element_at(const element_source& in, std::uint64_t index) {
  if (in.channels == 1) return in.data + static_cast<std::int64_t>(index) * in.stride;
  const std::uint64_t frame = index / in.channels;
  return in.data + static_cast<std::int64_t>(frame) * in.stride + (index - frame * in.channels) * in.size;
}

// Elements of any alignment.
__device__ __forceinline__ std::uint64_t load_bytes(const element_source& in, std::uint64_t index) {
  const auto* const at = reinterpret_cast<const std::uint8_t*>(element_at(in, index));
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < in.size; ++i) bits |= std::uint64_t{at[i]} << (8 * i);
  return bits;
}

template <unsigned Words>
__device__ __forceinline__ void put(raw_group<Words>& into, unsigned index, unsigned size, std::uint64_t bits) {
  if (size == 8) {
    if constexpr (Words == 8) {
      into.words[2 * index] = static_cast<std::uint32_t>(bits);
      into.words[2 * index + 1] = static_cast<std::uint32_t>(bits >> 32U);
    }
  } else if (size == 4) {
    into.words[index] = static_cast<std::uint32_t>(bits);
  } else if (size == 2) {
    into.words[index / 2] |= static_cast<std::uint32_t>(bits) << (16 * (index % 2));
  } else {
    into.words[0] |= static_cast<std::uint32_t>(bits) << (8 * index);
  }
}

/// Elements [first, first + present) one by one; the others are zero.
template <unsigned Words>
__device__ __noinline__ raw_group<Words> gather(const element_source& in, std::uint64_t first, unsigned present) {
  raw_group<Words> made{};
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    if (i < present) put(made, i, in.size, load_bytes(in, first + i));
  }
  return made;
}

/// Group `number` of a source with adjacent, aligned elements. Streaming loads: samples are read once.
template <unsigned Words>
__device__ __forceinline__ raw_group<Words> load_wide(const std::byte* from, unsigned size, std::uint64_t number) {
  raw_group<Words> made{};
  if (size == 4) {
    const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(from) + number);
    made.words[0] = loaded.x, made.words[1] = loaded.y, made.words[2] = loaded.z, made.words[3] = loaded.w;
  } else if (size == 2) {
    const uint2 loaded = __ldcs(reinterpret_cast<const uint2*>(from) + number);
    made.words[0] = loaded.x, made.words[1] = loaded.y;
  } else if (size == 1) {
    made.words[0] = __ldcs(reinterpret_cast<const std::uint32_t*>(from) + number);
  } else if constexpr (Words == 8) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(from) + number * 2 + half);
      std::uint32_t* const to = made.words + 4 * half;
      to[0] = loaded.x, to[1] = loaded.y, to[2] = loaded.z, to[3] = loaded.w;
    }
  }
  return made;
}

/// `Count` groups whose numbers are `step` apart, all in flight at once. `FixedSize` is the size of the elements
/// of a wide source; 0: it is that of the source.
template <unsigned FixedSize, unsigned Words, unsigned Count>
__device__ __forceinline__ void load_groups(const element_source& in, std::uint64_t number, std::uint64_t step,
                                            raw_group<Words> (&into)[Count]) {
  const unsigned size = FixedSize == 0 ? in.size : FixedSize;
  const std::byte* const from = in.data + std::uint64_t{in.head} * size;
  if (FixedSize != 0 || in.wide) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) into[k] = load_wide<Words>(from, size, number + k * step);
  } else {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) into[k] = gather<Words>(in, in.head + (number + k * step) * group, group);
  }
}

template <unsigned Words>
__device__ __forceinline__ std::uint64_t word_pair(const raw_group<Words>& in, unsigned index) {
  return in.words[2 * index] | std::uint64_t{in.words[2 * index + 1]} << 32U;
}

__device__ __forceinline__ std::uint16_t half_word(const raw_group<4>& in, unsigned index) {
  return static_cast<std::uint16_t>(in.words[index / 2] >> (16 * (index % 2)));
}

__device__ __forceinline__ void convert(std::uint32_t type, const raw_group<4>& in, std::uint32_t (&out)[group]) {
  using gpu::samples::sign32;
  switch (static_cast<sample_type>(type)) {
    case sample_type::uint8:
#pragma unroll
      for (unsigned i = 0; i < group; ++i) out[i] = (in.words[0] >> (8 * i) & 0xffU) ^ sign32;
      break;
    case sample_type::int8:
#pragma unroll
      for (unsigned i = 0; i < group; ++i)
        out[i] = static_cast<std::uint32_t>(std::int32_t{static_cast<std::int8_t>(in.words[0] >> (8 * i))}) ^ sign32;
      break;
    case sample_type::uint16:
#pragma unroll
      for (unsigned i = 0; i < group; ++i) out[i] = half_word(in, i) ^ sign32;
      break;
    case sample_type::int32:
#pragma unroll
      for (unsigned i = 0; i < group; ++i) out[i] = in.words[i] ^ sign32;
      break;
    default:
#pragma unroll
      for (unsigned i = 0; i < group; ++i) out[i] = in.words[i];
  }
}

__device__ __forceinline__ void convert(std::uint32_t type, const raw_group<4>& in, float (&out)[group]) {
  switch (static_cast<sample_type>(type)) {
    case sample_type::float16:
#pragma unroll
      for (unsigned i = 0; i < group; ++i) out[i] = gpu::samples::from_float16(half_word(in, i));
      break;
    case sample_type::bfloat16:
#pragma unroll
      for (unsigned i = 0; i < group; ++i) out[i] = gpu::samples::from_bfloat16(half_word(in, i));
      break;
    default:
#pragma unroll
      for (unsigned i = 0; i < group; ++i) out[i] = __uint_as_float(in.words[i]);
  }
}

__device__ __forceinline__ void convert(std::uint32_t, const raw_group<8>& in, std::uint64_t (&out)[group]) {
#pragma unroll
  for (unsigned i = 0; i < group; ++i) out[i] = word_pair(in, i) ^ gpu::samples::sign64;
}

__device__ __forceinline__ void convert(std::uint32_t, const raw_group<8>& in, double (&out)[group]) {
#pragma unroll
  for (unsigned i = 0; i < group; ++i) out[i] = __longlong_as_double(static_cast<long long>(word_pair(in, i)));
}

}  // namespace gpuhist::gpu::cuda::samples
