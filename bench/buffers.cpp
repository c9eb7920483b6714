#include "bench/buffers.hpp"

#include "bench/schedule.hpp"

#include <algorithm>

namespace gpuhist::bench {
namespace {

std::uint64_t wanted_bytes(std::span<const std::uint64_t> sizes, std::uint64_t l2_bytes, std::uint64_t available) {
  std::uint64_t wanted = 0;
  for (const std::uint64_t size : sizes) {
    wanted = std::max(wanted, buffers_in_turn(size, l2_bytes, available) * buffer_stride(size));
  }
  return wanted;
}

}  // namespace

buffers::buffers(std::span<const std::uint64_t> sizes, const machine& device)
    : l2_bytes_(device.l2_bytes),
      capacity_(wanted_bytes(sizes, device.l2_bytes, available_device_bytes())),
      memory_(capacity_ == 0 ? nullptr : std::make_unique<device_bytes>(capacity_)) {}

bool buffers::holds(std::uint64_t size) const { return buffer_stride(size) <= capacity_; }

void buffers::fill(std::span<const std::uint8_t> pattern, std::uint64_t size, const stream& on) {
  size_ = size;
  count_ = buffers_in_turn(size, l2_bytes_, capacity_);
  turn_ = 0;
  std::byte* const first = memory_->as();
  std::uint64_t filled = std::min<std::uint64_t>(pattern.size(), size);
  check(cudaMemcpyAsync(first, pattern.data(), filled, cudaMemcpyHostToDevice, on.get()));
  while (filled < size) {  // doubles whole patterns, so that the repetition has no seam
    const std::uint64_t more = std::min(filled, size - filled);
    check(cudaMemcpyAsync(first + filled, first, more, cudaMemcpyDeviceToDevice, on.get()));
    filled += more;
  }
  for (std::size_t i = 1; i < count_; ++i) {
    check(cudaMemcpyAsync(first + i * buffer_stride(size), first, size, cudaMemcpyDeviceToDevice, on.get()));
  }
  on.wait();
}

std::span<const std::uint8_t> buffers::next() {
  const std::uint8_t* const at = memory_->as<const std::uint8_t>() + turn_ * buffer_stride(size_);
  turn_ = (turn_ + 1) % count_;
  return {at, size_};
}

}  // namespace gpuhist::bench
