// Decodes the literals of a zstd block, which are streams of a Huffman code (RFC 8878, 4.2.2).
#pragma once

#include "io/zstd/zstd_tables.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// Decodes one or two symbols of literals: the index is the next 12 bits of a stream.
struct zstd_pair_table {
  static constexpr unsigned log = 12;

  /// symbols << 16 | number of symbols << 8 | length of their codes
  std::array<std::uint32_t, std::size_t{1} << log> entries{};
};

/// Keeps its code, which the next block may use again. Used by one thread.
class zstd_literal_decoder {
 public:
  static constexpr std::size_t front_bytes = 16;  ///< before the streams must be readable

  /// As build_literal_table().
  std::optional<std::size_t> build(std::span<const std::byte> description);

  /// After build(): decodes `count` literals, 1 or more, from one stream, or from four and their sizes. False: the
  /// streams do not end exactly with the last literal of each.
  bool decode(std::span<const std::byte> streams, bool is_single, std::byte* to, std::size_t count);

 private:
  [[nodiscard]] bool is_faster_in_pairs(std::size_t coded_bytes, std::size_t count) const;
  void build_pairs();

  zstd_literal_table table_;
  bool has_pairs_ = false;
  zstd_pair_table pairs_;
};

}  // namespace gpuhist::io
