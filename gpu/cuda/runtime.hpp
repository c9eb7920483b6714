// An interface to the CUDA calls that the engine makes. The real implementation calls the CUDA runtime. Tests use
// implementations on host memory and threads, or whose n-th call fails. This header needs no CUDA headers.
#pragma once

#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/part_segment.hpp"
#include "gpu/cuda/zstd/text_division.hpp"
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
  std::string pci_bus_id{};  ///< in the format of sysfs, "0000:3b:00.0"; empty if unknown
  bool prohibited = false;   ///< its compute mode prohibits any use

  // The tuning of the kernel depends on these.
  std::size_t shared_bytes = 0;        ///< shared memory of a multiprocessor
  std::size_t shared_bytes_block = 0;  ///< part of it that one block may use at most (opt-in)
  int threads = 0;                     ///< maximum resident on a multiprocessor
  std::size_t l2_bytes = 0;
};

/// One launch of a kernel over a chunk in device memory. `rows` (a row for each extent: 256 counts for the counting
/// kernel) is zero before it runs.
struct kernel_launch {
  const std::byte* bytes = nullptr;  ///< device memory, aligned to 256
  const extent* extents = nullptr;   ///< device memory
  std::uint32_t extent_count = 0;
  std::uint32_t* rows = nullptr;  ///< device memory
  std::uint32_t chunk_bytes = 0;
  int multiprocessors = 1;
};

/// One launch of the kernel that counts pairs of classes. A row has classes x classes counts, row-major: class of the
/// first byte, class of the second.
struct pair_launch {
  kernel_launch chunk;
  const partition* classes = nullptr;  ///< host memory, copied by the launch; at most 32 classes
};

/// Decodes groups of zstd frames in device memory, counts their text, and measures its units. All pointers are of
/// device memory.
struct frame_launch {
  zstd::batch_buffers batch;
  std::span<const zstd::part_segment> in_parts{};  ///< the frames in parts, in host memory; for the call only
  extent* extents = nullptr;        ///< one for each frame; the launch fills it with the text of decoded frames
  std::uint32_t* rows = nullptr;    ///< one for each frame and cut, zero; scratch memory
  std::uint32_t* totals = nullptr;  ///< one row for each slice of a group: the sums of its rows
  zstd::text_division division;     ///< of the text and the extents above
  int multiprocessors = 1;
  units::unit_launch units{};  ///< of the text and the extents above; without text: units are not measured
  bool is_step = false;        ///< some blocks of the only frame (zstd/steps.hpp); another step follows
  const std::uint8_t* text_before = nullptr;  ///< the text of the step before; null: there is none
};

/// products[i] = words[i] * zstd::xxh64::prime2, in device memory aligned to 16.
struct product_launch {
  const std::uint64_t* words = nullptr;
  std::uint64_t* products = nullptr;
  std::size_t count = 0;  ///< a multiple of 4
};

/// Whose kernels begin first when a device has free room.
enum class stream_priority : std::uint8_t { usual, urgent };

/// A copy from host memory to device memory.
struct device_copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

/// Each call returns the error code of the runtime, which `error_text` explains. Calls may come from any thread; each
/// thread has its own current device, as in CUDA.
class runtime {
 public:
  runtime() = default;
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  virtual ~runtime() = default;

  /// Whether gpuhist was built with CUDA.
  [[nodiscard]] virtual bool built_in() const { return true; }

  // These four create no context.
  virtual result driver_version(int& version) = 0;  ///< newest CUDA version of the driver, 13000 for 13.0; 0: no driver
  virtual result runtime_version(int& version) = 0;  ///< 13000 for CUDA 13.0
  virtual result device_count(int& count) = 0;
  virtual result properties(int device, device_properties& out) = 0;

  virtual result use_device(int device) = 0;

  virtual result host_register(void* memory, std::size_t bytes) = 0;
  virtual result host_unregister(void* memory) = 0;
  virtual result device_allocate(void*& memory, std::size_t bytes) = 0;
  virtual result device_free(void* memory) = 0;

  virtual result stream_create(stream_handle& stream, stream_priority priority) = 0;  ///< never the default stream
  virtual result stream_destroy(stream_handle stream) = 0;
  virtual result event_create(event_handle& event) = 0;  ///< with timing; waiting on it blocks, it does not spin
  virtual result event_destroy(event_handle event) = 0;
  virtual result event_record(event_handle event, stream_handle stream) = 0;
  virtual result event_synchronize(event_handle event) = 0;
  virtual result event_elapsed(float& milliseconds, event_handle from, event_handle to) = 0;

  /// All copies, in any order, before later work of the stream.
  virtual result copy_to_device(std::span<const device_copy> copies, stream_handle stream) = 0;
  virtual result copy_to_host(void* to, const void* from, std::size_t bytes, stream_handle stream) = 0;
  virtual result clear(void* memory, std::size_t bytes, stream_handle stream) = 0;
  virtual result count_lane_private(const kernel_launch& launch, stream_handle stream) = 0;
  virtual result count_pair_private(const pair_launch& launch, stream_handle stream) = 0;
  virtual result decode_frames(const frame_launch& launch, stream_handle stream) = 0;
  virtual result multiply_words(const product_launch& launch, stream_handle stream) = 0;

  /// The name and text of CUDA for a code: "cudaErrorMemoryAllocation: out of memory".
  [[nodiscard]] virtual std::string error_text(result code) const = 0;
};

/// The real runtime; without CUDA, a runtime that has no device.
std::unique_ptr<runtime> make_runtime();

}  // namespace gpuhist::gpu::cuda
