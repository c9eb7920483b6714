// The real runtime: each function makes one CUDA call and returns its code.
#include "gpu/cuda/error.hpp"
#include "gpu/cuda/frames/frame_kernels.hpp"
#include "gpu/cuda/kernels/counting_kernels.hpp"
#include "gpu/cuda/runtime.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

namespace gpuhist::gpu::cuda {
namespace {

static_assert(success == cudaSuccess && out_of_memory == cudaErrorMemoryAllocation);
static_assert(operating_system == cudaErrorOperatingSystem && not_supported == cudaErrorNotSupported);

// The numbers in leaves_the_device_well().
static_assert(cudaErrorInvalidValue == 1 && cudaErrorInvalidConfiguration == 9 && cudaErrorInvalidDevice == 101);
static_assert(cudaErrorInvalidResourceHandle == 400 && cudaErrorLaunchOutOfResources == 701);
static_assert(cudaErrorHostMemoryAlreadyRegistered == 712 && cudaErrorHostMemoryNotRegistered == 713);

cudaStream_t as_stream(stream_handle handle) { return static_cast<cudaStream_t>(handle); }
cudaEvent_t as_event(event_handle handle) { return static_cast<cudaEvent_t>(handle); }

// The bus id in the format of sysfs (cudaDeviceGetPCIBusId writes capitals).
std::string bus_id_of(const cudaDeviceProp& properties) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", static_cast<unsigned>(properties.pciDomainID),
                static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
  return text.data();
}

cudaError_t copy_one(const device_copy& copy, cudaStream_t stream) {
  return cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyHostToDevice, stream);
}

cudaError_t copy_each(std::span<const device_copy> copies, cudaStream_t stream) {
  for (const device_copy& each : copies) {
    if (const cudaError_t code = copy_one(each, stream); code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

// The link rests for about 4 us between two copies, but not between those of one call: docs/tuning.md.
cudaError_t copy_together(std::span<const device_copy> copies, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  constexpr std::size_t most = 64;
  std::array<void*, most> to{};
  std::array<const void*, most> from{};
  std::array<std::size_t, most> bytes{};
  while (!copies.empty()) {
    const std::size_t count = std::min(most, copies.size());
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = copies[i].to;
      from[i] = copies[i].from;
      bytes[i] = copies[i].bytes;
    }
    cudaMemcpyAttributes all{};
    all.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    const cudaError_t code = cudaMemcpyBatchAsync(to.data(), from.data(), bytes.data(), count, &all, &first, 1, stream);
    if (code == cudaErrorNotSupported) return copy_each(copies, stream);
    if (code != cudaSuccess) return code;
    copies = copies.subspan(count);
  }
  return cudaSuccess;
#else
  return copy_each(copies, stream);
#endif
}

class device_runtime final : public runtime {
 public:
  result driver_version(int& version) override { return cudaDriverGetVersion(&version); }
  result runtime_version(int& version) override { return cudaRuntimeGetVersion(&version); }
  result device_count(int& count) override { return cudaGetDeviceCount(&count); }

  result properties(int device, device_properties& out) override {
    cudaDeviceProp found;
    if (const cudaError_t code = cudaGetDeviceProperties(&found, device); code != cudaSuccess) return code;
    int mode = cudaComputeModeDefault;
    if (const cudaError_t code = cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, device); code != cudaSuccess) {
      return code;
    }
    out = {.name = found.name,
           .compute_major = found.major,
           .compute_minor = found.minor,
           .multiprocessors = found.multiProcessorCount,
           .memory_bytes = found.totalGlobalMem,
           .pci_bus_id = bus_id_of(found),
           .prohibited = mode == cudaComputeModeProhibited,
           .shared_bytes = found.sharedMemPerMultiprocessor,
           .shared_bytes_block = found.sharedMemPerBlockOptin,
           .threads = found.maxThreadsPerMultiProcessor,
           .l2_bytes = static_cast<std::size_t>(found.l2CacheSize)};
    return success;
  }

  result use_device(int device) override {
    if (const cudaError_t code = cudaSetDevice(device); code != cudaSuccess) return code;
    return kernels::load_lane_private();
  }

  result host_register(void* memory, std::size_t bytes) override {
    return cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
  }
  result host_unregister(void* memory) override { return cudaHostUnregister(memory); }
  result device_allocate(void*& memory, std::size_t bytes) override { return cudaMalloc(&memory, bytes); }
  result device_free(void* memory) override { return cudaFree(memory); }

  result stream_create(stream_handle& stream, stream_priority priority) override {
    constexpr int greatest = -5;  // CUDA takes the greatest that the device has
    const int value = priority == stream_priority::urgent ? greatest : 0;
    cudaStream_t made = nullptr;
    const cudaError_t code = cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, value);
    stream = made;
    return code;
  }
  result stream_destroy(stream_handle stream) override { return cudaStreamDestroy(as_stream(stream)); }

  result event_create(event_handle& event) override {
    cudaEvent_t made = nullptr;
    const cudaError_t code = cudaEventCreateWithFlags(&made, cudaEventBlockingSync);
    event = made;
    return code;
  }
  result event_destroy(event_handle event) override { return cudaEventDestroy(as_event(event)); }
  result event_record(event_handle event, stream_handle stream) override {
    return cudaEventRecord(as_event(event), as_stream(stream));
  }
  result event_synchronize(event_handle event) override { return cudaEventSynchronize(as_event(event)); }
  result event_elapsed(float& milliseconds, event_handle from, event_handle to) override {
    return cudaEventElapsedTime(&milliseconds, as_event(from), as_event(to));
  }

  result copy_to_device(std::span<const device_copy> copies, stream_handle stream) override {
    return copies.size() > 1 ? copy_together(copies, as_stream(stream)) : copy_each(copies, as_stream(stream));
  }
  result copy_to_host(void* to, const void* from, std::size_t bytes, stream_handle stream) override {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, as_stream(stream));
  }
  result clear(void* memory, std::size_t bytes, stream_handle stream) override {
    return cudaMemsetAsync(memory, 0, bytes, as_stream(stream));
  }
  result count_lane_private(const kernel_launch& launch, stream_handle stream) override {
    return kernels::launch_lane_private(launch, as_stream(stream));
  }
  result count_pair_private(const pair_launch& launch, stream_handle stream) override {
    return kernels::launch_pair_private(launch, as_stream(stream));
  }
  result decode_frames(const frame_launch& launch, stream_handle stream) override {
    return frames::launch_frames(launch, as_stream(stream));
  }
  result multiply_words(const product_launch& launch, stream_handle stream) override {
    return frames::launch_products(launch, as_stream(stream));
  }

  [[nodiscard]] std::string error_text(result code) const override {
    const auto error = static_cast<cudaError_t>(code);
    return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  }
};

}  // namespace

std::unique_ptr<runtime> make_runtime() { return std::make_unique<device_runtime>(); }

}  // namespace gpuhist::gpu::cuda
