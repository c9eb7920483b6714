// Tables of counters, the scalar part of the kernels `tables`, `planes` and `pairs`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpuhist::gpu::host {

/// Counts numbers below `Counters`, bytes or numbers of 16 bits, in four tables in turn. A counter that was just stored
/// can be loaded again after 4 to 5 cycles, so with one table a run of one letter would take that time per byte. With
/// four tables it takes that time per four bytes, which is no slower than the limit of one store per cycle. 16 bytes
/// for each counter; used by one thread.
template <class Number, std::size_t Counters>
class counter_tables {
 public:
  /// Counts one number.
  void add(std::size_t number) { ++tables_[0][number]; }

  /// Counts the numbers of a word. Unrolled, because shifts by a variable take twice the time. Always inline,
  /// because a call would spill the registers of a SIMD loop.
  [[gnu::always_inline]] void add_word(std::uint64_t word) {
    add_word(word, std::make_index_sequence<sizeof word / sizeof(Number)>());
  }

  [[nodiscard]] std::uint32_t count(std::size_t number) const {
    return tables_[0][number] + tables_[1][number] + tables_[2][number] + tables_[3][number];
  }

 private:
  template <std::size_t... I>
  [[gnu::always_inline]] void add_word(std::uint64_t word, std::index_sequence<I...>) {
    (++tables_[I % 4][static_cast<Number>(word >> (8 * sizeof(Number) * I))], ...);
  }

  std::array<std::array<std::uint32_t, Counters>, 4> tables_{};
};

using byte_tables = counter_tables<std::uint8_t, 256>;

}  // namespace gpuhist::gpu::host
