#include "gpuhist/device_span.hpp"

#include "gpu/cuda/span/lane_private_span.hpp"

namespace gpuhist {

cudaError_t count_device_span(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters,
                              cudaStream_t stream) {
  if (size == 0) return cudaSuccess;
  if (bytes == nullptr || counters == nullptr) return cudaErrorInvalidValue;
  int device = 0;
  int multiprocessors = 0;
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) code = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (code != cudaSuccess) return code;
  return gpu::cuda::kernels::launch_lane_private_span(
      {.bytes = bytes, .size = size, .counters = counters, .multiprocessors = multiprocessors}, stream);
}

}  // namespace gpuhist
