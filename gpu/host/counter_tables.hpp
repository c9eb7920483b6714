// Tables of 256 counters in ordinary memory, the part that scalar counting has in whole kernels and in mixed ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpuhist::gpu::host {

/// Counts bytes into four tables in turn. A counter that was just stored takes 4 to 5 cycles until it can be loaded
/// again, so a run of one letter in one table would cost that for each byte; in four tables it costs it for each four,
/// which is what the one store a cycle costs in any case. 4 KiB; used by one thread.
class counter_tables {
 public:
  /// Counts one byte.
  void add(std::size_t value) { ++tables_[0][value]; }

  /// Counts the eight bytes of a word. Written out, not as a loop: shifts by a variable take twice the time. Always
  /// inline: a call from a SIMD loop would cost it its registers.
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
