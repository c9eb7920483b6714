#include "support/failing_runtime.hpp"

#include <utility>

namespace gpuhist::gpu::cuda {
namespace {

class failing_runtime final : public runtime {
 public:
  failing_runtime(std::unique_ptr<runtime> inner, std::shared_ptr<planned_failure> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  result driver_version(int& version) override { return inner_->driver_version(version); }
  result runtime_version(int& version) override { return inner_->runtime_version(version); }
  result device_count(int& count) override {
    return unless_planned("cudaGetDeviceCount", [&] { return inner_->device_count(count); });
  }
  result properties(int device, device_properties& out) override {
    return unless_planned("cudaGetDeviceProperties", [&] { return inner_->properties(device, out); });
  }
  result use_device(int device) override {
    return unless_planned("cudaSetDevice", [&] { return inner_->use_device(device); });
  }
  result host_register(void* memory, std::size_t bytes) override {
    return unless_planned("cudaHostRegister", [&] { return inner_->host_register(memory, bytes); });
  }
  result host_unregister(void* memory) override { return after("cudaHostUnregister", inner_->host_unregister(memory)); }
  result device_allocate(void*& memory, std::size_t bytes) override {
    return unless_planned("cudaMalloc", [&] { return inner_->device_allocate(memory, bytes); });
  }
  result device_free(void* memory) override { return after("cudaFree", inner_->device_free(memory)); }
  result stream_create(stream_handle& stream) override {
    return unless_planned("cudaStreamCreateWithFlags", [&] { return inner_->stream_create(stream); });
  }
  result stream_destroy(stream_handle stream) override {
    return after("cudaStreamDestroy", inner_->stream_destroy(stream));
  }
  result event_create(event_handle& event) override {
    return unless_planned("cudaEventCreateWithFlags", [&] { return inner_->event_create(event); });
  }
  result event_destroy(event_handle event) override { return after("cudaEventDestroy", inner_->event_destroy(event)); }
  result event_record(event_handle event, stream_handle stream) override {
    return unless_planned("cudaEventRecord", [&] { return inner_->event_record(event, stream); });
  }
  result event_synchronize(event_handle event) override {
    return unless_planned("cudaEventSynchronize", [&] { return inner_->event_synchronize(event); });
  }
  result event_elapsed(float& milliseconds, event_handle from, event_handle to) override {
    return unless_planned("cudaEventElapsedTime", [&] { return inner_->event_elapsed(milliseconds, from, to); });
  }
  result copy_to_device(void* to, const void* from, std::size_t bytes, stream_handle stream) override {
    return unless_planned("cudaMemcpyAsync", [&] { return inner_->copy_to_device(to, from, bytes, stream); });
  }
  result copy_to_host(void* to, const void* from, std::size_t bytes, stream_handle stream) override {
    return unless_planned("cudaMemcpyAsync", [&] { return inner_->copy_to_host(to, from, bytes, stream); });
  }
  result clear(void* memory, std::size_t bytes, stream_handle stream) override {
    return unless_planned("cudaMemsetAsync", [&] { return inner_->clear(memory, bytes, stream); });
  }
  result count_lane_private(const kernel_launch& launch, stream_handle stream) override {
    return unless_planned("cudaLaunchKernelExC", [&] { return inner_->count_lane_private(launch, stream); });
  }
  [[nodiscard]] std::string error_text(result code) const override { return inner_->error_text(code); }

 private:
  template <class Call>
  result unless_planned(const char* name, Call call) {
    if (const result code = plan_->next(name); code != 0) return code;
    return call();
  }

  result after(const char* name, result inner) {
    const result code = plan_->next(name);
    return code != 0 ? code : inner;
  }

  std::unique_ptr<runtime> inner_;
  std::shared_ptr<planned_failure> plan_;
};

}  // namespace

result planned_failure::next(const char* name) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  const bool fails = what_ == kind::once ? calls_ == call_ : calls_ >= call_;
  if (!fails) return 0;
  if (failed_call_.empty()) failed_call_ = name;
  return code_;
}

std::string planned_failure::failed_call() const {
  const std::lock_guard lock(mutex_);
  return failed_call_;
}

std::unique_ptr<runtime> make_failing_runtime(std::unique_ptr<runtime> inner, std::shared_ptr<planned_failure> plan) {
  return std::make_unique<failing_runtime>(std::move(inner), std::move(plan));
}

}  // namespace gpuhist::gpu::cuda
