// Reads the bits of deflate data (RFC 1951), least significant first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gpuhist::io {

/// A position in deflate data. After the end of the data all bits are zero: callers compare position() with end().
class deflate_bits {
 public:
  /// Readable bytes that must follow the data in memory, all zero.
  static constexpr std::size_t padding = 16;

  /// Bits that a refill() makes available at least.
  static constexpr unsigned refilled = 56;

  /// `data` without its padding. It must outlive this object.
  explicit deflate_bits(std::span<const std::byte> data, std::uint64_t position = 0) : data_(data) { seek(position); }

  void seek(std::uint64_t position) {
    next_ = static_cast<std::size_t>(position / 8);
    bits_ = 0;
    count_ = 0;
    refill();
    take(static_cast<unsigned>(position % 8));
  }

  [[nodiscard]] std::uint64_t position() const { return std::uint64_t{8} * next_ - count_; }
  [[nodiscard]] std::uint64_t end() const { return std::uint64_t{8} * data_.size(); }
  [[nodiscard]] bool is_past_end() const { return position() > end(); }
  [[nodiscard]] std::span<const std::byte> data() const { return data_; }

  /// The next bits; refill() decides how many are valid.
  [[nodiscard]] std::uint64_t peek() const { return bits_; }

  void take(unsigned bits) {
    bits_ >>= bits;
    count_ -= bits;
  }

  //     bits_:  | next bytes, incomplete | count_ valid bits |     the incomplete byte is loaded again by the next
  //     refill
  void refill() {
    if (!is_spent()) bits_ |= load(next_) << count_;
    next_ += (63 - count_) / 8;
    count_ |= refilled;
  }

  /// Whether refill() no longer loads data: the position is past the end, or at most 63 bits before it.
  [[nodiscard]] bool is_spent() const { return next_ > data_.size() + padding - sizeof bits_; }

  /// At most 32 bits.
  std::uint32_t read(unsigned bits) {
    refill();
    const auto value = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << bits) - 1));
    take(bits);
    return value;
  }

 private:
  [[nodiscard]] std::uint64_t load(std::size_t at) const {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t word = 0;
    std::memcpy(&word, data_.data() + at, sizeof word);
    return word;
  }

  std::span<const std::byte> data_;
  std::size_t next_ = 0;  // byte that the next refill() loads first
  std::uint64_t bits_ = 0;
  unsigned count_ = 0;  // valid bits of bits_
};

}  // namespace gpuhist::io
