#include "support/sparing_runtime.hpp"

#include "support/failing_resources.hpp"

#include <string>
#include <utility>

namespace gpuhist::test {
namespace {

namespace cuda = gpu::cuda;

class sparing_runtime final : public cuda::runtime {
 public:
  explicit sparing_runtime(std::unique_ptr<cuda::runtime> inner) : inner_(std::move(inner)) {}
  ~sparing_runtime() override {
    const spared uncounted;
    inner_.reset();
  }

  using result = cuda::result;
  result driver_version(int& out) override { return inner_->driver_version(out); }
  result runtime_version(int& out) override { return inner_->runtime_version(out); }
  result device_count(int& out) override { return inner_->device_count(out); }
  result properties(int device, cuda::device_properties& out) override {
    return call([&] { return inner_->properties(device, out); });
  }
  result use_device(int device) override {
    return call([&] { return inner_->use_device(device); });
  }
  result host_register(void* memory, std::size_t bytes) override {
    return call([&] { return inner_->host_register(memory, bytes); });
  }
  result host_unregister(void* memory) override {
    return call([&] { return inner_->host_unregister(memory); });
  }
  result device_allocate(void*& memory, std::size_t bytes) override {
    return call([&] { return inner_->device_allocate(memory, bytes); });
  }
  result device_free(void* memory) override {
    return call([&] { return inner_->device_free(memory); });
  }
  result stream_create(cuda::stream_handle& stream, cuda::stream_priority priority) override {
    return call([&] { return inner_->stream_create(stream, priority); });
  }
  result stream_destroy(cuda::stream_handle stream) override {
    return call([&] { return inner_->stream_destroy(stream); });
  }
  result event_create(cuda::event_handle& event) override {
    return call([&] { return inner_->event_create(event); });
  }
  result event_destroy(cuda::event_handle event) override {
    return call([&] { return inner_->event_destroy(event); });
  }
  result event_record(cuda::event_handle event, cuda::stream_handle stream) override {
    return call([&] { return inner_->event_record(event, stream); });
  }
  result event_synchronize(cuda::event_handle event) override {
    return call([&] { return inner_->event_synchronize(event); });
  }
  result event_elapsed(float& out, cuda::event_handle from, cuda::event_handle to) override {
    return call([&] { return inner_->event_elapsed(out, from, to); });
  }
  result copy_to_device(std::span<const cuda::device_copy> copies, cuda::stream_handle stream) override {
    return call([&] { return inner_->copy_to_device(copies, stream); });
  }
  result copy_to_host(void* to, const void* from, std::size_t bytes, cuda::stream_handle stream) override {
    return call([&] { return inner_->copy_to_host(to, from, bytes, stream); });
  }
  result clear(void* memory, std::size_t bytes, cuda::stream_handle stream) override {
    return call([&] { return inner_->clear(memory, bytes, stream); });
  }
  result count_lane_private(const cuda::kernel_launch& launch, cuda::stream_handle stream) override {
    return call([&] { return inner_->count_lane_private(launch, stream); });
  }
  result count_pair_private(const cuda::pair_launch& launch, cuda::stream_handle stream) override {
    return call([&] { return inner_->count_pair_private(launch, stream); });
  }
  result decode_frames(const cuda::frame_launch& launch, cuda::stream_handle stream) override {
    return call([&] { return inner_->decode_frames(launch, stream); });
  }
  result multiply_words(const cuda::product_launch& launch, cuda::stream_handle stream) override {
    return call([&] { return inner_->multiply_words(launch, stream); });
  }
  [[nodiscard]] std::string error_text(result code) const override { return inner_->error_text(code); }

 private:
  template <class Call>
  result call(Call function) {
    const spared uncounted;
    return function();
  }

  std::unique_ptr<cuda::runtime> inner_;
};

}  // namespace

std::unique_ptr<cuda::runtime> make_sparing_runtime(std::unique_ptr<cuda::runtime> inner) {
  return std::make_unique<sparing_runtime>(std::move(inner));
}

}  // namespace gpuhist::test
