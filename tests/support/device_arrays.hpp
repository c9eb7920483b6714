// Device memory for tests that call kernels.
#pragma once

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

namespace gpuhist::test {

/// Whether a test must be skipped, and says so.
inline bool no_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  const bool none = code != cudaSuccess || count == 0;
  if (none) std::printf("skipped: no CUDA device (%s)\n", cudaGetErrorString(code));
  return none;
}

inline void require(cudaError_t code) { REQUIRE(std::string(cudaGetErrorString(code)) == "no error"); }

/// Device memory of exactly this size, so that compute-sanitizer detects every access outside it.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) : bytes_(count * sizeof(T)) {
    require(cudaMalloc(&memory_, std::max<std::size_t>(bytes_, 1)));
  }
  device_array(const T* from, std::size_t count) : device_array(count) { copy_from(from, bytes_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(memory_); }

  void clear() { require(cudaMemset(memory_, 0, bytes_)); }
  void copy_from(const void* from, std::size_t bytes) {
    require(cudaMemcpy(memory_, from, bytes, cudaMemcpyHostToDevice));
  }
  void copy_to(void* to, std::size_t bytes) const { require(cudaMemcpy(to, memory_, bytes, cudaMemcpyDeviceToHost)); }
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

}  // namespace gpuhist::test
