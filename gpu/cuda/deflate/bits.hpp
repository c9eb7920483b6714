// Reads the bits of a deflate stream, the lowest one of each byte first (RFC 1951, 3.1.1).
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

/// A place in the bits of a stream. It has no window of its own: every read loads two words, which the first-level
/// cache has, and a thread has less to keep and to move.
class forward_bits {
 public:
  /// The stream from `begin`, a bit, to `end`, a byte that is at most 2^28 bytes later. 8 more bytes are readable. Bits
  /// after the end have no meaning; ran_past_end() says that some were used.
  GPUHIST_HOST_DEVICE forward_bits(const std::uint32_t* words, std::uint64_t begin, std::uint64_t end)
      : words_(words + begin / 32),
        last_(static_cast<std::uint32_t>(end / 4 - begin / 32)),
        at_(static_cast<std::uint32_t>(begin % 32)),
        end_(static_cast<std::uint32_t>(8 * (end - begin / 32 * 4))) {}

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

  /// Word `ahead` after the one with the next bit. Zero: it is after the end.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t word(std::uint32_t ahead) const {
    const std::uint32_t which = at_ / 32 + ahead;
    return which <= last_ + 1 ? words_[which] : 0;
  }

  /// Bits until the end.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t left() const { return ran_past_end() ? 0 : end_ - at_; }

  GPUHIST_HOST_DEVICE void align_to_byte() { at_ = (at_ + 7) / 8 * 8; }

  [[nodiscard]] GPUHIST_HOST_DEVICE bool ran_past_end() const { return at_ > end_; }

  /// The next bit, counted from the begin of the word with the first one.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t place() const { return at_; }

 private:
  const std::uint32_t* words_;
  std::uint32_t last_;  // the word with the end
  std::uint32_t at_;    // bits from the begin of the words
  std::uint32_t end_;
};

}  // namespace gpuhist::gpu::cuda::deflate
