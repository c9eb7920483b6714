// The catalogue and count_device_span on a real device: every strategy keeps the contract, 32-bit counters of blocks
// never overflow, and spans in device memory are counted on the stream of the caller.
#include "bench/kernels/catalogue.hpp"
#include "contract/kernel_contract.hpp"

#include <gpuhist/device_span.hpp>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <thread>

namespace gpuhist::bench::kernels {
namespace {

namespace contract = gpu::contract;
using contract::check_cuda;
using contract::device_bytes;
using gpu::cuda::kernels::max_bins;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

bool no_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return false;
  std::printf("skipped: no CUDA device (%s)\n", cudaGetErrorName(code));
  return true;
}

bool no_room_for(std::uint64_t bytes) {
  std::size_t available = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&available, &total));
  if (available > bytes + gib) return false;
  std::printf("skipped: needs %llu GiB of device memory\n", static_cast<unsigned long long>(bytes / gib));
  return true;
}

// Counters on the device, initially zero.
class counter_row {
 public:
  counter_row() { memory_.clear(); }
  [[nodiscard]] unsigned long long* get() const { return reinterpret_cast<unsigned long long*>(memory_.get()); }
  [[nodiscard]] std::vector<std::uint64_t> read() const {
    std::vector<std::uint64_t> counts(max_bins);
    check_cuda(cudaDeviceSynchronize());
    check_cuda(cudaMemcpy(counts.data(), memory_.get(), memory_.size(), cudaMemcpyDeviceToHost));
    return counts;
  }

 private:
  device_bytes memory_{max_bins * sizeof(std::uint64_t)};
};

// The counts of one launch on the default stream, with the scratch memory of the strategy.
std::vector<std::uint64_t> counts_of(const strategy& kernel, span_launch launch) {
  const counter_row row;
  const std::size_t scratch = kernel.scratch_bytes ? kernel.scratch_bytes(launch.counted, launch.multiprocessors) : 0;
  device_bytes memory(scratch);
  memory.clear();
  launch.counters = row.get();
  launch.scratch = memory.get();
  check_cuda(kernel.launch(launch, nullptr));
  return row.read();
}

int multiprocessors() {
  int count = 0;
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

TEST_CASE("every strategy of the catalogue gives the counts of the simple loop") {
  if (no_device()) return;
  contract::kernel_bench bench;
  for (const strategy& kernel : catalogue()) bench.keeps_the_contract(kernel);
}

TEST_CASE("every variant of lane_private gives the counts of the simple loop") {
  if (no_device()) return;
  contract::kernel_bench bench;
  for (const strategy& kernel : lane_private_variants()) bench.keeps_the_contract(kernel);
}

TEST_CASE("every strategy counts a span of more than 4 GiB") {
  if (no_device() || no_room_for(5 * gib)) return;
  const std::uint64_t size = 4 * gib + 4099;
  const auto pattern = contract::sample_bytes(1U << 20U).front().bytes;
  device_bytes bytes(size + 64);
  for (std::uint64_t at = 0; at < bytes.size(); at += pattern.size()) {
    bytes.fill(std::span(pattern).first(std::min<std::uint64_t>(pattern.size(), bytes.size() - at)), at);
  }
  const span_launch launch{.bytes = bytes.get() + 3, .size = size, .multiprocessors = multiprocessors()};
  auto expected = contract::count_obviously(pattern, bins::bytes);
  for (auto& count : expected) count *= 4096;
  const auto rest = contract::count_obviously(std::span(pattern).first(4102), bins::bytes);
  const auto ahead = contract::count_obviously(std::span(pattern).first(3), bins::bytes);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += rest[i] - ahead[i];
  for (const strategy& kernel : catalogue()) {
    const std::string name(kernel.name);
    CAPTURE(name);
    if (kernel.counts_bytes) CHECK(counts_of(kernel, launch) == expected);
    if (kernel.counts_bytes) continue;
    span_launch letters = launch;
    letters.counted = bins::letters;
    const auto counts = counts_of(kernel, letters);
    CHECK(counts[0] == expected['a'] + expected['b'] + expected['c'] + expected['d']);
    CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == size);
  }
}

TEST_CASE("a block's counters do not overflow: 9 GiB of one letter on a grid for one multiprocessor") {
  if (no_device() || no_room_for(9 * gib)) return;
  device_bytes bytes(9 * gib);
  check_cuda(cudaMemset(bytes.get(), 'e', bytes.size()));
  for (const char* fast : {"lane_private", "bit_sliced", "vector_loads_16"}) {
    CAPTURE(fast);
    const auto counts =
        counts_of(*find_strategy(fast), {.bytes = bytes.get(), .size = 9 * gib, .counted = bins::letters});
    CHECK(counts[1] == 9 * gib);
    CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 9 * gib);
  }
}

TEST_CASE("count_device_span adds to the counters of the caller, from several threads and streams at once") {
  if (no_device()) return;
  constexpr std::size_t size = 1'000'003;
  constexpr int rounds = 10;
  const auto sample = contract::sample_bytes(size).front().bytes;
  device_bytes bytes(size);
  bytes.fill(sample);
  const counter_row row;
  const auto count = [&] {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < rounds; ++i) check_cuda(count_device_span(bytes.get() + 5, size - 9, row.get(), stream));
    check_cuda(cudaStreamSynchronize(stream));
    check_cuda(cudaStreamDestroy(stream));
  };
  check_cuda(cudaDeviceSynchronize());
  {
    std::array<std::jthread, 3> threads;
    for (auto& thread : threads) thread = std::jthread(count);
  }
  auto expected = contract::count_obviously(std::span(sample).subspan(5, size - 9), bins::bytes);
  for (auto& each : expected) each *= 3 * rounds;
  CHECK(row.read() == expected);
}

TEST_CASE("count_device_span can be captured into a graph and replayed") {
  if (no_device()) return;
  constexpr std::size_t size = 100'000;
  const auto sample = contract::sample_bytes(size).front().bytes;
  device_bytes bytes(size);
  bytes.fill(sample);
  const counter_row row;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  check_cuda(count_device_span(bytes.get(), size, row.get(), stream));
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&replay, graph, 0));
  check_cuda(cudaDeviceSynchronize());
  for (int i = 0; i < 3; ++i) check_cuda(cudaGraphLaunch(replay, stream));
  auto expected = contract::count_obviously(sample, bins::bytes);
  for (auto& each : expected) each *= 3;
  CHECK(row.read() == expected);
  check_cuda(cudaGraphExecDestroy(replay));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_CASE("a strategy that does not apply, and a null pointer, are errors and not a wrong count") {
  if (no_device()) return;
  const counter_row row;
  for (const strategy& kernel : catalogue()) {
    if (kernel.counts_bytes) continue;
    CHECK(kernel.launch({.bytes = nullptr, .size = 1, .counters = row.get()}, nullptr) == cudaErrorInvalidValue);
  }
  CHECK(count_device_span(nullptr, 1, row.get(), nullptr) == cudaErrorInvalidValue);
  CHECK(count_device_span(nullptr, 0, nullptr, nullptr) == cudaSuccess);
}

}  // namespace
}  // namespace gpuhist::bench::kernels
