// The inverse of the Burrows-Wheeler transform of bzip2 blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gpuhist::io {

/// A block whose transform is to be inverted.
struct bzip2_transformed {
  std::uint8_t* bytes = nullptr;  ///< in: the last column; out: the block. Room for bzip2_inverter::slack more bytes
  std::size_t size = 0;           ///< 1 to 900000
  std::uint32_t origin = 0;       ///< the row of the block among its sorted rotations, below `size`
  bool randomised = false;
};

/// Inverts transforms, and keeps the memory for it.
///
/// The text is a chain of links through memory that no small cache holds: each step waits for a load. Two measures make
/// it fast. A link leads over three bytes: it is composed of three single links, which costs little, because
/// consecutive rows link to rows near each other. And the chains of several blocks are followed at the same time.
class bzip2_inverter {
 public:
  static constexpr std::size_t most_blocks = 4;
  static constexpr std::size_t slack = 4;

  /// Memory for one block of `bytes` bytes.
  static constexpr std::size_t memory_for(std::size_t bytes) { return bytes * sizeof(std::uint64_t); }

  /// Allocates memory for blocks of at most `bytes` bytes. Throws std::bad_alloc.
  void reserve(std::size_t blocks, std::size_t bytes);

  /// Inverts up to most_blocks blocks, as many and as large as reserved at most.
  void invert(std::span<const bzip2_transformed> blocks);

 private:
  std::size_t room_ = 0;
  std::array<std::unique_ptr<std::uint64_t[]>, most_blocks> links_;
};

}  // namespace gpuhist::io
