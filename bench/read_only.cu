// The ceiling: kernels that read every byte and count nothing, in several shapes. Which shape is fastest depends on the
// device and the size. They give the upper bound for counting kernels in the same run.
#include "bench/contender.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

namespace gpuhist::bench {
namespace {

// How a grid covers the data: `strided` has as many blocks as are resident, and each thread strides over all of the
// data; `once` has one block for every threads x loads vectors.
enum class cover { strided, once };

__device__ __forceinline__ std::uint32_t mix(uint4 words) { return words.x ^ words.y ^ words.z ^ words.w; }

// 16-byte streaming loads, `Loads` of them in flight per thread. The sum is used so that the compiler cannot remove the
// loads.
template <unsigned Threads, unsigned Loads, cover Cover>
__global__ void __launch_bounds__(Threads) read_only(const uint4* words, std::uint64_t count, std::uint32_t* sink) {
  constexpr bool once = Cover == cover::once;
  const std::uint64_t step = once ? Threads : std::uint64_t{gridDim.x} * Threads;
  std::uint64_t at = std::uint64_t{blockIdx.x} * Threads * (once ? Loads : 1) + threadIdx.x;
  std::uint32_t sum = 0;
  uint4 loaded[Loads];
  if constexpr (!once) {
    for (; at + (Loads - 1) * step < count; at += Loads * step) {
#pragma unroll
      for (unsigned k = 0; k < Loads; ++k) loaded[k] = __ldcs(words + at + k * step);
#pragma unroll
      for (unsigned k = 0; k < Loads; ++k) sum += mix(loaded[k]);
    }
  }
#pragma unroll
  for (unsigned k = 0; k < Loads; ++k) {
    loaded[k] = at + k * step < count ? __ldcs(words + at + k * step) : uint4{0, 0, 0, 0};
  }
#pragma unroll
  for (unsigned k = 0; k < Loads; ++k) sum += mix(loaded[k]);
  if (sum == 0xffffffffU) *sink = sum;
}

__global__ void hold_stream(std::uint64_t nanoseconds) {
  std::uint64_t begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  std::uint64_t now = begin;
  while (now - begin < nanoseconds) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
}

struct shape {
  const char* name;
  void (*kernel)(const uint4* words, std::uint64_t count, std::uint32_t* sink);
  unsigned threads;
  unsigned loads;
  unsigned blocks_per_multiprocessor;  // 0: cover::once
};

template <unsigned Threads, unsigned Loads, unsigned Blocks>
constexpr shape shaped(const char* name) {
  constexpr cover covering = Blocks == 0 ? cover::once : cover::strided;
  return {.name = name,
          .kernel = read_only<Threads, Loads, covering>,
          .threads = Threads,
          .loads = Loads,
          .blocks_per_multiprocessor = Blocks};
}

const std::array shapes{
    shaped<1024, 1, 2>("read 1024 threads x 2, 1 load"),  shaped<1024, 2, 2>("read 1024 threads x 2, 2 loads"),
    shaped<1024, 4, 2>("read 1024 threads x 2, 4 loads"), shaped<512, 4, 4>("read 512 threads x 4, 4 loads"),
    shaped<256, 8, 4>("read 256 threads x 4, 8 loads"),   shaped<256, 2, 0>("read 256 threads, 2 loads, once"),
    shaped<256, 4, 0>("read 256 threads, 4 loads, once"),
};

class reader final : public contender {
 public:
  reader(const shape& measured, const machine& device)
      : shape_(measured),
        resident_(static_cast<std::uint64_t>(device.multiprocessors) * measured.blocks_per_multiprocessor) {}

  void clear(const stream&) override {}

  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    const std::uint64_t vectors = bytes.size() / sizeof(uint4);
    const std::uint64_t part = std::uint64_t{shape_.threads} * (resident_ == 0 ? shape_.loads : 1);
    const std::uint64_t parts = (vectors + part - 1) / part;
    const std::uint64_t blocks = resident_ == 0 ? parts : std::min(parts, resident_);
    shape_.kernel<<<static_cast<unsigned>(blocks), shape_.threads, 0, on.get()>>>(
        reinterpret_cast<const uint4*>(bytes.data()), vectors, sink_.as<std::uint32_t>());
    check(cudaGetLastError());
  }

  bin_counts counts(std::uint64_t, const stream&) override { return {}; }

 private:
  const shape& shape_;
  std::uint64_t resident_;
  device_bytes sink_{sizeof(std::uint32_t)};
};

}  // namespace

std::vector<entrant> read_only_entrants(const machine& device) {
  std::vector<entrant> all;
  for (const shape& each : shapes) {
    all.push_back({.name = each.name, .kind = role::ceiling, .implementation = std::make_unique<reader>(each, device)});
  }
  return all;
}

void hold(const stream& on, std::uint64_t nanoseconds) {
  hold_stream<<<1, 1, 0, on.get()>>>(nanoseconds);
  check(cudaGetLastError());
}

}  // namespace gpuhist::bench
