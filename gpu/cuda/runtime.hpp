// The small table of CUDA calls that lanes make, as an interface: the real one talks to the device, tests hand in one
// that is backed by host memory and threads, or one whose n-th call fails. Nothing here needs CUDA's headers.
#pragma once

#include "gpu/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gpuhist::gpu::cuda {

/// A code of the CUDA runtime, 0 for success.
using result = int;

/// Opaque handles of the runtime (cudaStream_t, cudaEvent_t).
using stream_handle = void*;
using event_handle = void*;

struct device_properties {
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::string pci_bus_id{};  ///< as sysfs writes it, "0000:3b:00.0"; empty where there is none
  bool prohibited = false;   ///< its compute mode lets nobody use it

  // What the shape of the kernel depends on.
  std::size_t shared_bytes = 0;        ///< shared memory of a multiprocessor
  std::size_t shared_bytes_block = 0;  ///< of it, what one block may have when it asks
  int threads = 0;                     ///< that are resident on a multiprocessor at most
  std::size_t l2_bytes = 0;
};

/// One launch of the counting kernel over a chunk in device memory. `rows` (extents x 256) is zero before it runs.
struct kernel_launch {
  const std::byte* bytes = nullptr;  ///< device memory, aligned to 256
  const extent* extents = nullptr;   ///< device memory
  std::uint32_t extent_count = 0;
  std::uint32_t* rows = nullptr;  ///< device memory
  std::uint32_t chunk_bytes = 0;
  int multiprocessors = 1;
};

/// The calls. Every one returns the runtime's code; `error_text` explains it. Calls may come from any thread; the
/// current device is the calling thread's, as in CUDA.
class runtime {
 public:
  runtime() = default;
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  virtual ~runtime() = default;

  /// Whether CUDA was compiled in at all.
  [[nodiscard]] virtual bool built_in() const { return true; }

  // These four make no context.
  virtual result driver_version(int& version) = 0;  ///< 13000 for CUDA 13.0, the newest the driver can do; 0: no driver
  virtual result runtime_version(int& version) = 0;  ///< 13000 for CUDA 13.0
  virtual result device_count(int& count) = 0;
  virtual result properties(int device, device_properties& out) = 0;

  virtual result use_device(int device) = 0;

  virtual result host_register(void* memory, std::size_t bytes) = 0;
  virtual result host_unregister(void* memory) = 0;
  virtual result device_allocate(void*& memory, std::size_t bytes) = 0;
  virtual result device_free(void* memory) = 0;

  virtual result stream_create(stream_handle& stream) = 0;  ///< non-blocking: never the default stream
  virtual result stream_destroy(stream_handle stream) = 0;
  virtual result event_create(event_handle& event) = 0;  ///< with timing; waiting on it blocks, it does not spin
  virtual result event_destroy(event_handle event) = 0;
  virtual result event_record(event_handle event, stream_handle stream) = 0;
  virtual result event_synchronize(event_handle event) = 0;
  virtual result event_elapsed(float& milliseconds, event_handle from, event_handle to) = 0;

  virtual result copy_to_device(void* to, const void* from, std::size_t bytes, stream_handle stream) = 0;
  virtual result copy_to_host(void* to, const void* from, std::size_t bytes, stream_handle stream) = 0;
  virtual result clear(void* memory, std::size_t bytes, stream_handle stream) = 0;
  virtual result count_lane_private(const kernel_launch& launch, stream_handle stream) = 0;

  /// CUDA's name and sentence for a code: "cudaErrorMemoryAllocation: out of memory".
  [[nodiscard]] virtual std::string error_text(result code) const = 0;
};

/// The real runtime; a runtime without any device where gpuhist was built without CUDA.
std::unique_ptr<runtime> make_runtime();

}  // namespace gpuhist::gpu::cuda
