// What the benchmarks share: checked CUDA calls, owners of what they measure with, medians, tables.
#pragma once

#include "gpu/cuda/call_site.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuhist::bench {

inline constexpr std::size_t mib = std::size_t{1} << 20U;
inline constexpr std::size_t gib = std::size_t{1} << 30U;

/// One subcommand: measures, prints a table to standard output. Throws std::runtime_error.
void measure_link();
void measure_kernels();

inline void check(cudaError_t code, gpu::cuda::call_site where = gpu::cuda::call_site::here()) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code) + " (" + where.file +
                           ":" + std::to_string(where.line) + ")");
}

class stream {
 public:
  stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { cudaStreamDestroy(handle_); }
  [[nodiscard]] cudaStream_t get() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

class event {
 public:
  event() { check(cudaEventCreate(&handle_)); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(handle_); }
  [[nodiscard]] cudaEvent_t get() const { return handle_; }
  void record(const stream& on) { check(cudaEventRecord(handle_, on.get())); }

  /// Waits for this one.
  [[nodiscard]] double seconds_since(const event& earlier) const {
    check(cudaEventSynchronize(handle_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.handle_, handle_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

class device_bytes {
 public:
  explicit device_bytes(std::size_t size) { check(cudaMalloc(&memory_, size)); }
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
  ~device_bytes() { cudaFree(memory_); }
  template <class T = std::byte>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

inline double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

inline double gigabytes_per_second(std::size_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds * 1e-9;
}

}  // namespace gpuhist::bench
