// Counting without SIMD: the obvious loop that all others are held against, and tables of counters for many classes.
#include "gpu/host/kernel.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace gpuhist::gpu::host {
namespace {

constexpr std::size_t table_count = 4;

// Below this, clearing and folding the tables costs more than they save.
constexpr std::size_t tables_worthwhile = 4096;

using tables = std::array<std::array<std::uint32_t, 256>, table_count>;

// Bytes go to the tables in turn. A counter that was just stored takes 4 to 5 cycles until it can be loaded again, so a
// run of one letter in one table would cost that for each byte; in four tables it costs it for each four, which is what
// the one store a cycle costs in any case. Written out, not as a loop: shifts by a variable take twice the time.
template <std::size_t... I>
void add_word(tables& counters, std::uint64_t word, std::index_sequence<I...>) {
  (++counters[I % table_count][(word >> (8 * I)) & 0xffU], ...);
}
void add_word(tables& counters, std::uint64_t word) { add_word(counters, word, std::make_index_sequence<8>()); }

}  // namespace

void count_scalar(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row) {
  std::fill_n(row, what.counted.classes, 0U);
  for (const std::byte value : bytes) ++row[what.counted.class_of[std::to_integer<std::size_t>(value)]];
}

void count_tables(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row) {
  if (bytes.size() < tables_worthwhile) return count_scalar(bytes, what, row);
  tables counters{};
  const std::size_t whole = bytes.size() / 16 * 16;
  for (std::size_t at = 0; at < whole; at += 16) {
    std::array<std::uint64_t, 2> words;
    std::memcpy(words.data(), bytes.data() + at, sizeof words);
    add_word(counters, words[0]);
    add_word(counters, words[1]);
  }
  for (const std::byte value : bytes.subspan(whole)) ++counters[0][std::to_integer<std::size_t>(value)];

  std::fill_n(row, what.counted.classes, 0U);
  for (std::size_t value = 0; value < 256; ++value) {
    for (const auto& table : counters) row[what.counted.class_of[value]] += table[value];
  }
}

}  // namespace gpuhist::gpu::host
