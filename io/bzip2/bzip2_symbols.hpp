// The symbols of a bzip2 block as bytes: the list of recently used bytes (move to front), and runs of its first byte.
#pragma once

#include "io/bzip2/bzip2_codes.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gpuhist::io {

/// The bytes in the order of their last use. The first eight are in a register of inner loops, the others in memory of
/// the owner, which has unused bytes in front: see move_far().
class recent_bytes {
 public:
  static constexpr unsigned at_once = 16;
  using storage = std::array<std::uint8_t, at_once + 256>;

  /// `used`: the bytes that occur, in increasing order.
  void start(std::span<const std::uint8_t> used, storage& memory) {
    rest_ = memory.data() + at_once;
    std::array<std::uint8_t, 256> all{};
    std::memcpy(all.data(), used.data(), used.size());
    std::memcpy(&front_, all.data(), sizeof front_);
    if constexpr (std::endian::native == std::endian::big) front_ = __builtin_bswap64(front_);
    std::memcpy(rest_, all.data() + in_front, all.size() - in_front);
  }

  [[nodiscard]] std::uint8_t first() const { return static_cast<std::uint8_t>(front_); }

  /// Moves the byte at `place`, 1 to 255, to the front, and returns it.
  std::uint8_t move(unsigned place) {
    if (place >= in_front) return move_far(place - in_front);
    // front_: | 7 6 5 4 3 2 1 0 |; the bytes 0 to place rotate to the left
    const unsigned shift = 8 * place;
    const std::uint64_t byte = front_ >> shift & 0xFFU;
    const std::uint64_t rotated = (std::uint64_t{0x100} << (shift - 1) << 1U) - 1;
    front_ = (front_ & ~rotated) | (front_ << 8U & rotated) | byte;
    return static_cast<std::uint8_t>(byte);
  }

 private:
  static constexpr unsigned in_front = 8;

  std::uint8_t move_far(unsigned place) {
    std::uint8_t* const list = rest_;
    const std::uint8_t byte = list[place];
    // whole groups of 16, from the end; the last group may begin before the list, in unused bytes
    for (std::ptrdiff_t end = place; end > 0; end -= at_once) {
      std::array<std::uint8_t, at_once> group;  // NOLINT(cppcoreguidelines-pro-type-member-init): copied to
      std::memcpy(group.data(), list + end - at_once, at_once);
      std::memcpy(list + end - at_once + 1, group.data(), at_once);
    }
    list[0] = static_cast<std::uint8_t>(front_ >> 56U);
    front_ = front_ << 8U | byte;
    return byte;
  }

  std::uint64_t front_ = 0;
  std::uint8_t* rest_ = nullptr;
};

/// Writes the bytes of a block from its symbols.
class bzip2_symbols {
 public:
  /// Bytes of room that must follow `most` bytes of output: runs are written in groups.
  static constexpr std::size_t slack = 32;

  enum class state { more, end, invalid };

  /// `memory`: in use until the end of the block. `out`: room for `most` bytes and `slack` more.
  void start(std::span<const std::uint8_t> used, recent_bytes::storage& memory, std::uint8_t* out, std::size_t most) {
    recent_.start(used, memory);
    end_of_block_ = static_cast<unsigned>(used.size()) + 1;
    out_ = out;
    size_ = 0;
    most_ = most;
    run_ = 0;
    run_symbols_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Writes what a word represents; nothing if it is invalid.
  [[gnu::always_inline]] state put(bzip2_word word) {
    const std::uint64_t run = run_ + (std::uint64_t{word.run()} << run_symbols_);
    const unsigned symbol = word.symbol();
    if (symbol == 0) [[unlikely]] {
      if (run_symbols_ + word.symbols() > most_run_symbols) return state::invalid;
      run_ = run;
      run_symbols_ += word.symbols();
      return state::more;
    }
    if (run >= most_ - size_) [[unlikely]] {
      if (run > most_ - size_ || symbol != end_of_block_) return state::invalid;
    }
    const std::uint64_t eight = recent_.first() * 0x0101010101010101U;
    std::memcpy(out_ + size_, &eight, sizeof eight);
    if (run > sizeof eight) [[unlikely]]
      std::memset(out_ + size_, recent_.first(), run);
    size_ += run;
    run_ = 0;
    run_symbols_ = 0;
    if (symbol == end_of_block_) [[unlikely]]
      return state::end;
    out_[size_++] = recent_.move(symbol - 1);
    return state::more;
  }

 private:
  static constexpr unsigned most_run_symbols = 21;  // the limit of the reference decoder

  recent_bytes recent_;
  std::uint8_t* out_ = nullptr;
  std::size_t size_ = 0;
  std::size_t most_ = 0;
  std::uint64_t run_ = 0;      // of the first byte, not yet written
  unsigned run_symbols_ = 0;   // of that run
  unsigned end_of_block_ = 0;  // the symbol
};

}  // namespace gpuhist::io
