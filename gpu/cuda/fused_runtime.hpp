// The runtime of one device, with a fuse: after an error that means that the device has failed, no further call reaches
// the device. On a corrupted context further calls return errors; on a lost device they may hang.
#pragma once

#include "gpu/cuda/error.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/process_end.hpp"

#include <atomic>
#include <string>
#include <utility>

namespace gpuhist::gpu::cuda {

/// Forwards calls to a runtime that outlives it, until the fuse blows; after that each call returns the error that blew
/// the fuse. Serves one device, which is current on every calling thread. As thread-safe as the runtime. A call that is
/// in progress on another thread when the fuse blows continues.
class fused_runtime final : public runtime {
 public:
  explicit fused_runtime(runtime& inner) : inner_(inner) {}

  [[nodiscard]] bool is_blown() const { return error_ != success; }

  [[nodiscard]] bool built_in() const override { return inner_.built_in(); }
  result driver_version(int& version) override { return inner_.driver_version(version); }
  result runtime_version(int& version) override { return inner_.runtime_version(version); }
  result device_count(int& count) override {
    return guarded([&] { return inner_.device_count(count); });
  }
  result properties(int device, device_properties& out) override {
    return guarded([&] { return inner_.properties(device, out); });
  }
  result use_device(int device) override {
    return guarded([&] { return inner_.use_device(device); });
  }
  result host_register(void* memory, std::size_t bytes) override {
    // operating_system and not_supported: host memory was refused, the device is still usable
    if (const result blown = error_; blown != success) return blown;
    const result code = inner_.host_register(memory, bytes);
    return code == operating_system || code == not_supported ? code : noted(code);
  }
  result host_unregister(void* memory) override {
    return guarded([&] { return inner_.host_unregister(memory); });
  }
  result device_allocate(void*& memory, std::size_t bytes) override {
    return guarded([&] { return inner_.device_allocate(memory, bytes); });
  }
  result device_free(void* memory) override {
    return guarded([&] { return inner_.device_free(memory); });
  }
  result stream_create(stream_handle& stream, stream_priority priority) override {
    return guarded([&] { return inner_.stream_create(stream, priority); });
  }
  result stream_destroy(stream_handle stream) override {
    return guarded([&] { return inner_.stream_destroy(stream); });
  }
  result event_create(event_handle& event) override {
    return guarded([&] { return inner_.event_create(event); });
  }
  result event_destroy(event_handle event) override {
    return guarded([&] { return inner_.event_destroy(event); });
  }
  result event_record(event_handle event, stream_handle stream) override {
    return guarded([&] { return inner_.event_record(event, stream); });
  }
  result event_synchronize(event_handle event) override {
    return guarded([&] { return inner_.event_synchronize(event); });
  }
  result event_elapsed(float& milliseconds, event_handle from, event_handle to) override {
    return guarded([&] { return inner_.event_elapsed(milliseconds, from, to); });
  }
  result copy_to_device(std::span<const device_copy> copies, stream_handle stream) override {
    return guarded([&] { return inner_.copy_to_device(copies, stream); });
  }
  result copy_to_host(void* to, const void* from, std::size_t bytes, stream_handle stream) override {
    return guarded([&] { return inner_.copy_to_host(to, from, bytes, stream); });
  }
  result clear(void* memory, std::size_t bytes, stream_handle stream) override {
    return guarded([&] { return inner_.clear(memory, bytes, stream); });
  }
  result count_lane_private(const kernel_launch& launch, stream_handle stream) override {
    return guarded([&] { return inner_.count_lane_private(launch, stream); });
  }
  result count_pair_private(const pair_launch& launch, stream_handle stream) override {
    return guarded([&] { return inner_.count_pair_private(launch, stream); });
  }
  result decode_frames(const frame_launch& launch, stream_handle stream) override {
    return guarded([&] { return inner_.decode_frames(launch, stream); });
  }
  result multiply_words(const product_launch& launch, stream_handle stream) override {
    return guarded([&] { return inner_.multiply_words(launch, stream); });
  }
  [[nodiscard]] std::string error_text(result code) const override { return inner_.error_text(code); }

 private:
  template <class Call>
  result guarded(Call call) {
    if (const result blown = error_; blown != success) return blown;
    return noted(call());
  }

  result noted(result code) {
    if (leaves_the_device_well(code)) return code;
    error_ = code;
    note_lost_device();
    return code;
  }

  runtime& inner_;
  std::atomic<result> error_{success};
};

}  // namespace gpuhist::gpu::cuda
