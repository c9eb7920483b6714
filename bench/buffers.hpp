// The device memory that kernels count: buffers with the same bytes, used in turn, and together larger than any cache.
#pragma once

#include "bench/cuda.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace gpuhist::bench {

/// Used by one thread.
class buffers {
 public:
  /// Allocates device memory for spans of each of these sizes that fits the device.
  buffers(std::span<const std::uint64_t> sizes, const machine& device);

  /// Whether a span of this size fits.
  [[nodiscard]] bool holds(std::uint64_t size) const;

  /// Fills buffers of `size` bytes with the repeated pattern, and waits for it.
  void fill(std::span<const std::uint8_t> pattern, std::uint64_t size, const stream& on);

  /// The next buffer, in turn.
  std::span<const std::uint8_t> next();

 private:
  std::uint64_t l2_bytes_;
  std::uint64_t capacity_;
  std::unique_ptr<device_bytes> memory_;
  std::uint64_t size_ = 0;
  std::size_t count_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace gpuhist::bench
