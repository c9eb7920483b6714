// Decodes the blocks of a part of a bzip2 input ahead of its decoder (io/part_decoder.hpp).
#pragma once

#include "io/part_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// A block that was decoded ahead and whose checksum matches. Positions are bits from the start of the input.
struct bzip2_ready_block {
  std::uint64_t begin = 0;  ///< of the magic number
  std::uint64_t end = 0;
  std::uint32_t crc = 0;
  std::size_t size = 0;  ///< bytes before runs are expanded: the level of a stream limits them
  bool is_text = false;  ///< `bytes` are the text; otherwise its runs are still to be expanded
  std::unique_ptr<std::byte[]> bytes;
  std::size_t length = 0;  ///< of `bytes`

  [[nodiscard]] std::span<const std::byte> content() const { return {bytes.get(), length}; }
};

/// The blocks of a part, in the order of their positions. They may also be false ones, inside the data of others.
class bzip2_part final : public decoded_part {
 public:
  explicit bzip2_part(std::vector<bzip2_ready_block> blocks) : blocks_(std::move(blocks)) {}

  /// The block that begins at this bit, or null.
  [[nodiscard]] const bzip2_ready_block* find(std::uint64_t begin) const;

  /// Whether no block begins at this bit or later.
  [[nodiscard]] bool is_before(std::uint64_t bit) const { return blocks_.empty() || blocks_.back().begin < bit; }

 private:
  std::vector<bzip2_ready_block> blocks_;
};

std::unique_ptr<part_decoder> make_bzip2_part_decoder();

inline constexpr std::size_t bzip2_part_bytes = std::size_t{512} << 10U;      ///< several blocks of text, one of noise
inline constexpr std::size_t bzip2_look_ahead_bytes = std::size_t{5} << 18U;  ///< a block of random bytes
inline constexpr std::size_t bzip2_part_memory = std::size_t{28} << 20U;      ///< work memory 8 MB, text 20 MB

}  // namespace gpuhist::io
