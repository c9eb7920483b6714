// The device memory that is counted: as many buffers with the same bytes, gone through in turn, as no cache can hold.
#pragma once

#include "bench/cuda.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace gpuhist::bench {

/// Used by one thread.
class buffers {
 public:
  /// Device memory for spans of every one of these sizes, as far as the device has it.
  buffers(std::span<const std::uint64_t> sizes, const machine& on);

  /// Whether a span of this size fits.
  [[nodiscard]] bool holds(std::uint64_t size) const;

  /// Fills buffers of `size` bytes with the pattern, repeated; waits until they are full.
  void fill(std::span<const std::uint8_t> pattern, std::uint64_t size, const stream& on);

  /// The next one, in turn.
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
