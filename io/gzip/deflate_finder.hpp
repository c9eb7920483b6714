// Finds positions at which a deflate block may begin (Kerbiriou and Chikhi 2019; Knespel and Brunst, "Rapidgzip:
// Parallel Decompression and Seeking in Gzip Files Using Cache Prefetching", 2023).
#pragma once

#include "io/gzip/deflate_bits.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// Where a block may begin.
struct block_guess {
  enum class kind {
    dynamic,  ///< a block with codes of its own
    stored,   ///< a stored block
    member    ///< the header of a gzip member; the block follows it
  };
  kind found = kind::dynamic;
  std::uint64_t bit = 0;

  /// A stored block has 0 to 7 bits of padding after the first three bits of its header, all zero. So it may also begin
  /// at any bit from here to `bit`, with the same text.
  std::uint64_t first_bit = 0;
};

/// Finds guesses in the order of their positions. Blocks with fixed codes, and last blocks of members, are not found:
/// their headers have too few bits to be distinguished from other data. A guess may be wrong: only decoding the block
/// and those after it confirms it.
class deflate_finder {
 public:
  /// `data`: with deflate_bits::padding after it. Guesses begin in the first `bytes` bytes.
  deflate_finder(std::span<const std::byte> data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  /// The next guess.
  std::optional<block_guess> next();

 private:
  [[nodiscard]] std::optional<std::uint64_t> find_dynamic(std::uint64_t bit) const;
  [[nodiscard]] bool begins_dynamic(std::uint64_t bit) const;
  [[nodiscard]] std::optional<block_guess> find_aligned(std::size_t from, std::size_t end) const;
  [[nodiscard]] std::uint64_t zeros_before(std::uint64_t bit) const;
  [[nodiscard]] std::uint64_t load(std::size_t byte) const;

  std::span<const std::byte> data_;
  std::size_t bytes_;
  std::optional<std::uint64_t> dynamic_;  // the next one, if it is known
  bool looked_ = false;                   // for `dynamic_`
  std::size_t aligned_from_ = 0;          // stored blocks and members are sought from here
};

}  // namespace gpuhist::io
