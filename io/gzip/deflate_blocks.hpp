// Decodes the blocks of deflate data (RFC 1951) one by one, after a known or an unknown window.
#pragma once

#include "io/gzip/deflate_bits.hpp"
#include "io/gzip/deflate_codes.hpp"
#include "io/gzip/deflate_text.hpp"

namespace gpuhist::io {

enum class block_end {
  next,        ///< another block follows
  last,        ///< it was the last block of the member
  incomplete,  ///< the data ends within the block
  damaged,     ///< it is no block
  full         ///< there is no memory for its text
};

/// Decodes blocks. Keeps its tables from block to block.
class deflate_blocks {
 public:
  /// Decodes the block that begins at `bits` and appends its text. Without an error, `bits` is at the end of the block.
  /// After an error the caller truncates the text.
  block_end decode(deflate_bits& bits, deflate_text& text);

 private:
  enum class built { none, fixed, dynamic };

  static block_end decode_stored(deflate_bits& bits, deflate_text& text);
  block_end decode_codes(deflate_bits& bits, deflate_text& text) const;
  bool read_codes(deflate_bits& bits);

  deflate_tables tables_;
  built built_ = built::none;
};

}  // namespace gpuhist::io
