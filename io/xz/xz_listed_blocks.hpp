// The blocks that the indexes at the ends of xz streams list, read from the end of a file.
#pragma once

#include "io/byte_reader.hpp"

#include <lzma.h>

#include <cstdint>
#include <vector>

namespace gpuhist::io {

/// A block as the index of its stream lists it. An index may be wrong: nothing here is known to be true.
struct xz_listed_block {
  std::uint64_t begin = 0;  ///< compressed offset in the file
  std::uint64_t bytes = 0;  ///< compressed size, with header, padding and check
  std::uint64_t text = 0;   ///< decompressed size
  lzma_check check = LZMA_CHECK_NONE;
};

/// The blocks of all streams of a file, in order. Empty if the file does not end with the index and the footer of a
/// stream, if any stream does not fit, if the lists need more than 8 MiB of memory, or if reading fails. Moves the
/// position of `file`, which can seek. Throws std::bad_alloc.
std::vector<xz_listed_block> list_xz_blocks(byte_reader& file);

}  // namespace gpuhist::io
