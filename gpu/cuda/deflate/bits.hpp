// Reads the bits of a deflate stream, the lowest one of each byte first (RFC 1951, 3.1.1).
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

/// A place in the bits of a stream. It has no window of its own: every read loads two words, which the first-level
/// cache has, and a thread has less to keep and to move.
class forward_bits {
 public:
  static constexpr std::uint32_t max_bytes = std::uint32_t{1} << 28U;

  /// The stream [begin, end) of bytes, at most max_bytes. 8 more bytes are readable. Bits after the end have no
  /// meaning; ran_past_end() says that some were used.
  GPUHIST_HOST_DEVICE forward_bits(const std::uint32_t* words, std::uint32_t begin, std::uint32_t end)
      : words_(words + begin / 4),
        last_((end - begin / 4 * 4) / 4),
        at_(begin % 4 * 8),
        end_(8 * (end - begin / 4 * 4)) {}

  /// The next 32 bits, which are not consumed.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t peek() const {
    const std::uint32_t next = at_ / 32;
    const std::uint32_t* const from = words_ + (next < last_ ? next : last_);
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(__ldg(from), __ldg(from + 1), at_);
#else
    return static_cast<std::uint32_t>((std::uint64_t{from[1]} << 32U | from[0]) >> at_ % 32);
#endif
  }

  GPUHIST_HOST_DEVICE void skip(std::uint32_t count) { at_ += count; }

  /// The next `count` bits, fewer than 32.
  GPUHIST_HOST_DEVICE std::uint32_t read(std::uint32_t count) {
    const std::uint32_t value = peek() & ((std::uint32_t{1} << count) - 1);
    skip(count);
    return value;
  }

  GPUHIST_HOST_DEVICE void align_to_byte() { at_ = (at_ + 7) / 8 * 8; }

  [[nodiscard]] GPUHIST_HOST_DEVICE bool ran_past_end() const { return at_ > end_; }
  /// Whether the stream ends with the byte before the next bit, or with its byte.
  [[nodiscard]] GPUHIST_HOST_DEVICE bool is_at_end() const { return (at_ + 7) / 8 * 8 == end_; }

 private:
  const std::uint32_t* words_;
  std::uint32_t last_;  // the word with the end
  std::uint32_t at_;    // bits from the begin of the words
  std::uint32_t end_;
};

}  // namespace gpuhist::gpu::cuda::deflate
