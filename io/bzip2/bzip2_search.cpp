#include "io/bzip2/bzip2_search.hpp"

#include "io/bzip2/bzip2_block.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr unsigned pair_bits = 16;
constexpr unsigned largest_shift = bzip2_magic_bits - pair_bits;

/// For each pair of bytes: whether it occurs in the magic number, at any bit.
constexpr auto make_pairs() {
  std::array<std::uint64_t, (std::size_t{1} << pair_bits) / 64> pairs{};
  for (unsigned shift = 0; shift <= largest_shift; ++shift) {
    const auto pair = static_cast<std::uint16_t>(bzip2_block_magic >> shift);
    pairs[pair / 64U] |= std::uint64_t{1} << (pair % 64U);
  }
  return pairs;
}

constexpr auto magic_pairs = make_pairs();

bool is_magic_pair(std::uint16_t pair) { return (magic_pairs[pair / 64U] >> (pair % 64U) & 1U) != 0; }

std::uint16_t pair_at(const std::byte* at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) << 8U | std::to_integer<unsigned>(at[1]));
}

/// Whether the magic number begins at `bit`, and is complete.
bool is_magic(std::span<const std::byte> bytes, std::uint64_t bit) {
  if (bit + bzip2_magic_bits > 8 * bytes.size()) return false;
  std::uint64_t word = 0;
  const std::uint64_t end = (bit + bzip2_magic_bits + 7) / 8;  // at most 7 bytes
  for (std::uint64_t i = bit / 8; i < end; ++i) word = word << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  constexpr std::uint64_t mask = (std::uint64_t{1} << bzip2_magic_bits) - 1;
  return (word >> (8 * end - bit - bzip2_magic_bits) & mask) == bzip2_block_magic;
}

/// The first magic number that has the pair of bytes at `at` in it.
std::optional<std::uint64_t> magic_around(std::span<const std::byte> bytes, std::size_t at, std::uint64_t from) {
  for (unsigned before = largest_shift + 1; before-- > 0;) {
    const std::uint64_t bit = 8 * std::uint64_t{at} - before;
    if (8 * std::uint64_t{at} >= before + from && is_magic(bytes, bit)) return bit;
  }
  return std::nullopt;
}

}  // namespace

bzip2_pieces::place bzip2_pieces::locate(std::uint64_t offset, place from) const {
  while (from.index < pieces_.size() && offset - from.before >= pieces_[from.index].size()) {
    from.before += pieces_[from.index++].size();
  }
  return from;
}

std::size_t bzip2_pieces::copy(std::uint64_t offset, std::span<std::byte> to, place from) const {
  std::size_t copied = 0;
  for (place at = locate(offset, from); at.index < pieces_.size() && copied < to.size();
       at = locate(offset + copied, at)) {
    const auto rest = pieces_[at.index].subspan(offset + copied - at.before);
    const std::size_t bytes = std::min(rest.size(), to.size() - copied);
    std::memcpy(to.data() + copied, rest.data(), bytes);
    copied += bytes;
  }
  return copied;
}

/// A magic number covers at least five whole bytes. So one of the pairs of bytes at multiples of four is in it:
///
///     bytes:   |0 . . .|4 . . .|8 . . .|        a magic number:  . |x x x x x| .
///     tested:   0 1     4 5     8 9                                     4 5
std::optional<std::uint64_t> find_bzip2_block(std::span<const std::byte> bytes, std::uint64_t from) {
  constexpr std::size_t step = 4;
  for (std::size_t at = from / 8 / step * step; at + 1 < bytes.size(); at += step) {
    if (!is_magic_pair(pair_at(bytes.data() + at))) continue;
    if (const auto found = magic_around(bytes, at, from)) return found;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> find_bzip2_block(const bzip2_pieces& pieces, std::uint64_t size, std::uint64_t from) {
  constexpr std::size_t largest_share = 6;  // of a magic number in one of two pieces, in bytes
  const std::uint64_t end = 8 * size;
  bzip2_pieces::place at = pieces.locate(from / 8);
  for (; at.index < pieces.number() && at.before < size; at = pieces.locate(at.before + pieces[at.index].size(), at)) {
    const std::span<const std::byte> piece = pieces[at.index];
    const std::uint64_t begin = 8 * at.before;
    if (const auto found = find_bzip2_block(piece.first(std::min<std::uint64_t>(piece.size(), size - at.before + 7)),
                                            from > begin ? from - begin : 0)) {
      return begin + *found < end ? std::optional(begin + *found) : std::nullopt;
    }
    // those that begin near the end of the piece, in a copy
    std::array<std::byte, 2 * largest_share> joint{};
    const std::uint64_t joint_at = at.before + piece.size() - std::min(largest_share, piece.size());
    const std::size_t copied = pieces.copy(joint_at, joint, at);
    if (const auto found =
            find_bzip2_block(std::span(joint).first(copied), from > 8 * joint_at ? from - 8 * joint_at : 0)) {
      return 8 * joint_at + *found < end ? std::optional(8 * joint_at + *found) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace gpuhist::io
