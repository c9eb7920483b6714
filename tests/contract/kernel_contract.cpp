#include "contract/kernel_contract.hpp"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string_view>

namespace gpuhist::gpu::contract {
namespace {

using bench::kernels::strategy;
using cuda::kernels::bins;
using cuda::kernels::span_launch;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::size_t data_bytes = 3 * mib + 77;

// Number of bytes of one letter before and after the data on the device. If they are counted, the counts are too large.
constexpr std::size_t margin = 512;
constexpr std::uint8_t canary_byte = 'm';

// A row of counters is followed by a counter that must not change. Counters begin close to the limit of 32 bits.
constexpr std::size_t row_counters = cuda::kernels::max_bins + 1;
constexpr unsigned long long canary_count = 0xfeedfacecafebeefULL;

unsigned long long count_before(std::size_t bucket) { return 0xfffffff0ULL + bucket; }

/// One span of one sample, and the parameters of its launch.
struct span_case {
  std::size_t data = 0;
  std::size_t begin = 0;
  std::size_t size = 0;
  int multiprocessors = 1;
  unsigned coarsening = 0;
};

std::vector<std::size_t> interesting_sizes() {
  std::vector<std::size_t> sizes{0, 1, 2, 15, 16, 17, 31, 32, 33, 127, 128, 129, 255, 1000, 3 * mib + 5};
  for (const std::size_t tile : {4 * kib, 8 * kib, 16 * kib, 32 * kib, 64 * kib, mib}) {
    sizes.insert(sizes.end(), {tile - 1, tile, tile + 1});
  }
  return sizes;
}

// Every alignment with small sizes, every size with every sample, and grids from two blocks to many.
std::vector<span_case> cases_for(const strategy& kernel, std::size_t samples, int multiprocessors) {
  std::vector<span_case> cases;
  for (std::size_t begin = 0; begin < 16; ++begin) {
    for (const std::size_t size : {1U, 15U, 16U, 17U, 33U, 300U, 40001U})
      cases.push_back({.begin = begin, .size = size});
  }
  for (const std::size_t begin : {112U, 127U, 128U, 129U}) cases.push_back({.begin = begin, .size = 5000});
  for (std::size_t data = 0; data < samples; ++data) {
    for (const std::size_t size : interesting_sizes()) {
      if (size + 1 >= mib && data % 4 != 0) continue;  // large sizes only for two samples: sanitizers are slow
      const int grid = size % 2 == 0 ? multiprocessors : static_cast<int>(1 + data);
      cases.push_back({.data = data, .begin = (size + data) % 72, .size = size, .multiprocessors = grid});
    }
  }
  if (kernel.has_coarsening) {
    for (const unsigned coarsening : {1U, 3U, 16U, 1000U}) {
      cases.push_back({.begin = 5, .size = 70001, .coarsening = coarsening});
    }
  }
  return cases;
}

std::vector<std::uint8_t> from_text(std::size_t size) {
  constexpr std::string_view text = "the quick brown fox jumps over the lazy dog; PACK my box with 5 dozen jugs {`~}\n";
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(text[(i + i / 997) % text.size()]);
  return bytes;
}

}  // namespace

void check_cuda(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorName(code));
}

device_bytes::device_bytes(std::size_t size) : size_(size) {
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&memory_), std::max<std::size_t>(size, 1)));
}
device_bytes::~device_bytes() { static_cast<void>(cudaFree(memory_)); }
void device_bytes::fill(std::span<const std::uint8_t> with, std::size_t at) {
  check_cuda(cudaMemcpy(memory_ + at, with.data(), with.size(), cudaMemcpyHostToDevice));
}
void device_bytes::clear() { check_cuda(cudaMemset(memory_, 0, size_)); }

std::vector<sample_data> sample_bytes(std::size_t size) {
  std::mt19937 random(20);
  std::vector<sample_data> samples(5);
  samples[0] = {"random", std::vector<std::uint8_t>(size)};
  for (auto& byte : samples[0].bytes) byte = static_cast<std::uint8_t>(random());
  samples[1] = {"text", from_text(size)};
  samples[2] = {"runs of every value", std::vector<std::uint8_t>(size)};
  for (std::size_t i = 0; i < size; ++i) samples[2].bytes[i] = static_cast<std::uint8_t>(i / 700);
  samples[3] = {"sawtooth", std::vector<std::uint8_t>(size)};
  for (std::size_t i = 0; i < size; ++i) samples[3].bytes[i] = static_cast<std::uint8_t>(i);
  samples[4] = {"one letter", std::vector<std::uint8_t>(size, 'e')};
  return samples;
}

std::vector<std::uint64_t> count_obviously(std::span<const std::uint8_t> bytes, bins counted) {
  constexpr std::string_view buckets[] = {"abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx", "yz"};
  std::vector<std::uint64_t> of_value(256);
  for (const std::uint8_t byte : bytes) ++of_value[byte];
  if (counted == bins::bytes) return of_value;
  std::vector<std::uint64_t> counts(8);
  counts[7] = bytes.size();
  for (std::size_t bucket = 0; bucket < 7; ++bucket) {
    for (const char letter : buckets[bucket]) {
      counts[bucket] += of_value[static_cast<std::uint8_t>(letter)];
      counts[7] -= of_value[static_cast<std::uint8_t>(letter)];
    }
  }
  return counts;
}

struct kernel_bench::state {
  std::vector<sample_data> samples = sample_bytes(data_bytes);
  std::vector<std::unique_ptr<device_bytes>> on_device;
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;

  void launch(const strategy& kernel, bins counted, const span_case& each, unsigned long long* row, void* scratch,
              std::size_t scratch_bytes) {
    if (scratch_bytes != 0) check_cuda(cudaMemsetAsync(scratch, 0, scratch_bytes, stream));
    check_cuda(kernel.launch({.bytes = on_device[each.data]->get() + margin + each.begin,
                              .size = each.size,
                              .counters = row,
                              .counted = counted,
                              .scratch = scratch,
                              .multiprocessors = each.multiprocessors,
                              .coarsening = each.coarsening},
                             stream));
  }

  // Queues all cases, one row each, before the first is checked.
  std::vector<unsigned long long> count_all(const strategy& kernel, bins counted, const std::vector<span_case>& cases) {
    const std::size_t counters = cuda::kernels::count_of(counted);
    std::vector<unsigned long long> rows(cases.size() * row_counters, canary_count);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (std::size_t k = 0; k < counters; ++k) rows[i * row_counters + k] = count_before(k);
    }
    device_bytes memory(rows.size() * sizeof rows[0]);
    memory.fill({reinterpret_cast<const std::uint8_t*>(rows.data()), memory.size()});
    auto* const device_rows = reinterpret_cast<unsigned long long*>(memory.get());
    const std::size_t scratch_bytes =
        kernel.scratch_bytes == nullptr ? 0 : kernel.scratch_bytes(counted, multiprocessors + 8);
    device_bytes scratch(scratch_bytes);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      launch(kernel, counted, cases[i], device_rows + i * row_counters, scratch.get(), scratch_bytes);
    }
    check_cuda(cudaStreamSynchronize(stream));
    check_cuda(cudaMemcpy(rows.data(), device_rows, memory.size(), cudaMemcpyDeviceToHost));
    return rows;
  }

  void check_rows(const strategy& kernel, bins counted) {
    const auto cases = cases_for(kernel, samples.size(), multiprocessors);
    const auto rows = count_all(kernel, counted, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const span_case& each = cases[i];
      const std::span bytes(samples[each.data].bytes);
      const auto counts = count_obviously(bytes.subspan(each.begin, each.size), counted);
      std::vector<unsigned long long> expected(row_counters, canary_count);
      for (std::size_t k = 0; k < counts.size(); ++k) expected[k] = count_before(k) + counts[k];
      CAPTURE(samples[each.data].name);
      CAPTURE(each.begin);
      CAPTURE(each.size);
      CAPTURE(each.multiprocessors);
      CAPTURE(each.coarsening);
      CHECK(std::equal(expected.begin(), expected.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * row_counters)));
    }
  }
};

kernel_bench::kernel_bench() : state_(std::make_unique<state>()) {
  int device = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&state_->multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check_cuda(cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking));
  for (const sample_data& sample : state_->samples) {
    std::vector<std::uint8_t> surrounded(sample.bytes.size() + 2 * margin, canary_byte);
    std::copy(sample.bytes.begin(), sample.bytes.end(), surrounded.begin() + margin);
    state_->on_device.push_back(std::make_unique<device_bytes>(surrounded.size()));
    state_->on_device.back()->fill(surrounded);
  }
}

kernel_bench::~kernel_bench() { static_cast<void>(cudaStreamDestroy(state_->stream)); }

void kernel_bench::keeps_the_contract(const strategy& kernel) {
  for (const bins counted : {bins::letters, bins::bytes}) {
    if (!kernel.applies_to(counted)) continue;
    const std::string name(kernel.name);
    CAPTURE(name);
    CAPTURE(cuda::kernels::count_of(counted));
    state_->check_rows(kernel, counted);
  }
}

}  // namespace gpuhist::gpu::contract
