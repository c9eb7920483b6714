// Checked CUDA calls, and owners of streams, events and device memory for the benchmarks.
#pragma once

#include "bench/measurement.hpp"
#include "gpu/cuda/call_site.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpuhist::bench {

/// Throws std::runtime_error with the CUDA error, file and line unless `code` is cudaSuccess.
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
  void wait() const { check(cudaStreamSynchronize(handle_)); }

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

  /// Seconds from `earlier` to this event. Waits for this event.
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

/// Free memory of the current device, less 512 MiB for contenders, for the memory of kernels and for other processes.
inline std::uint64_t available_device_bytes() {
  constexpr std::uint64_t reserve = std::uint64_t{512} << 20U;
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free > reserve ? free - reserve : 0;
}

/// The properties of the current device.
inline machine current_machine() {
  int device = 0;
  check(cudaGetDevice(&device));
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device));
  return {.device = properties.name,
          .multiprocessors = properties.multiProcessorCount,
          .l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize)};
}

}  // namespace gpuhist::bench
