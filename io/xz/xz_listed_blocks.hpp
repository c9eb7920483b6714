// The blocks that the indexes at the ends of xz streams list, read from the end of a file.
#pragma once

#include "io/byte_reader.hpp"

#include <lzma.h>

#include <cstddef>
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

/// The list is kept while its file is decoded, outside --memory-limit: it takes at most 2 MiB.
inline constexpr std::size_t xz_most_listed_blocks = 65'536;
static_assert(xz_most_listed_blocks * sizeof(xz_listed_block) <= std::size_t{2} << 20U);

/// The blocks of all streams of a file, in order. Empty if the file does not end with the index and the footer of a
/// stream, if any stream does not fit, if there are more blocks than xz_most_listed_blocks, if more than 4 MiB would
/// have to be read (of more than about 500 streams), or if reading fails. Moves the position of `file`, which can seek.
/// Throws std::bad_alloc.
std::vector<xz_listed_block> list_xz_blocks(byte_reader& file);

}  // namespace gpuhist::io
