// Damaged zstd frames: most mutations know the parts of blocks and repair the sizes around them, so that the damage
// reaches the decoder of that part instead of the parser of headers.
#pragma once

#include "tests/support/byte_vectors.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace gpuhist::test {

/// The parts of a frame, and of its compressed blocks.
enum class zstd_part : unsigned {
  frame_header,
  block_header,
  plain_block,
  literals_header,
  plain_literals,
  tree,
  jump_table,
  huffman_streams,
  sequences_header,
  codes,
  sequence_bits,
  checksum,
};
inline constexpr unsigned zstd_part_kinds = 12;

class zstd_mutator {
 public:
  /// Valid frames, one in each vector.
  explicit zstd_mutator(const std::vector<byte_vector>& seeds);

  /// One of the seeds with one to three mutations; sometimes none.
  byte_vector next(std::mt19937& random);

 private:
  struct region {
    zstd_part part = zstd_part::frame_header;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t block = 0;  ///< index of the block; of a part outside blocks: none
  };
  struct seed {
    byte_vector bytes;
    std::vector<std::size_t> blocks;  ///< offsets of their headers
    std::vector<region> regions;      ///< none is empty
  };

  static constexpr std::size_t none = ~std::size_t{0};

  byte_vector mutate_part(const seed& from, std::mt19937& random);
  static byte_vector mutate_blocks(const seed& from, std::mt19937& random);
  byte_vector replacement(const seed& from, const region& at, std::mt19937& random) const;

  std::vector<seed> seeds_;
  std::vector<byte_vector> parts_[zstd_part_kinds];  ///< of all seeds
};

}  // namespace gpuhist::test
