// FSE: distributions and decoding tables (RFC 8878, 4.1). Each function runs in one thread.
#pragma once

#include "gpu/cuda/zstd/bits.hpp"
#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

/// Reads a distribution (RFC 8878, 4.1.1).
struct distribution_reader {
  std::int16_t* counts;  ///< room for max_symbols
  std::uint32_t max_symbols;
  std::uint32_t max_log;
  std::uint32_t symbols = 0;  ///< read; the sum of their counts is 1 << log
  std::uint32_t log = 0;
  std::uint32_t bytes = 0;

  /// False: it is invalid, or longer than [begin, end).
  GPUHIST_HOST_DEVICE bool read(const std::uint32_t* words, std::uint32_t begin, std::uint32_t end) {
    forward_bits bits(words, begin, end);
    log = (bits.peek16() & 15U) + 5;
    bits.skip(4);
    if (log > max_log) return false;
    std::uint32_t rest = 1U << log;  // of the sum
    while (rest > 0) {
      if (symbols >= max_symbols) return false;
      const std::int32_t count = read_count(bits, rest);
      counts[symbols++] = static_cast<std::int16_t>(count);
      rest -= static_cast<std::uint32_t>(count < 0 ? 1 : count);
      if (count == 0 && !read_zeros(bits)) return false;
    }
    bytes = bits.bytes_read();
    return bytes <= end - begin;
  }

 private:
  // A value of 0 to rest + 1 that is one more than the count. The smaller values have one bit less.
  GPUHIST_HOST_DEVICE static std::int32_t read_count(forward_bits& bits, std::uint32_t rest) {
    const std::uint32_t width = highest_bit(rest + 1) + 1;
    const std::uint32_t half = 1U << (width - 1);
    const std::uint32_t short_values = 2 * half - (rest + 2);
    const std::uint32_t next = bits.peek16();
    std::uint32_t value = next & (half - 1);
    if (value < short_values) {
      bits.skip(width - 1);
    } else {
      value = next & (2 * half - 1);
      if (value >= half) value -= short_values;
      bits.skip(width);
    }
    return static_cast<std::int32_t>(value) - 1;
  }

  // After a zero, pairs of bits say how many more zeros follow; 3: and another pair.
  GPUHIST_HOST_DEVICE bool read_zeros(forward_bits& bits) {
    for (;;) {
      const std::uint32_t more = bits.peek16() & 3U;
      bits.skip(2);
      if (more > max_symbols - symbols) return false;
      for (std::uint32_t i = 0; i < more; ++i) counts[symbols++] = 0;
      if (more < 3) return true;
    }
  }
};

/// A state of an FSE code: its symbol, and its number among the states of the symbol, counted from the number of these
/// states on (RFC 8878, 4.1.1). The number gives the successors: with the bits that follow they are the states
/// [number << bits, (number + 1) << bits) less the size of the table, where `bits` makes the result fit.
///
///     15        6 5      0
///     |  number  | symbol |
struct fse_entry {
  std::uint16_t value;

  GPUHIST_HOST_DEVICE static fse_entry make(std::uint32_t symbol, std::uint32_t number) {
    return {static_cast<std::uint16_t>(number << 6U | symbol)};
  }
  GPUHIST_HOST_DEVICE std::uint32_t symbol() const { return value & 63U; }
  GPUHIST_HOST_DEVICE std::uint32_t bits(std::uint32_t log) const { return log - highest_bit(number()); }
  GPUHIST_HOST_DEVICE std::uint32_t next(std::uint32_t log, std::uint32_t bits, std::uint32_t read) const {
    return (number() << bits) - (1U << log) + read;
  }

 private:
  GPUHIST_HOST_DEVICE std::uint32_t number() const { return value >> 6U; }
};

/// Fills a table of 1 << log entries from counts whose sum is that; log is at most 9, there are at most 64 symbols.
/// `uses` has room for `symbols` numbers.
GPUHIST_HOST_DEVICE inline void build_fse_table(fse_entry* table, std::uint16_t* uses, const std::int16_t* counts,
                                                std::uint32_t symbols, std::uint32_t log) {
  const std::uint32_t size = 1U << log;
  const std::uint32_t step = (size >> 1U) + (size >> 3U) + 3;
  std::uint32_t top = size;  // symbols with a count of -1 have one state each, at the end
  for (std::uint32_t symbol = 0; symbol < symbols; ++symbol) {
    uses[symbol] = static_cast<std::uint16_t>(counts[symbol] < 0 ? 1 : counts[symbol]);
    if (counts[symbol] < 0) table[--top] = fse_entry::make(symbol, 0);
  }
  std::uint32_t at = 0;
  for (std::uint32_t symbol = 0; symbol < symbols; ++symbol) {
    for (std::int32_t i = 0; i < counts[symbol]; ++i) {
      table[at] = fse_entry::make(symbol, 0);
      do at = (at + step) & (size - 1);
      while (at >= top);
    }
  }
  for (std::uint32_t state = 0; state < size; ++state) {
    const std::uint32_t symbol = table[state].symbol();
    table[state] = fse_entry::make(symbol, uses[symbol]++);
  }
}

}  // namespace gpuhist::gpu::cuda::zstd
