// Decodes blocks of a long zstd frame ahead of its decoder (io/part_decoder.hpp). The splitter finds where blocks
// begin, by their sizes, so nothing is guessed. Literals and sequences do not depend on the blocks before, except for
// tables that are repeated: such blocks are decoded by finish(). join() makes the text, because matches refer to the
// text of any block before.
#pragma once

#include "io/part_decoder.hpp"
#include "io/part_memory.hpp"
#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_frame_state.hpp"
#include "io/zstd/zstd_sequences.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// For a part that begins with a block.
struct zstd_context final : frame_context {
  zstd_context(const zstd_frame_header& header, bool first) : frame(header), is_first(first) {}
  const zstd_frame_header frame;
  const bool is_first;  ///< the block is the first one of its frame
};

/// Whether blocks of such a frame may be decoded without libzstd: there is no dictionary, the window has room for any
/// block, and all offsets in it are known ones.
[[nodiscard]] bool may_have_zstd_parts(const zstd_frame_header& frame);

/// A block that was decoded ahead.
struct zstd_ready_block {
  std::uint64_t begin = 0;  ///< compressed offset of its header
  zstd_block_header header{0};
  bool is_ready = false;                   ///< `plan` is complete
  std::unique_ptr<std::byte[]> content{};  ///< to be decoded by finish()
  zstd_kept_descriptions tables{};
  zstd_block_plan plan{};                            ///< without `tables`
  std::optional<std::span<const std::byte>> text{};  ///< made by join(); valid as long as the part lives
};

/// The blocks of a part, in the order of their positions.
class zstd_part final : public decoded_part {
 public:
  struct settings {
    zstd_frame_header frame{};
    bool is_first = false;
    std::uint64_t begin = 0;       ///< compressed offset
    std::uint64_t end = 0;         ///< no block was left out before
    std::size_t memory_bytes = 0;  ///< of all plans, at most
  };

  zstd_part(const settings& options, std::vector<zstd_ready_block> blocks, std::vector<part_memory::block> memory,
            std::shared_ptr<part_memory> pool);

  void link(const decoded_part* before) override;
  void finish() override;
  void join(const decoded_part* before) override;

  /// The block of such a frame that begins at this offset, or null.
  [[nodiscard]] const zstd_ready_block* find(std::uint64_t begin, const zstd_frame_header& frame) const;

  [[nodiscard]] std::span<const zstd_ready_block> blocks() const { return blocks_; }

  /// Whether the first block of such a frame begins at this offset, and the part with it.
  [[nodiscard]] bool begins(std::uint64_t first_block, const zstd_frame_header& frame) const;

  /// Whether no block begins at this offset or later.
  [[nodiscard]] bool is_before(std::uint64_t offset) const { return options_.end <= offset; }

  /// Whether state() is that after this block: it is the last one that has text.
  [[nodiscard]] bool ends_with(const zstd_ready_block& block) const { return &block == last_joined_; }
  [[nodiscard]] const zstd_frame_state& state() const { return state_; }

 private:
  const settings options_;
  std::vector<zstd_ready_block> blocks_;
  std::vector<part_memory::block> memory_;
  const std::shared_ptr<part_memory> pool_;
  bool is_linked_ = false;  // the tables before the part are known
  zstd_known_tables before_;
  zstd_known_tables after_;  // with is_linked_
  zstd_frame_state state_;
  const zstd_ready_block* last_joined_ = nullptr;
};

/// Of a block that is not compressed. `room`: for its text.
zstd_block_plan plan_of_stored(const zstd_block_header& header, std::span<const std::byte> content, std::byte* room);

/// Decodes parts that have a zstd_context.
std::unique_ptr<part_decoder> make_zstd_part_decoder();
part_format zstd_part_format();

inline constexpr std::size_t zstd_part_bytes = std::size_t{256} << 10U;    ///< at least: 1.5 MiB of the text of a log
inline constexpr std::size_t zstd_plan_bytes = std::size_t{2} << 20U;      ///< memory for plans is taken in this size
inline constexpr std::size_t zstd_part_memory = 3 * zstd_plan_bytes;       ///< plans, and blocks for finish()
inline constexpr std::size_t zstd_most_alone = 3 * zstd_part_bytes;        ///< then libzstd decodes the rest of a frame
inline constexpr std::uint64_t zstd_least_text = std::uint64_t{8} << 20U;  ///< of a frame with parts

}  // namespace gpuhist::io
