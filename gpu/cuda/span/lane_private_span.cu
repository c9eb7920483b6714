// lane_private over one span of device memory, the kernel of count_device_span. Each block keeps copies of the 256
// counters in shared memory, 64 of them on compute capability 8.0 and later, otherwise 32. Lane l of every warp adds to
// a copy in bank l (see the diagram in lane_counters.hpp).
//
// Performance considerations: the 32 lanes of a warp always add in 32 different banks, so text, noise and one repeated
// letter cost the same. The additions return nothing, so no lane waits for one (SASS: ATOMS.POPC.INC.32 RZ). With 64
// copies the address of a counter is one PRMT of the word: two instructions per byte, where 32 copies take three
// (sm_90; two loads of 16 bytes and their loop: 83 and 115 instructions). A thread has 4 loads of 16 bytes in flight
// while it counts the previous 4 (2 and 2 with 32 copies). Blocks read interleaved tiles, so that all of them read
// neighbouring memory. Clear and fold move 16 bytes per instruction without bank conflicts.
//
// Source: one copy per thread or lane is from Podlozhnyuk, "Histogram calculation in CUDA", NVIDIA, 2007 (histogram64);
// counters interleaved by bank and copies shared by a warp are from Nugteren et al., "High performance predictable
// histogramming on GPUs", GPGPU-4, 2011.
#include "gpu/cuda/span/lane_private_span.cuh"
#include "gpu/cuda/span/lane_private_span.hpp"

#include <utility>

namespace gpuhist::gpu::cuda::kernels {
namespace {

cudaError_t attribute(cudaDeviceAttr which, int device, int& value) {
  return cudaDeviceGetAttribute(&value, which, device);  // cached by the runtime: the driver does not query the device
}

// The properties of the current device that determine the tuning.
cudaError_t current_device(kernel_device& out) {
  int device = 0;
  int shared = 0;
  int shared_block = 0;
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) code = attribute(cudaDevAttrComputeCapabilityMajor, device, out.compute_major);
  if (code == cudaSuccess) code = attribute(cudaDevAttrComputeCapabilityMinor, device, out.compute_minor);
  if (code == cudaSuccess) code = attribute(cudaDevAttrMultiProcessorCount, device, out.multiprocessors);
  if (code == cudaSuccess) code = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device, out.threads);
  if (code == cudaSuccess) code = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device, shared);
  if (code == cudaSuccess) code = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device, shared_block);
  out.shared_bytes = static_cast<std::size_t>(shared);
  out.shared_bytes_block = static_cast<std::size_t>(shared_block);
  return code;
}

template <std::size_t... Which>
cudaError_t launch_shipped(const kernel_tuning& tuning, const span_launch& launch, cudaStream_t stream,
                           std::index_sequence<Which...>) {
  cudaError_t code = cudaErrorNotSupported;
  const auto launch_if = [&]<std::size_t This>() {
    if (tuning != shipped_tunings[This]) return false;
    code = launch_tuned<shipped_tunings[This]>(launch, stream);
    return true;
  };
  static_cast<void>((launch_if.template operator()<Which>() || ...));
  return code;
}

}  // namespace

cudaError_t launch_lane_private_span(const span_launch& launch, cudaStream_t stream) {
  kernel_device device;
  if (const cudaError_t code = current_device(device); code != cudaSuccess) return code;
  return launch_shipped(tuning_for(device), launch, stream, std::make_index_sequence<shipped_tunings.size()>());
}

}  // namespace gpuhist::gpu::cuda::kernels
