// The runtime of a gpuhist that was built without CUDA: it has no device.
#include "gpu/cuda/runtime.hpp"

namespace gpuhist::gpu::cuda {
namespace {

constexpr result no_device = 100;  // cudaErrorNoDevice

class absent_runtime final : public runtime {
 public:
  [[nodiscard]] bool built_in() const override { return false; }
  result driver_version(int&) override { return no_device; }
  result runtime_version(int&) override { return no_device; }
  result device_count(int& count) override {
    count = 0;
    return no_device;
  }
  result properties(int, device_properties&) override { return no_device; }
  result use_device(int) override { return no_device; }
  result host_register(void*, std::size_t) override { return no_device; }
  result host_unregister(void*) override { return no_device; }
  result device_allocate(void*&, std::size_t) override { return no_device; }
  result device_free(void*) override { return no_device; }
  result stream_create(stream_handle&, stream_priority) override { return no_device; }
  result stream_destroy(stream_handle) override { return no_device; }
  result event_create(event_handle&) override { return no_device; }
  result event_destroy(event_handle) override { return no_device; }
  result event_record(event_handle, stream_handle) override { return no_device; }
  result event_synchronize(event_handle) override { return no_device; }
  result event_elapsed(float&, event_handle, event_handle) override { return no_device; }
  result copy_to_device(std::span<const device_copy>, stream_handle) override { return no_device; }
  result copy_to_host(void*, const void*, std::size_t, stream_handle) override { return no_device; }
  result clear(void*, std::size_t, stream_handle) override { return no_device; }
  result count_lane_private(const kernel_launch&, stream_handle) override { return no_device; }
  result count_pair_private(const pair_launch&, stream_handle) override { return no_device; }
  result decode_frames(const frame_launch&, stream_handle) override { return no_device; }
  result multiply_words(const product_launch&, stream_handle) override { return no_device; }

  [[nodiscard]] std::string error_text(result) const override { return "this gpuhist was built without CUDA"; }
};

}  // namespace

std::unique_ptr<runtime> make_runtime() { return std::make_unique<absent_runtime>(); }

}  // namespace gpuhist::gpu::cuda
