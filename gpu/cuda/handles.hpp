// Owners of CUDA resources: stream, event, device memory, page-locked memory. Destructors ignore errors of the runtime
// (a driver that is being unloaded returns errors). The exception is page-locked memory that cannot be unregistered.
#pragma once

#include "gpu/cuda/call_site.hpp"
#include "gpu/cuda/error.hpp"
#include "gpu/cuda/kept_memory.hpp"
#include "gpu/cuda/runtime.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace gpuhist::gpu::cuda {

/// A non-blocking stream of the current device.
class stream {
 public:
  explicit stream(runtime& api, stream_priority priority = stream_priority::usual) : api_(api) {
    check(api_, api_.stream_create(handle_, priority), "making a stream (cudaStreamCreateWithPriority)");
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { static_cast<void>(api_.stream_destroy(handle_)); }

  [[nodiscard]] stream_handle get() const noexcept { return handle_; }

 private:
  runtime& api_;
  stream_handle handle_ = nullptr;
};

/// An event with timing of the current device.
class event {
 public:
  explicit event(runtime& api) : api_(api) {
    check(api_, api_.event_create(handle_), "making an event (cudaEventCreateWithFlags)");
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { static_cast<void>(api_.event_destroy(handle_)); }

  void record(const stream& on, call_site where = call_site::here()) {
    check(api_, api_.event_record(handle_, on.get()), "recording an event (cudaEventRecord)", where);
  }

  /// Blocks the thread until the recorded work has finished.
  void wait(call_site where = call_site::here()) {
    check(api_, api_.event_synchronize(handle_), "waiting for a chunk to be counted (cudaEventSynchronize)", where);
  }

  /// Seconds from `earlier` to this event, by the clock of the device. Both have been reached.
  [[nodiscard]] double seconds_since(const event& earlier, call_site where = call_site::here()) const {
    float milliseconds = 0;
    check(api_, api_.event_elapsed(milliseconds, earlier.handle_, handle_),
          "reading the time between events (cudaEventElapsedTime)", where);
    return static_cast<double>(milliseconds) * 1e-3;
  }

  /// Exchanges the handles of two events of one runtime.
  void swap(event& other) noexcept { std::swap(handle_, other.handle_); }

 private:
  runtime& api_;
  event_handle handle_ = nullptr;
};

/// Memory of the current device, aligned to 256 bytes.
class device_memory {
 public:
  device_memory(runtime& api, std::size_t bytes) : api_(api) {
    const result code = api_.device_allocate(memory_, bytes);
    if (code != success) {
      throw_error(api_, code, "allocating " + std::to_string(bytes) + " bytes of device memory (cudaMalloc)");
    }
  }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  ~device_memory() { static_cast<void>(api_.device_free(memory_)); }

  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(memory_);
  }

 private:
  runtime& api_;
  void* memory_ = nullptr;
};

/// Page-locked host memory on separate pages; not page-locked if the device does not support that. If it cannot be
/// unregistered, it is kept until the process ends.
class pinned_memory {
 public:
  pinned_memory(runtime& api, std::size_t bytes)
      : api_(api),
        page_(bytes < huge_page ? small_page : huge_page),
        bytes_((bytes + page_ - 1) / page_ * page_),
        memory_(allocated(bytes_, page_), deleter{std::align_val_t{page_}}),
        is_locked_(page_lock(api_, {as<std::byte>(), bytes_}, "", "for a lane")) {}
  pinned_memory(const pinned_memory&) = delete;
  pinned_memory& operator=(const pinned_memory&) = delete;
  ~pinned_memory() {
    if (is_locked_ && api_.host_unregister(memory_.get()) != success) keep_for_good(std::move(memory_));
  }

  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::size_t small_page = 4096;
  static constexpr std::size_t huge_page = std::size_t{1} << 21U;  // fewer pages to lock

  static void* allocated(std::size_t bytes, std::size_t page) {
    void* const memory = ::operator new(bytes, std::align_val_t{page});
    if (page == huge_page) ::madvise(memory, bytes, MADV_HUGEPAGE);  // optional
    return memory;
  }

  struct deleter {
    std::align_val_t alignment;
    void operator()(void* memory) const noexcept { ::operator delete(memory, alignment); }
  };

  runtime& api_;
  std::size_t page_;
  std::size_t bytes_;
  std::shared_ptr<void> memory_;
  bool is_locked_;
};

}  // namespace gpuhist::gpu::cuda
