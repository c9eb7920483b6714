// The first phase of gzip members: where blocks may begin within the portions of a stream.
#pragma once

#include "gpu/cuda/deflate/bits.hpp"
#include "gpu/cuda/deflate/codes.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/execute.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

/// The lowest bits of 19 lengths of three bits each.
inline constexpr std::uint64_t lowest_bits_of_lengths = 0x49'2492'4924'9249;

GPUHIST_HOST_DEVICE inline std::uint32_t count_bits(std::uint64_t bits) {
  return zstd::count_bits(static_cast<std::uint32_t>(bits)) + zstd::count_bits(static_cast<std::uint32_t>(bits >> 32U));
}

/// The code of the lengths of codes, for one thread: symbol << 3 | length of its code, by the bits ahead.
struct length_code {
  static constexpr unsigned symbols = 19;
  static constexpr unsigned most_bits = 7;

  std::uint8_t entries[1U << most_bits];

  /// `lengths`: three bits each, in the order of the stream (RFC 1951, 3.2.7), of a complete code.
  GPUHIST_HOST_DEVICE void fill(std::uint64_t lengths) {
    std::uint64_t next = 0;  // the next code of each length, a byte each
    std::uint32_t code = 0;
    for (unsigned length = 1; length <= most_bits; ++length) {
      next |= std::uint64_t{code} << (8 * length);
      code = (code + count_of(lengths, length)) << 1U;
    }
    for (unsigned symbol = 0; symbol < symbols; ++symbol) {
      const unsigned length = lengths >> (3 * place_of(symbol)) & 7U;
      if (length == 0) continue;
      const std::uint32_t first = reversed_bits(next >> (8 * length) & 0xffU, length);
      next += std::uint64_t{1} << (8 * length);
      for (std::uint32_t at = first; at < 1U << most_bits; at += 1U << length) {
        entries[at] = static_cast<std::uint8_t>(symbol << 3U | length);
      }
    }
  }

  /// How many codes have this length.
  GPUHIST_HOST_DEVICE static std::uint32_t count_of(std::uint64_t lengths, unsigned length) {
    const std::uint64_t equal = ~(lengths ^ lowest_bits_of_lengths * length);  // all three bits of an equal one
    return count_bits(equal & equal >> 1U & equal >> 2U & lowest_bits_of_lengths);
  }

 private:
  /// Where the length of a symbol is in the stream: 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1 15.
  GPUHIST_HOST_DEVICE static unsigned place_of(unsigned symbol) {
    if (symbol >= 16) return symbol - 16;
    if (symbol == 0) return 3;
    return symbol < 8 ? 19 - 2 * symbol : 2 * symbol - 12;
  }
};

/// Finds begins of blocks with codes of their own, except last ones.
template <class Team>
class begin_search {
 public:
  /// Borrows everything. `end`: of the stream, a byte. `code`: of this thread.
  GPUHIST_HOST_DEVICE begin_search(const Team& team, const std::uint32_t* compressed, std::uint64_t end,
                                   length_code& code)
      : team_(team), compressed_(compressed), end_(end), code_(code) {}

  /// One of the first ones in [from, before), which are bits less than 2^32 apart. portion_block::no_begin: there is
  /// none. All threads of the team call it.
  GPUHIST_HOST_DEVICE std::uint64_t first(std::uint64_t from, std::uint64_t before) {
    std::uint64_t row = from + places * team_.rank();
    std::uint32_t candidates = 0;  // of the row
    for (;;) {
      // Threads look for a candidate each, because they confirm theirs at the same time.
      for (unsigned i = 0; candidates == 0 && row < before && i < rows_at_once; ++i) {
        candidates = candidates_from(row);
        if (candidates == 0) row += places * Team::size;
      }
      std::uint64_t found = portion_block::no_begin;
      if (candidates != 0) {
        const std::uint64_t bit = row + lowest_bit(candidates);
        if (bit < before && describes_codes(bit)) found = bit;
        candidates &= candidates - 1;
        if (candidates == 0) row += places * Team::size;
      }
      const unsigned who = team_.first(found != portion_block::no_begin);
      if (who < Team::size) return from + team_.value_of(static_cast<std::uint32_t>(found - from), who);
      if (team_.first(row < before) == Team::size) return portion_block::no_begin;
    }
  }

 private:
  static constexpr unsigned places = 32;  // of a thread at once
  static constexpr unsigned rows_at_once = 64;
  static constexpr unsigned number_at = 13;
  static constexpr unsigned lengths_at = 17;

  GPUHIST_HOST_DEVICE static unsigned lowest_bit(std::uint32_t bits) {
    return zstd::count_bits((bits & (0 - bits)) - 1);
  }

  /// With more bits than a description of codes has.
  GPUHIST_HOST_DEVICE forward_bits at(std::uint64_t bit) const {
    const std::uint64_t end = bit / 8 + 4096;
    return {compressed_, bit, end < end_ ? end : end_};
  }

  /// 64 bits from there on. Without meaning after the end.
  GPUHIST_HOST_DEVICE std::uint64_t bits_from(std::uint64_t bit) const {
    if (bit >= 8 * end_) return 0;
    forward_bits bits = at(bit);
    const std::uint64_t low = bits.peek();
    bits.skip(32);
    return std::uint64_t{bits.peek()} << 32U | low;
  }

  /// The places at which the first bits are permitted, as far as the code of the lengths of codes.
  ///
  ///     bit      0: last   1 2: type   3 ... 7: literals - 257   8 ... 12: distances - 1   13 ... 16   17 ...
  ///     value    0         0 1         not 30 or 31              not 30 or 31              lengths of lengths
  GPUHIST_HOST_DEVICE std::uint32_t candidates_from(std::uint64_t bit) const {
    const std::uint64_t bits = bits_from(bit);
    const std::uint64_t many_literals = bits >> 4U & bits >> 5U & bits >> 6U & bits >> 7U;
    const std::uint64_t many_distances = bits >> 9U & bits >> 10U & bits >> 11U & bits >> 12U;
    auto heads = static_cast<std::uint32_t>(~bits & ~(bits >> 1U) & bits >> 2U & ~many_literals & ~many_distances);
    std::uint32_t candidates = 0;
    for (; heads != 0; heads &= heads - 1) {
      const unsigned place = lowest_bit(heads);
      const unsigned number = 4 + (bits >> (place + number_at) & 15U);
      const std::uint64_t lengths = bits_from(bit + place + lengths_at) & ((std::uint64_t{1} << (3 * number)) - 1);
      if (is_complete(lengths)) candidates |= std::uint32_t{1} << place;
    }
    return candidates;
  }

  /// Whether these lengths, three bits each, are those of a complete code: their sum of 2^-length is 1.
  GPUHIST_HOST_DEVICE static bool is_complete(std::uint64_t lengths) {
    constexpr std::uint64_t lowest = lowest_bits_of_lengths;
    const std::uint64_t ones = lengths & lowest;
    const std::uint64_t twos = lengths >> 1U & lowest;
    const std::uint64_t fours = lengths >> 2U & lowest;
    const std::uint64_t below_four = ~fours;
    const std::uint32_t sum = 64 * count_bits(ones & ~twos & below_four) + 32 * count_bits(~ones & twos & below_four) +
                              16 * count_bits(ones & twos & below_four) + 8 * count_bits(~ones & ~twos & fours) +
                              4 * count_bits(ones & ~twos & fours) + 2 * count_bits(~ones & twos & fours) +
                              count_bits(ones & twos & fours);
    return sum == 128;
  }

  /// Whether a candidate describes complete codes. (read_codes() makes them.)
  GPUHIST_HOST_DEVICE bool describes_codes(std::uint64_t bit) {
    forward_bits bits = at(bit);
    bits.skip(3);
    const std::uint32_t literals = bits.read(5) + 257;
    const std::uint32_t all = literals + bits.read(5) + 1;
    const unsigned described = bits.read(4) + 4;
    code_.fill(bits_from(bit + lengths_at) & ((std::uint64_t{1} << (3 * described)) - 1));
    bits.skip(3 * described);
    std::uint32_t sums[2] = {};  // of 2^(15 - length): of the code of literals, of that of distances
    std::uint32_t distances = 0;
    std::uint32_t before = 0;
    bool can_end = false;
    for (std::uint32_t i = 0; i < all;) {
      const std::uint32_t ahead = bits.peek();
      const std::uint32_t entry = code_.entries[ahead % (1U << length_code::most_bits)];
      const std::uint32_t symbol = entry >> 3U;
      const std::uint32_t extra = symbol < 16 ? 0 : symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
      const std::uint32_t least = symbol < 16 ? 1 : symbol == 18 ? 11 : 3;
      const std::uint32_t repeats = least + (ahead >> (entry & 7U) & ((1U << extra) - 1));
      bits.skip((entry & 7U) + extra);
      const std::uint32_t length = symbol < 16 ? symbol : symbol == 16 ? before : 0;
      before = length;
      const std::uint32_t next = i + repeats;
      if (next > all) return false;
      if (length > 0) {
        const std::uint32_t of_literals = zstd::lesser(next, literals) - zstd::lesser(i, literals);
        sums[0] += of_literals << (max_code_bits - length);
        sums[1] += (repeats - of_literals) << (max_code_bits - length);
        distances += repeats - of_literals;
        can_end = can_end || (i <= end_of_block && end_of_block < next);
        if (sums[0] > complete || sums[1] > complete) return false;
      }
      i = next;
    }
    const bool has_distances = sums[1] == complete || (distances <= 1 && sums[1] % (complete / 2) == 0);
    return can_end && sums[0] == complete && has_distances && !bits.ran_past_end();
  }

  static constexpr std::uint32_t complete = std::uint32_t{1} << max_code_bits;

  const Team& team_;
  const std::uint32_t* compressed_;
  std::uint64_t end_;
  length_code& code_;
};

/// The first phase of members: where the portion of block `index` begins. All threads of the team call it. `code`:
/// work memory of the thread.
template <class Team>
GPUHIST_HOST_DEVICE void find_begin(const Team& team, const zstd::batch_buffers& batch, std::uint32_t index,
                                    length_code& code) {
  if (!has_portion(batch, index)) return;
  const zstd::encoded_block& stream = batch.blocks[index];
  const zstd::encoded_frame& frame = batch.frames[stream.frame];
  const std::uint32_t first = first_portion(batch.blocks, frame);
  const std::uint32_t number = index - first;
  const std::uint32_t at_once = portions_at_once(batch, stream);
  const portion_place place = portion_place::of(stream, frame.portions, number, at_once);
  portion_block portion{};
  portion.begin = place.begin;
  portion.next = frame.portions;
  if (number % at_once != 0 || (number > 0 && 8 * place.end - place.begin > std::uint64_t{8} * most_bytes_of_portion)) {
    portion.begin = portion_block::no_begin;
  } else if (number > 0) {
    begin_search<Team> search(team, batch.compressed, end_of_stream(stream, frame), code);
    portion.begin = search.first(place.begin, 8 * place.end);
  } else if (first > frame.first_block) {
    const std::uint64_t begin = portion.begin + batch.portions[frame.first_block].begin;
    const std::uint64_t end = 8 * end_of_stream(stream, frame);
    portion.begin = begin < end ? begin : end;
    portion.has_ended = batch.portions[frame.first_block].has_ended;
  }
  if (team.rank() == 0) batch.portions[index] = portion;
}

}  // namespace gpuhist::gpu::cuda::deflate
