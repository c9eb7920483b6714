// Finds the magic numbers of bzip2 blocks, which begin at any bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// Bytes in pieces, addressed as one sequence.
class bzip2_pieces {
 public:
  explicit bzip2_pieces(std::span<const std::span<const std::byte>> pieces) : pieces_(pieces) {}

  /// A position: the piece `index`, and the bytes before it.
  struct place {
    std::size_t index = 0;
    std::uint64_t before = 0;
  };

  /// The piece with the byte at `offset`; one after the last piece if there is none. `from`: a place before it.
  [[nodiscard]] place locate(std::uint64_t offset, place from) const;
  [[nodiscard]] place locate(std::uint64_t offset) const { return locate(offset, place()); }

  [[nodiscard]] std::size_t number() const { return pieces_.size(); }
  [[nodiscard]] std::span<const std::byte> operator[](std::size_t index) const { return pieces_[index]; }

  /// Copies the bytes from `offset` into `to`, as many as there are; returns their number.
  std::size_t copy(std::uint64_t offset, std::span<std::byte> to, place from) const;

 private:
  std::span<const std::span<const std::byte>> pieces_;
};

/// The first bit of the first block magic at or after `from` that lies completely in `bytes`.
std::optional<std::uint64_t> find_bzip2_block(std::span<const std::byte> bytes, std::uint64_t from);

/// The same in pieces, for magic numbers that begin in the first `size` bytes.
std::optional<std::uint64_t> find_bzip2_block(const bzip2_pieces& pieces, std::uint64_t size, std::uint64_t from);

}  // namespace gpuhist::io
