// Decodes independent blocks of an lz4 frame ahead of its decoder (io/part_decoder.hpp). The splitter finds where
// blocks begin, by their sizes, so nothing is guessed. The checksum of a frame covers its whole text in order, so its
// decoder computes it.
#pragma once

#include "io/lz4/lz4_frame.hpp"
#include "io/part_decoder.hpp"
#include "io/part_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// For a part that does not begin with the header of its frame: that header.
struct lz4_context final : frame_context {
  explicit lz4_context(const lz4_frame_header& header) : frame(header) {}
  const lz4_frame_header frame;
};

/// A compressed block that was decoded ahead and matches its checksum, if it has one.
struct lz4_ready_block {
  std::uint64_t begin = 0;       ///< compressed offset of its size field
  std::size_t packed_bytes = 0;  ///< with size field and checksum
  std::span<const std::byte> text{};
};

/// The compressed blocks of a part, in the order of their positions. Stored blocks are left out.
class lz4_part final : public decoded_part {
 public:
  using memory = std::vector<part_memory::block>;

  /// `texts` is what the blocks refer to.
  lz4_part(const lz4_frame_header& frame, std::vector<lz4_ready_block> blocks, memory texts)
      : frame_(frame), blocks_(std::move(blocks)), texts_(std::move(texts)) {}

  /// The block of such a frame that begins at this offset, or null.
  [[nodiscard]] const lz4_ready_block* find(std::uint64_t begin, const lz4_frame_header& frame) const;

  [[nodiscard]] std::span<const lz4_ready_block> blocks() const { return blocks_; }

  /// Whether no block begins at this offset or later.
  [[nodiscard]] bool is_before(std::uint64_t offset) const { return blocks_.empty() || blocks_.back().begin < offset; }

 private:
  lz4_frame_header frame_;
  std::vector<lz4_ready_block> blocks_;
  memory texts_;
};

/// Decodes parts that begin with a block and have an lz4_context.
std::unique_ptr<part_decoder> make_lz4_part_decoder();

inline constexpr std::size_t lz4_part_bytes = std::size_t{256} << 10U;      ///< at least: 1 MiB of the text of a log
inline constexpr std::size_t lz4_usual_part_bytes = std::size_t{5} << 18U;  ///< with blocks of 4 MiB
inline constexpr std::size_t lz4_text_bytes = std::size_t{4} << 20U;        ///< the largest block
inline constexpr std::size_t lz4_part_memory = lz4_text_bytes + lz4_usual_part_bytes;

}  // namespace gpuhist::io
