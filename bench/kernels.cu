// How fast the counting kernel counts what lies in device memory, against a kernel that only reads it, in one run.
#include "bench/bench.hpp"
#include "gpu/cuda/kernels/lane_private.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

namespace gpuhist::bench {
namespace {

constexpr std::size_t data_bytes = gib;
constexpr std::size_t pattern_bytes = 16 * mib;
constexpr int repetitions = 25;
constexpr std::size_t values = 256;

__device__ __forceinline__ std::uint32_t mix(uint4 words) { return words.x ^ words.y ^ words.z ^ words.w; }

// Reads as the counting kernel does: 16-byte streaming loads, two in flight. The sum is looked at only so that the
// compiler cannot leave the loads out.
__global__ void __launch_bounds__(1024) read_only(const uint4* words, std::uint32_t count, std::uint32_t* sink) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  std::uint32_t sum = 0;
  std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  for (; at + step < count; at += 2 * step) {
    const uint4 one = __ldcs(words + at);
    const uint4 two = __ldcs(words + at + step);
    sum += mix(one) + mix(two);
  }
  if (at < count) sum += mix(__ldcs(words + at));
  if (sum == 0xffffffffU) *sink = sum;
}

std::vector<std::uint8_t> text() {
  constexpr std::string_view letters = "etaoin shrdlu cmfwyp vbgkjqxz\n0123456789.,:;[]-\"/";
  std::mt19937 random(1);
  std::vector<std::uint8_t> bytes(pattern_bytes);
  for (auto& each : bytes) {
    each = static_cast<std::uint8_t>(letters[std::min(random() % letters.size(), random() % letters.size())]);
  }
  return bytes;
}

std::vector<std::uint8_t> noise() {
  std::mt19937 random(2);
  std::vector<std::uint8_t> bytes(pattern_bytes);
  for (auto& each : bytes) each = static_cast<std::uint8_t>(random());
  return bytes;
}

std::vector<std::uint8_t> one_letter() { return std::vector<std::uint8_t>(pattern_bytes, 'e'); }

struct workload {
  const char* name;
  std::vector<std::uint8_t> (*pattern)();
};

constexpr std::array<workload, 3> workloads{{{.name = "text", .pattern = text},
                                             {.name = "random", .pattern = noise},
                                             {.name = "one letter", .pattern = one_letter}}};

// What both kernels work on: the pattern over and over, one extent, one row.
struct device_data {
  stream on;
  device_bytes bytes{data_bytes};
  device_bytes extents{sizeof(gpu::extent)};
  device_bytes row{values * sizeof(std::uint32_t)};
  int multiprocessors = 0;

  device_data() {
    const gpu::extent all{.begin = 0, .end = data_bytes};
    check(cudaMemcpy(extents.as(), &all, sizeof all, cudaMemcpyHostToDevice));
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  }

  void fill(const std::vector<std::uint8_t>& pattern) {
    for (std::size_t at = 0; at < data_bytes; at += pattern.size()) {
      check(cudaMemcpy(bytes.as() + at, pattern.data(), pattern.size(), cudaMemcpyHostToDevice));
    }
  }

  double read_once() {
    event begin;
    event end;
    begin.record(on);
    read_only<<<static_cast<unsigned>(2 * multiprocessors), 1024, 0, on.get()>>>(
        bytes.as<uint4>(), data_bytes / sizeof(uint4), row.as<std::uint32_t>());
    check(cudaGetLastError());
    end.record(on);
    return end.seconds_since(begin);
  }

  double count_once() {
    check(cudaMemsetAsync(row.as(), 0, values * sizeof(std::uint32_t), on.get()));
    event begin;
    event end;
    begin.record(on);
    check(gpu::cuda::kernels::launch_lane_private({.bytes = bytes.as(),
                                                   .extents = extents.as<gpu::extent>(),
                                                   .extent_count = 1,
                                                   .rows = row.as<std::uint32_t>(),
                                                   .chunk_bytes = data_bytes,
                                                   .multiprocessors = multiprocessors},
                                                  on.get()));
    end.record(on);
    return end.seconds_since(begin);
  }

  // A rate of wrong counts is no rate.
  void verify(const std::vector<std::uint8_t>& pattern) {
    std::vector<std::uint32_t> expected(values);
    for (const std::uint8_t each : pattern) expected[each] += data_bytes / pattern_bytes;
    std::vector<std::uint32_t> counted(values);
    check(cudaMemcpy(counted.data(), row.as(), values * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
    if (counted != expected) throw std::runtime_error("lane_private counted wrongly");
  }
};

}  // namespace

void measure_kernels() {
  device_data data;
  std::printf("1 GiB of device memory, alternating, median of %d\n\n%-14s%16s%22s%8s\n", repetitions, "data",
              "read only GB/s", "lane_private GB/s", "%");
  for (const workload& each : workloads) {
    const auto pattern = each.pattern();
    data.fill(pattern);
    std::vector<double> reads;
    std::vector<double> counts;
    for (int i = 0; i < repetitions; ++i) {
      reads.push_back(data.read_once());
      counts.push_back(data.count_once());
    }
    data.verify(pattern);
    const double read = gigabytes_per_second(data_bytes, median(reads));
    const double counted = gigabytes_per_second(data_bytes, median(counts));
    std::printf("%-14s%16.0f%22.0f%8.0f\n", each.name, read, counted, 100 * counted / read);
  }
}

}  // namespace gpuhist::bench
