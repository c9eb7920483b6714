// Readers of bit streams in the compressed bytes of a batch. They never read outside the words of their stream, and a
// reader that ran past its stream says so.
#pragma once

#include "gpu/host_device.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuhist::gpu::cuda::zstd {

GPUHIST_HOST_DEVICE inline std::uint32_t byte_at(const std::uint32_t* words, std::uint32_t at) {
  return reinterpret_cast<const std::uint8_t*>(words)[at];
}

/// Stores a word at an aligned address.
GPUHIST_HOST_DEVICE inline void store_word(std::uint8_t* to, std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<std::uint32_t*>(to) = word;
#else
  std::memcpy(to, &word, sizeof(word));
#endif
}

/// The number of the highest set bit; `value` is not zero.
GPUHIST_HOST_DEVICE inline std::uint32_t highest_bit(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return 31U - static_cast<std::uint32_t>(__clz(static_cast<int>(value)));
#else
  return 31U - static_cast<std::uint32_t>(__builtin_clz(value));
#endif
}

/// Four neighbouring words.
struct word_quad {
  std::uint32_t at[4];
};

/// Quad `index` of an array of words that is aligned to 16 bytes; one load on the device.
GPUHIST_HOST_DEVICE inline word_quad load_quad(const std::uint32_t* words, std::int32_t index) {
#if defined(__CUDA_ARCH__)
  const uint4 quad = __ldg(reinterpret_cast<const uint4*>(words) + index);
  return {{quad.x, quad.y, quad.z, quad.w}};
#else
  word_quad quad;
  std::memcpy(&quad, words + 4 * std::ptrdiff_t{index}, sizeof(quad));
  return quad;
#endif
}

/// Reads from the last bit of a stream to its first (RFC 8878, 4.1). The stream is loaded in quads of words. A quad is
/// loaded when the one after it is first used, so that a thread seldom waits for memory.
///
///     quads    | loading | ahead_  |  queue   |
///     stream        |begin                  1|end         the highest set bit of the last byte marks the end
///     window                            |<---|            the next bits are the highest ones of the window
class backward_bits {
 public:
  /// The stream [begin, end) of bytes. False: it is empty, or its last byte is zero.
  GPUHIST_HOST_DEVICE bool open(const std::uint32_t* words, std::uint32_t begin, std::uint32_t end) {
    words_ = words;
    if (begin >= end) return false;
    const std::uint32_t last = byte_at(words, end - 1);
    if (last == 0) return false;
    begin_bits_ = static_cast<std::int32_t>(begin % 16 * 8);
    first_quad_ = static_cast<std::int32_t>(begin / 16);
    next_quad_ = static_cast<std::int32_t>((end - 1) / 16);
    queue_ = load_quad(words, next_quad_);
    queued_ = 4;
    load_ahead();
    for (std::uint32_t i = (end - 1) % 16 / 4; i < 3; ++i) drop();
    available_ = static_cast<std::int32_t>((end - 1) % 4 * 8 + highest_bit(last));
    window_ = available_ == 0 ? 0 : std::uint64_t{queue_.at[3]} << (64 - available_);
    next();
    return true;
  }

  /// At least 33 bits are available after it; they have no meaning beyond the begin of the stream.
  GPUHIST_HOST_DEVICE void refill() {
    if (available_ > 32) return;
    window_ |= std::uint64_t{queue_.at[3]} << (32 - available_);
    available_ += 32;
    next();
  }

  /// The next `count` bits, 0 to 32. Precondition: they are available.
  GPUHIST_HOST_DEVICE std::uint32_t read(std::uint32_t count) {
    const auto value = static_cast<std::uint32_t>(window_ >> 1U >> (63 - count));
    skip(count);
    return value;
  }

  /// The next `count` bits, 1 to 32, which are not consumed.
  GPUHIST_HOST_DEVICE std::uint32_t peek(std::uint32_t count) const {
    return static_cast<std::uint32_t>(window_ >> (64 - count));
  }

  GPUHIST_HOST_DEVICE void skip(std::uint32_t count) {
    window_ <<= count;
    available_ -= static_cast<std::int32_t>(count);
  }

  /// The bits that are left; negative if more were consumed than the stream has.
  GPUHIST_HOST_DEVICE std::int32_t remaining() const {
    return available_ + 32 * queued_ + 128 * (next_quad_ - first_quad_ + 1) - begin_bits_;
  }

 private:
  GPUHIST_HOST_DEVICE void load_ahead() {
    --next_quad_;
    // Without a branch after the load, which would wait for it. Before the begin the stream repeats its first quad.
    ahead_ = load_quad(words_, next_quad_ > first_quad_ ? next_quad_ : first_quad_);
  }

  GPUHIST_HOST_DEVICE void drop() {
    queue_.at[3] = queue_.at[2];
    queue_.at[2] = queue_.at[1];
    queue_.at[1] = queue_.at[0];
    --queued_;
  }

  GPUHIST_HOST_DEVICE void next() {
    drop();
    if (queued_ != 0) return;
    queue_ = ahead_;
    queued_ = 4;
    load_ahead();
  }

  const std::uint32_t* words_ = nullptr;
  std::uint64_t window_ = 0;
  word_quad queue_{};  // the next word is the last one
  word_quad ahead_{};  // the quad with the number next_quad_
  std::int32_t queued_ = 0;
  std::int32_t available_ = 0;
  std::int32_t next_quad_ = 0;
  std::int32_t first_quad_ = 0;
  std::int32_t begin_bits_ = 0;
};

/// Reads from the first bit to the last, as the distributions of FSE are written (RFC 8878, 4.1.1). Bits after the end
/// are zero; the caller compares bytes_read() with the length.
class forward_bits {
 public:
  GPUHIST_HOST_DEVICE forward_bits(const std::uint32_t* words, std::uint32_t begin, std::uint32_t end)
      : words_(words), begin_(begin), end_(end) {}

  /// The next 16 bits, which are not consumed.
  GPUHIST_HOST_DEVICE std::uint32_t peek16() const {
    const std::uint32_t at = begin_ + bit_ / 8;
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (at + i < end_) value |= byte_at(words_, at + i) << (8 * i);
    }
    return value >> bit_ % 8 & 0xffffU;
  }

  GPUHIST_HOST_DEVICE void skip(std::uint32_t count) { bit_ += count; }
  GPUHIST_HOST_DEVICE std::uint32_t bytes_read() const { return (bit_ + 7) / 8; }

 private:
  const std::uint32_t* words_;
  std::uint32_t begin_;
  std::uint32_t end_;
  std::uint32_t bit_ = 0;
};

}  // namespace gpuhist::gpu::cuda::zstd
