// The contract of every counting strategy of the catalogue, on the device: it adds the counts of the simple loop to the
// counters, for all bytes, sizes, alignments and numbers of blocks, and writes no other memory.
#pragma once

#include "bench/kernels/catalogue.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::gpu::contract {

/// Memory of the current device. Throws std::runtime_error with the name of the CUDA error.
class device_bytes {
 public:
  explicit device_bytes(std::size_t size);
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
  ~device_bytes();

  void fill(std::span<const std::uint8_t> with, std::size_t at = 0);
  void clear();

  [[nodiscard]] std::uint8_t* get() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::uint8_t* memory_ = nullptr;
  std::size_t size_;
};

/// Throws std::runtime_error unless the code is cudaSuccess.
void check_cuda(cudaError_t code);

/// Named sample data: random, text, every value, sawtooth, one letter.
struct sample_data {
  std::string name;
  std::vector<std::uint8_t> bytes;
};
std::vector<sample_data> sample_bytes(std::size_t size);

/// The counts of the simple loop: the oracle, which shares no code with any kernel.
std::vector<std::uint64_t> count_obviously(std::span<const std::uint8_t> bytes, cuda::kernels::bins counted);

/// The sample data on the device, surrounded by bytes that must not be counted. Several strategies can use it in turn.
class kernel_bench {
 public:
  kernel_bench();
  ~kernel_bench();
  kernel_bench(const kernel_bench&) = delete;
  kernel_bench& operator=(const kernel_bench&) = delete;

  /// Checks a strategy with doctest for the bins to which it applies: all sizes, alignments, data and grids.
  void keeps_the_contract(const bench::kernels::strategy& kernel);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gpuhist::gpu::contract
