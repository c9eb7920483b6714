#include "support/failing_runtime.hpp"

#include <map>
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
    const result code = plan_->next("cudaGetDeviceCount", planned_failure::no_device);
    return code != 0 ? code : inner_->device_count(count);
  }
  result properties(int device, device_properties& out) override {
    const result code = plan_->next("cudaGetDeviceProperties", device);
    return code != 0 ? code : inner_->properties(device, out);
  }
  result use_device(int device) override {
    {
      const std::lock_guard lock(mutex_);
      current_[std::this_thread::get_id()] = device;
    }
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
  result stream_create(stream_handle& stream, stream_priority priority) override {
    return unless_planned("cudaStreamCreateWithPriority", [&] { return inner_->stream_create(stream, priority); });
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
  result copy_to_device(std::span<const device_copy> copies, stream_handle stream) override {
    const char* const call = copies.size() > 1 ? "cudaMemcpyBatchAsync" : "cudaMemcpyAsync";
    return unless_planned(call, [&] { return inner_->copy_to_device(copies, stream); });
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
  result count_pair_private(const pair_launch& launch, stream_handle stream) override {
    return unless_planned("cudaLaunchKernelExC", [&] { return inner_->count_pair_private(launch, stream); });
  }
  result decode_frames(const frame_launch& launch, stream_handle stream) override {
    return unless_planned("cudaLaunchKernelExC", [&] { return inner_->decode_frames(launch, stream); });
  }
  result multiply_words(const product_launch& launch, stream_handle stream) override {
    return unless_planned("cudaLaunchKernelExC", [&] { return inner_->multiply_words(launch, stream); });
  }
  [[nodiscard]] std::string error_text(result code) const override { return inner_->error_text(code); }

 private:
  template <class Call>
  result unless_planned(const char* name, Call call) {
    if (const result code = plan_->next(name, current_device()); code != 0) return code;
    return call();
  }

  result after(const char* name, result inner) {
    const result code = plan_->next(name, current_device());
    return code != 0 ? code : inner;
  }

  int current_device() {
    const std::lock_guard lock(mutex_);
    return current_[std::this_thread::get_id()];
  }

  std::unique_ptr<runtime> inner_;
  std::shared_ptr<planned_failure> plan_;
  std::mutex mutex_;
  std::map<std::thread::id, int> current_;
};

}  // namespace

result planned_failure::next(const char* name, int device) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  if (calls_ == call_) {
    failed_call_ = name;
    failed_device_ = device;
    informed_.insert(std::this_thread::get_id());
    if (on_failure) on_failure();
    return code_;
  }
  if (failed_call_.empty() || device != failed_device_) return 0;
  if (!informed_.insert(std::this_thread::get_id()).second) ++calls_after_failure_;
  return duration_ == kind::sticky ? code_ : 0;
}

unsigned planned_failure::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

unsigned planned_failure::calls_after_failure() const {
  const std::lock_guard lock(mutex_);
  return calls_after_failure_;
}

std::string planned_failure::failed_call() const {
  const std::lock_guard lock(mutex_);
  return failed_call_;
}

std::unique_ptr<runtime> make_failing_runtime(std::unique_ptr<runtime> inner, std::shared_ptr<planned_failure> plan) {
  return std::make_unique<failing_runtime>(std::move(inner), std::move(plan));
}

}  // namespace gpuhist::gpu::cuda
