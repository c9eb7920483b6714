#include "io/gzip/deflate_finder.hpp"

#include "io/gzip/deflate_codes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr unsigned head_bits = 13;     // last (1), type (2), numbers of literals (5) and of distances (5)
constexpr unsigned precode_at = 17;    // after these, and the number of precodes (4)
constexpr unsigned precode_pairs = 5;  // of 12 bits: four lengths

/// The positions of `bits` at which a dynamic block may begin that is not the last one, as far as the first 13 bits
/// show: position i is bit i of the result. Valid for the lowest `sought` positions of 57 valid bits.
///
///     bit      0: last   1 2: type   3 ... 7: literals - 257   8 ... 12: distances - 1
///     value    0         0 1         not 30 or 31              not 30 or 31
constexpr std::uint64_t dynamic_heads(std::uint64_t bits) {
  const std::uint64_t many_literals = (bits >> 4U) & (bits >> 5U) & (bits >> 6U) & (bits >> 7U);
  const std::uint64_t many_distances = (bits >> 9U) & (bits >> 10U) & (bits >> 11U) & (bits >> 12U);
  return ~bits & ~(bits >> 1U) & (bits >> 2U) & ~many_literals & ~many_distances;
}

constexpr unsigned sought = 57 - head_bits + 1;
constexpr std::uint64_t sought_mask = (std::uint64_t{1} << sought) - 1;

/// For four lengths of 3 bits: the sum of 2^(7 - length).
constexpr auto make_precode_sums() {
  std::array<std::uint16_t, std::size_t{1} << 12U> sums{};
  for (unsigned bits = 0; bits < sums.size(); ++bits) {
    for (unsigned at = 0; at < 12; at += 3) {
      const unsigned length = (bits >> at) & 7U;
      if (length != 0) sums[bits] = static_cast<std::uint16_t>(sums[bits] + (128U >> length));
    }
  }
  return sums;
}

constexpr auto precode_sums = make_precode_sums();

/// Whether the lengths of `number` precodes in the next bits are those of a complete code.
bool is_complete_precode(std::uint64_t bits, unsigned number) {
  bits &= (std::uint64_t{1} << (3 * number)) - 1;
  unsigned sum = 0;
  for (unsigned i = 0; i < precode_pairs; ++i) sum += precode_sums[(bits >> (12 * i)) & 0xFFFU];
  return sum == 128;
}

}  // namespace

std::optional<block_guess> deflate_finder::next() {
  if (!looked_) {
    dynamic_ = find_dynamic(dynamic_ ? *dynamic_ + 1 : 0);
    looked_ = true;
  }
  const std::size_t end = dynamic_ ? static_cast<std::size_t>(*dynamic_ / 8) + 1 : bytes_;
  if (const auto found = find_aligned(aligned_from_, end)) {
    aligned_from_ = static_cast<std::size_t>((found->bit + 7) / 8) + 1;
    return found;
  }
  aligned_from_ = std::max(aligned_from_, end);
  if (!dynamic_) return std::nullopt;
  looked_ = false;
  return block_guess{.found = block_guess::kind::dynamic, .bit = *dynamic_, .first_bit = *dynamic_};
}

std::uint64_t deflate_finder::load(std::size_t byte) const {
  std::uint64_t word = 0;
  std::memcpy(&word, data_.data() + byte, sizeof word);
  return word;
}

/// The cheapest test comes first: 13 bits, for many positions at once; the sum of the precode; all codes.
std::optional<std::uint64_t> deflate_finder::find_dynamic(std::uint64_t bit) const {
  const std::uint64_t end = std::uint64_t{8} * bytes_;
  for (; bit < end; bit += sought) {
    const std::uint64_t bits = load(static_cast<std::size_t>(bit / 8)) >> (bit % 8);
    for (std::uint64_t heads = dynamic_heads(bits) & sought_mask; heads != 0; heads &= heads - 1) {
      const std::uint64_t at = bit + static_cast<unsigned>(std::countr_zero(heads));
      if (at < end && begins_dynamic(at)) return at;
    }
  }
  return std::nullopt;
}

/// Whether the codes of a block at `bit` are permitted.
bool deflate_finder::begins_dynamic(std::uint64_t bit) const {
  const std::uint64_t number_at = bit + head_bits;
  const std::uint64_t number = load(static_cast<std::size_t>(number_at / 8)) >> (number_at % 8);
  const std::uint64_t precodes_at = bit + precode_at;
  const std::uint64_t precodes = load(static_cast<std::size_t>(precodes_at / 8)) >> (precodes_at % 8);
  if (!is_complete_precode(precodes, 4 + static_cast<unsigned>(number & 15U))) return false;
  deflate_bits reader(data_, bit + 3);
  deflate_lengths lengths;
  return read_lengths(reader, lengths) && !reader.is_past_end();
}

/// The first stored block or member of which the first whole byte is in [from, end).
std::optional<block_guess> deflate_finder::find_aligned(std::size_t from, std::size_t end) const {
  constexpr std::uint64_t magic = 0x00088B1F;       // and no reserved flags
  constexpr std::uint64_t magic_mask = 0xE0FFFFFF;  // flags in the highest byte
  for (std::size_t byte = from; byte < std::min(end, bytes_); ++byte) {
    const std::uint64_t word = load(byte);
    if ((word & magic_mask) == magic) {
      return block_guess{.found = block_guess::kind::member, .bit = 8 * byte, .first_bit = 8 * byte};
    }
    if ((word & 0xFFFFU) != (~word >> 16U & 0xFFFFU)) continue;
    const std::uint64_t low = zeros_before(8 * byte);
    if (8 * byte - low < 3) continue;
    return block_guess{.found = block_guess::kind::stored, .bit = 8 * byte - 3, .first_bit = low};
  }
  return std::nullopt;
}

/// The first of the zero bits before `bit`, at most 10: a header of a stored block, with padding.
std::uint64_t deflate_finder::zeros_before(std::uint64_t bit) const {
  std::uint64_t first = bit;
  const auto is_zero = [this](std::uint64_t at) {
    return (std::to_integer<unsigned>(data_[static_cast<std::size_t>(at / 8)]) >> (at % 8) & 1U) == 0;
  };
  while (first != 0 && bit - first < 10 && is_zero(first - 1)) --first;
  return first;
}

}  // namespace gpuhist::io
