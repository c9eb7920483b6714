// A team decodes the symbols of one block together: its threads decode stretches of the bits that follow each other.
// Only the first one begins where a symbol is known to begin. But a Huffman decoder that begins between two symbols
// soon finds the symbols of the stream again (Ferguson and Rabinowitz, "Self-synchronizing Huffman codes", 1984;
// Weissenberger and Schmidt, "Massively Parallel Huffman Decoding on GPUs", 2018):
//
//     bits      | stretch 0        | stretch 1        | stretch 2        | stretch 3        |
//     1st pass           guesses ---->       guesses ---->       guesses ---->
//     2nd pass  counts ------------>counts ----------->counts ------------->counts ----------->
//
// In the first pass the last bits of each stretch say where the next one may begin. The second counts what a stretch
// yields, and says where it ends. The stretches that follow each other without a gap are right, because the first one
// is; then the place of what each yields is known, and a third pass writes it. The next round begins after them.
#pragma once

#include "gpu/cuda/deflate/bits.hpp"
#include "gpu/cuda/deflate/codes.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/execute.hpp"
#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

/// What symbols yield.
struct stretch_yield {
  std::uint32_t text = 0;  ///< bytes
  std::uint32_t literals = 0;
  std::uint32_t matches = 0;
  std::uint32_t last_literals = 0;  ///< after the last match
};

/// Where it is written: `entry` in the sequences of the batch, the others as in sequence_entry.
struct stretch_place {
  std::uint32_t entry;
  std::uint32_t literal;
  std::uint32_t begin_text;  ///< of the sequence
  std::uint32_t begin_literal;
};

/// limit: another stretch follows. block: the end of the block.
enum class stretch_end : std::uint8_t { limit, block, invalid };

/// Places are bits of stretch_memory::words.
struct stretch {
  std::uint32_t begin;
  std::uint32_t end;
  stretch_yield yields;
  stretch_place to;
  stretch_end is;
};

struct stretch_memory {
  static constexpr unsigned count = 32;
  // An odd number of words, so that threads begin in different banks.
  static constexpr unsigned least_words = 17;
  static constexpr unsigned most_words = 61;
  static constexpr unsigned words_after = 6;  ///< the first one may begin in a word, the last one ends in a symbol

  stretch all[count];
  std::uint32_t words[count * most_words + words_after];  ///< of the stream
};

/// The words of a stream in the memory of a team.
struct stretch_bits {
  const std::uint32_t* words;
  std::uint32_t at;

  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t peek() const {
    const std::uint32_t* const from = words + at / 32;
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(from[0], from[1], at);
#else
    return static_cast<std::uint32_t>((std::uint64_t{from[1]} << 32U | from[0]) >> at % 32);
#endif
  }
};

/// The first pass: nothing is kept. What is no symbol is passed by.
struct guessed_symbols {
  static constexpr bool is_guess = true;

  [[nodiscard]] GPUHIST_HOST_DEVICE static bool has_room() { return true; }
  GPUHIST_HOST_DEVICE static void put_literal(std::uint32_t) {}
  GPUHIST_HOST_DEVICE static void put_match(std::uint32_t, std::uint32_t) {}
};

/// The second pass.
class counted_symbols {
 public:
  static constexpr bool is_guess = false;

  /// For one more match: a piece has room for the text of any stretch.
  [[nodiscard]] GPUHIST_HOST_DEVICE bool has_room() const {
    return text_of_matches_ + literals_ <= zstd::max_block_bytes - longest_match;
  }
  GPUHIST_HOST_DEVICE void put_literal(std::uint32_t) { ++literals_; }
  GPUHIST_HOST_DEVICE void put_match(std::uint32_t length, std::uint32_t) {
    text_of_matches_ += length;
    ++matches_;
    literals_before_ = literals_;
  }
  [[nodiscard]] GPUHIST_HOST_DEVICE stretch_yield yields() const {
    return {.text = text_of_matches_ + literals_,
            .literals = literals_,
            .matches = matches_,
            .last_literals = literals_ - literals_before_};
  }

 private:
  std::uint32_t text_of_matches_ = 0;
  std::uint32_t literals_ = 0;
  std::uint32_t literals_before_ = 0;  // the last match
  std::uint32_t matches_ = 0;
};

/// The third pass.
class written_symbols {
 public:
  static constexpr bool is_guess = false;

  GPUHIST_HOST_DEVICE written_symbols(const stretch_place& to, zstd::sequence_entry* sequences, std::uint8_t* literals)
      : literals_(literals), next_(sequences + to.entry), to_(to) {}

  [[nodiscard]] GPUHIST_HOST_DEVICE static bool has_room() { return true; }
  GPUHIST_HOST_DEVICE void put_literal(std::uint32_t byte) {
    literals_[to_.literal++] = static_cast<std::uint8_t>(byte);
  }
  GPUHIST_HOST_DEVICE void put_match(std::uint32_t length, std::uint32_t distance) {
    *next_++ = zstd::sequence_entry::make(to_.begin_text, to_.begin_literal, distance);
    to_.begin_text += to_.literal - to_.begin_literal + length;
    to_.begin_literal = to_.literal;
  }

 private:
  std::uint8_t* literals_;
  zstd::sequence_entry* next_;
  stretch_place to_;
};

/// One round: up to stretch_memory::count stretches from a symbol on.
template <class Team>
class stretch_round {
 public:
  /// Makes the first two passes. `bits`: where the first symbol begins. `length`: bits in which the last symbol of the
  /// block is expected, or more than one round. Borrows everything. All threads of the team call this and the
  /// functions, with the same arguments.
  GPUHIST_HOST_DEVICE stretch_round(const Team& team, const forward_bits& bits, std::uint32_t length,
                                    const block_code_tables& codes, const symbol_meanings& meanings,
                                    stretch_memory& memory)
      : team_(team), codes_(codes), meanings_(meanings), memory_(memory) {
    const std::uint32_t begin = bits.place() % 32;
    const std::uint32_t bits_of_one = 32 * words_of_one(length);
    stretches_ = zstd::lesser(length / bits_of_one + 1, stretch_memory::count);
    const std::uint32_t words = stretches_ * (bits_of_one / 32) + stretch_memory::words_after;
    team.sync();  // the memory may be in use
    for (unsigned i = team.rank(); i < words; i += Team::size) memory.words[i] = bits.word(i);
    team.sync();
    for (unsigned i = team.rank(); i < stretches_; i += Team::size) {
      const std::uint32_t limit = begin + (i + 1) * bits_of_one;
      if (i == 0) memory.all[0].begin = begin;
      if (i + 1 == stretches_) continue;
      stretch_bits guess{memory.words, limit - begin > guessed_bits ? limit - guessed_bits : begin};
      guessed_symbols nothing;
      read(guess, limit, nothing);
      memory.all[i + 1].begin = guess.at;
    }
    team.sync();
    for (unsigned i = team.rank(); i < stretches_; i += Team::size) {
      stretch& each = memory.all[i];
      stretch_bits at{memory.words, each.begin};
      counted_symbols counted;
      each.is = read(at, begin + (i + 1) * bits_of_one, counted);
      each.end = at.at;
      each.yields = counted.yields();
    }
    team.sync();
  }

  /// The stretches that are right.
  [[nodiscard]] GPUHIST_HOST_DEVICE unsigned count() const {
    const stretch* const all = memory_.all;
    for (unsigned first = 0; first < stretches_; first += Team::size) {
      const unsigned own = first + team_.rank();
      const bool is_last =
          own + 1 >= stretches_ || all[own].is != stretch_end::limit || all[own + 1].begin != all[own].end;
      const unsigned last = team_.first(is_last);
      if (last < Team::size) return first + last + 1;
    }
    return stretches_;
  }

  /// The third pass, for the stretches from `first` to `end`, which are placed.
  GPUHIST_HOST_DEVICE void write(unsigned first, unsigned end, zstd::sequence_entry* sequences,
                                 std::uint8_t* literals) const {
    team_.sync();
    for (unsigned i = team_.rank(); i < end; i += Team::size) {
      if (i < first) continue;
      const stretch& each = memory_.all[i];
      stretch_bits at{memory_.words, each.begin};
      written_symbols written(each.to, sequences, literals);
      read(at, each.end, written);
    }
  }

 private:
  static constexpr std::uint32_t guessed_bits = 1024;  // docs/tuning.md

  /// Rounds of equal length.
  GPUHIST_HOST_DEVICE static std::uint32_t words_of_one(std::uint32_t length) {
    constexpr std::uint32_t most = stretch_memory::count * 32 * stretch_memory::most_words;
    const std::uint32_t rounds = length / most + 1;
    const std::uint32_t words = length / (rounds * stretch_memory::count * 32) + 1;
    return zstd::lesser(zstd::greater(words, stretch_memory::least_words) | 1U, stretch_memory::most_words);
  }

  /// The symbols that begin before `limit`. The loop that everything else waits for (docs/tuning.md).
  template <class Symbols>
  GPUHIST_HOST_DEVICE stretch_end read(stretch_bits& bits, std::uint32_t limit, Symbols& to) const {
    while (bits.at < limit && to.has_room()) {
      std::uint32_t ahead = bits.peek();
      const coded_symbol found = codes_.literals.find(ahead);
      if (found.symbol < end_of_block) {
        to.put_literal(found.symbol);
        bits.at += found.bits;
        continue;
      }
      const bool is_match = found.symbol != end_of_block && found.symbol <= symbol_meanings::last_length;
      if (!is_match && !Symbols::is_guess) {
        bits.at += found.bits;
        return found.symbol == end_of_block ? stretch_end::block : stretch_end::invalid;
      }
      if (!is_match) {
        ++bits.at;
        continue;
      }
      const std::uint32_t meaning = meanings_.lengths[found.symbol - symbol_meanings::first_length];
      const std::uint32_t length = value_of(meaning, ahead >> found.bits);
      const std::uint32_t begin = bits.at;
      bits.at += found.bits + (meaning >> 16U);
      ahead = bits.peek();
      const coded_symbol far = codes_.distances.find(ahead);
      if (far.symbol >= symbol_meanings::distance_count) {
        if (!Symbols::is_guess) return stretch_end::invalid;
        bits.at = begin + 1;
        continue;
      }
      const std::uint32_t place = meanings_.distances[far.symbol];
      bits.at += far.bits + (place >> 16U);
      to.put_match(length, value_of(place, ahead >> far.bits));
    }
    return stretch_end::limit;
  }

  /// The base and the extra bits, which are the lowest of `ahead`.
  [[nodiscard]] GPUHIST_HOST_DEVICE static std::uint32_t value_of(std::uint32_t meaning, std::uint32_t ahead) {
    return (meaning & 0xffffU) + (ahead & ((std::uint32_t{1} << (meaning >> 16U)) - 1));
  }

  const Team& team_;
  const block_code_tables& codes_;
  const symbol_meanings& meanings_;
  stretch_memory& memory_;
  unsigned stretches_ = 0;
};

}  // namespace gpuhist::gpu::cuda::deflate
