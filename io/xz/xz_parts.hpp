// Decodes blocks of xz ahead of the decoder (io/part_decoder.hpp), where the index at the end of the file says that
// they begin. So blocks that do not state their sizes, and whose ends are therefore known only after decoding them, are
// decoded in parallel.
#pragma once

#include "io/byte_reader.hpp"
#include "io/part_decoder.hpp"
#include "io/xz/xz_listed_blocks.hpp"

#include <lzma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// A block that was decoded ahead, and matches its check and the sizes in its header.
struct xz_ready_block {
  std::uint64_t begin = 0;  ///< compressed offset of its header
  std::uint64_t bytes = 0;  ///< compressed size, with header, padding and check
  std::uint64_t unpadded = 0;
  lzma_check check = LZMA_CHECK_NONE;  ///< kind of the check that it was compared with
  std::uint64_t dictionary = 0;        ///< bytes
  std::unique_ptr<std::byte[]> text{};
  std::size_t length = 0;  ///< of the text

  [[nodiscard]] std::span<const std::byte> content() const { return {text.get(), length}; }
};

/// The blocks of a part, in the order of their positions. If the index is wrong, they may be inside other blocks.
class xz_part final : public decoded_part {
 public:
  explicit xz_part(std::vector<xz_ready_block> blocks) : blocks_(std::move(blocks)) {}

  /// The block that begins at this offset, or null.
  [[nodiscard]] const xz_ready_block* find(std::uint64_t begin) const;

  /// Whether no block begins at this offset or later.
  [[nodiscard]] bool is_before(std::uint64_t offset) const { return blocks_.empty() || blocks_.back().begin < offset; }

 private:
  std::vector<xz_ready_block> blocks_;
};

/// `blocks`: where blocks may begin, in the order of their offsets.
std::unique_ptr<part_decoder> make_xz_part_decoder(std::shared_ptr<const std::vector<xz_listed_block>> blocks);

/// How a file is decoded in parts, by the indexes that it has at its end; empty if they list fewer than two blocks.
/// Moves the position of `file`, which can seek. Throws std::bad_alloc.
part_format read_xz_parts(byte_reader& file);

}  // namespace gpuhist::io
