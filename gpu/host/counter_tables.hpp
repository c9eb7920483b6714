// Tables of 256 counters, the scalar part of the kernels `tables` and `planes`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpuhist::gpu::host {

/// Counts bytes in four tables in turn. A counter that was just stored can be loaded again after 4 to 5 cycles, so with
/// one table a run of one letter would take that time per byte. With four tables it takes that time per four bytes,
/// which is no slower than the limit of one store per cycle. 4 KiB; used by one thread.
class counter_tables {
 public:
  /// Counts one byte.
  void add(std::size_t value) { ++tables_[0][value]; }

  /// Counts the eight bytes of a word. Unrolled, because shifts by a variable take twice the time. Always inline,
  /// because a call would spill the registers of a SIMD loop.
  [[gnu::always_inline]] void add_word(std::uint64_t word) { add_word(word, std::make_index_sequence<8>()); }

  [[nodiscard]] std::uint32_t count(std::size_t value) const {
    return tables_[0][value] + tables_[1][value] + tables_[2][value] + tables_[3][value];
  }

 private:
  template <std::size_t... I>
  [[gnu::always_inline]] void add_word(std::uint64_t word, std::index_sequence<I...>) {
    (++tables_[I % 4][(word >> (8 * I)) & 0xffU], ...);
  }

  std::array<std::array<std::uint32_t, 256>, 4> tables_{};
};

}  // namespace gpuhist::gpu::host
