#include "gpu/host/counter_tables.hpp"
#include "gpu/host/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace gpuhist::gpu::host {

// Counting without SIMD: the simple loop, which is the reference for all kernels, and tables of counters for many
// classes.

namespace {

// Below this size, clearing and folding the tables costs more than they save.
constexpr std::size_t tables_worthwhile = 1024;

}  // namespace

double scalar_cost(const prepared_partition&) { return 1.6; }
double tables_cost(const prepared_partition&) { return 1.02; }

void count_scalar(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row) {
  std::fill_n(row, prepared.counted.classes, 0U);
  for (const std::byte value : bytes) ++row[prepared.counted.class_of[std::to_integer<std::size_t>(value)]];
}

void count_tables(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row) {
  if (bytes.size() < tables_worthwhile) return count_scalar(bytes, prepared, row);
  byte_tables counters;
  const std::size_t whole = bytes.size() / 16 * 16;
  for (std::size_t at = 0; at < whole; at += 16) {
    std::array<std::uint64_t, 2> words;
    std::memcpy(words.data(), bytes.data() + at, sizeof words);
    counters.add_word(words[0]);
    counters.add_word(words[1]);
  }
  for (const std::byte value : bytes.subspan(whole)) counters.add(std::to_integer<std::size_t>(value));

  std::fill_n(row, prepared.counted.classes, 0U);
  for (std::size_t value = 0; value < 256; ++value) row[prepared.counted.class_of[value]] += counters.count(value);
}

}  // namespace gpuhist::gpu::host
