// Decodes the content of compressed zstd blocks (RFC 8878, 3.1.1.3) to literals and sequences, of which
// zstd_execution.hpp makes text. That needs no text before the block, so any thread can do it ahead of time.
#pragma once

#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_literals.hpp"
#include "io/zstd/zstd_tables.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// Literals, and then a match: a copy of `match` bytes of text, from `offset` bytes before. A match of 0 bytes, and no
/// literals, are possible: longer ones than fit are divided.
struct zstd_sequence {
  std::uint32_t offset = 0;  ///< or, from zstd_unknown_offset on, one that depends on earlier blocks
  std::uint16_t literals = 0;
  std::uint16_t match = 0;
};

inline constexpr std::uint32_t zstd_unknown_offset = std::uint32_t{1} << 31U;

/// The last three offsets, the latest first (RFC 8878, 3.1.1.5).
using zstd_offsets = std::array<std::uint32_t, 3>;

inline constexpr zstd_offsets zstd_first_offsets{1, 4, 8};

/// Offsets that are not known: those before a part. An unknown offset less n represents the known one less n.
inline constexpr zstd_offsets zstd_unknown_offsets{0x88000000U, 0x90000000U, 0x98000000U};

/// What an unknown offset is, if zstd_unknown_offsets are `known`; others are returned as they are.
constexpr std::uint32_t resolve(std::uint32_t offset, const zstd_offsets& known) {
  if (offset < zstd_unknown_offset) return offset;
  const std::uint32_t which = ((offset - 1) >> 27U) - 16;
  return which < known.size() ? known[which] - (zstd_unknown_offsets[which] - offset) : 0;
}

/// Of one block. Borrows the memory that the decoder filled.
struct zstd_block_plan {
  std::span<const std::byte> literals{};  ///< 32 more bytes can be read
  std::span<const zstd_sequence> sequences{};
  std::uint32_t text_bytes = 0;
  std::uint32_t max_offset = 0;  ///< of those that are known
  zstd_offsets offsets{};        ///< after the block
  zstd_descriptions tables{};    ///< borrowed from the content of the block
};

/// Keeps the tables, which the next block may use again. Used by one thread.
class zstd_block_decoder {
 public:
  enum class verdict {
    decoded,
    lacks_literal_table,   ///< it repeats one that is not known; of the plan, only `tables` is set
    lacks_sequence_table,  ///< likewise
    damaged                ///< or to be judged by libzstd
  };

  static constexpr std::size_t front_bytes = zstd_literal_decoder::front_bytes;  ///< before `content` must be readable
  static constexpr std::size_t most_sequences = zstd_block_header::max_size / 3 + 1;
  static constexpr std::size_t after_literals = 32;  ///< can be read
  static constexpr std::size_t room_bytes =
      zstd_block_header::max_size + after_literals + (most_sequences + 4) * sizeof(zstd_sequence);

  /// The tables that `of_block` describes are others than those that were decoded last.
  void forget(const zstd_descriptions& of_block);
  void forget_all() { is_built_ = {}; }

  /// Offsets of the plan are unknown where they depend on earlier blocks. `known`: before the block. `room`: for
  /// room_bytes bytes, at an address that is a multiple of 8; literals and sequences are placed in front.
  verdict decode(std::span<const std::byte> content, const zstd_known_tables& known, std::byte* room,
                 zstd_block_plan& to);

 private:
  verdict decode_literals(std::span<const std::byte>& content, const zstd_known_tables& known, std::byte* to,
                          zstd_block_plan& plan);
  verdict read_tables(std::span<const std::byte>& content, const zstd_known_tables& known, zstd_block_plan& plan);
  verdict decode_sequences(std::span<const std::byte> content, std::size_t count, zstd_sequence* to,
                           zstd_block_plan& plan);

  std::array<bool, 1 + zstd_codes> is_built_{};
  zstd_literal_decoder literals_;
  std::array<zstd_sequence_table, zstd_codes> sequence_tables_;
};

}  // namespace gpuhist::io
