// The inverse of the Burrows-Wheeler transform of bzip2 blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gpuhist::io {

/// A block whose transform is to be inverted.
struct bzip2_transformed {
  std::uint8_t* column = nullptr;  ///< the last column; room for bzip2_inverter::room_for(size) bytes, is overwritten
  std::size_t size = 0;            ///< 1 to 900000
  std::uint32_t origin = 0;        ///< the row of the block among its sorted rotations, below `size`
  bool randomised = false;
};

/// Inverts transforms, and keeps the memory for it.
///
/// The text is a chain of links through memory that no small cache holds: each step waits for a load. Two measures make
/// it fast. A link leads over three bytes: it is composed of three single links, which costs little, because
/// consecutive rows link to rows near each other. And the chain is followed from several rows at the same time: from
/// the origin, and from others whose place in the text is not known. Each of these walks ends where another one began;
/// then the text of that one follows.
///
///     text:     |origin . . . . . . . . . . . . . . . . . |
///     walks:    |0 - - - - - - - ->|2 - ->|1 - - - - - -> |
class bzip2_inverter {
 public:
  static constexpr std::size_t most_walks = 8;

  /// Bytes of the buffer with the last column of a block of `size` bytes.
  static constexpr std::size_t room_for(std::size_t size) { return pieces_for(size) * piece_stride; }

  /// Memory for blocks of `bytes` bytes.
  static constexpr std::size_t memory_for(std::size_t bytes) { return bytes * sizeof(std::uint64_t); }

  /// Allocates memory for blocks of at most `bytes` bytes. Throws std::bad_alloc.
  void reserve(std::size_t bytes);

  /// The bytes of a block; they remain until the next call.
  std::span<const std::uint8_t> invert(const bzip2_transformed& block);

 private:
  /// The text of a walk: pieces of the buffer of the block.
  struct segment {
    std::vector<std::uint16_t> pieces;
    std::size_t length = 0;
    std::size_t next = 0;  // the segment after this one
    std::size_t skip = 0;  // bytes of that one that are in this one too
  };
  struct walks;

  static constexpr std::size_t piece_bytes = 3072;
  static constexpr std::size_t piece_stride = piece_bytes + 4;  // steps write a byte more than they advance
  static constexpr std::size_t pieces_for(std::size_t size) { return size / piece_bytes + 2 * most_walks + 1; }

  void begin_walks(const bzip2_transformed& block, walks& active);
  void walk_all(const bzip2_transformed& block, walks& active);
  void end_walks(walks& active, std::size_t length);
  std::span<std::uint8_t> join(const bzip2_transformed& block);

  std::size_t room_ = 0;
  std::unique_ptr<std::uint64_t[]> links_;
  std::array<segment, most_walks> segments_;
};

}  // namespace gpuhist::io
