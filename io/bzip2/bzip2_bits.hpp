// Reads bits, most significant first, from bytes that arrive in spans of any size.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gpuhist::io {

/// The next 8 bytes as a number, the first byte in the most significant bits.
inline std::uint64_t load_big_endian(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word;
}

/// Bits that were read from the input and not consumed, and the input after them.
///
///     held_:  | count_ bits, the next one first | zeros |      at_: the next byte
///
/// need() reads no byte beyond the bits that it is asked for. So a caller that asks only for bits that the format
/// guarantees never takes a byte after the end of its stream, whatever the cuts of the input.
class bzip2_bits {
 public:
  /// Continues with the next bytes. The bytes before must have been used up.
  void feed(std::span<const std::byte> in) {
    begin_ = at_ = in.data();
    end_ = begin_ + in.size();
  }

  void clear() { *this = {}; }

  /// Whether at least `bits` (1 to 57) are held; reads bytes until they are.
  bool need(unsigned bits) {
    while (count_ < bits) {
      if (at_ == end_) return false;
      held_ |= std::to_integer<std::uint64_t>(*at_++) << (56U - count_);
      count_ += 8;
    }
    return true;
  }

  /// The first `bits` (1 to 32); zeros after the held ones.
  [[nodiscard]] std::uint32_t peek(unsigned bits) const { return static_cast<std::uint32_t>(held_ >> (64U - bits)); }

  [[nodiscard]] std::uint64_t held() const { return held_; }
  [[nodiscard]] unsigned count() const { return count_; }

  /// Consumes held bits, at most 57.
  void drop(unsigned bits) {
    held_ <<= bits;
    count_ -= bits;
  }

  /// need() was true for these bits: returns and consumes them.
  std::uint32_t take(unsigned bits) {
    const std::uint32_t value = peek(bits);
    drop(bits);
    return value;
  }

  /// Gives bytes of which no bit was consumed back to the input.
  void return_bytes() {
    const std::size_t whole = count_ / 8;
    const auto here = static_cast<std::size_t>(at_ - begin_);
    const std::size_t bytes = whole < here ? whole : here;
    at_ -= bytes;
    count_ -= static_cast<unsigned>(8 * bytes);
    held_ = count_ == 0 ? 0 : held_ >> (64U - count_) << (64U - count_);
  }

  /// Bytes of the fed span that were read.
  [[nodiscard]] std::size_t used() const { return static_cast<std::size_t>(at_ - begin_); }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  /// A copy for inner loops, in registers: no checks, and bits after the held ones that are not zero. Needs 8 bytes of
  /// input for each refill().
  struct fast {
    std::uint64_t held;
    unsigned count;
    const std::byte* at;
    const std::byte* last;  // the last position where 8 bytes can be loaded

    [[nodiscard]] bool can_refill() const { return at <= last; }

    /// Holds at least 56 bits afterwards.
    void refill() {
      held |= load_big_endian(at) >> count;
      at += (63U - count) >> 3U;
      count |= 56U;
    }

    void drop(unsigned bits) {
      held <<= bits;
      count -= bits;
    }
  };

  [[nodiscard]] bool has_fast() const { return left() >= sizeof(std::uint64_t); }
  [[nodiscard]] fast begin_fast() const { return {.held = held_, .count = count_, .at = at_, .last = end_ - 8}; }

  void end_fast(const fast& copy) {
    held_ = copy.held;
    count_ = copy.count;
    at_ = copy.at;
    return_bytes();
  }

 private:
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
  const std::byte* begin_ = nullptr;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace gpuhist::io
