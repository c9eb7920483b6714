// Counting the bytes of sets of byte values, and words, in each unit of a text: the inner loop of filters of lines.
#pragma once

#include "gpu/host/kernel.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::gpu::host {

inline constexpr std::size_t max_unit_sets = 16;

/// The columns of a row of counters: one for each set of byte values (sets may overlap) and then, if there are
/// separators of words, one for the beginnings of words. A word begins at a byte that is not a separator and that
/// follows a separator or is the first byte of its unit.
struct unit_columns {
  std::vector<std::bitset<256>> sets;  ///< at most max_unit_sets
  std::optional<std::bitset<256>> word_separators;
};

/// The values of one column, by nibbles. Bit h of low_half[n] is set if the value 16 h + n is in the set; bit h of
/// high_half[n], if the value 128 + 16 h + n is.
struct nibble_set {
  std::array<std::uint8_t, 16> low_half;
  std::array<std::uint8_t, 16> high_half;
};

/// Tables of look-ups for columns and a delimiter. Immutable: any number of threads may use it.
class prepared_units {
 public:
  /// The delimiter is a separator of words, in the set of separators or not. Throws std::invalid_argument for more than
  /// max_unit_sets sets.
  prepared_units(const unit_columns& columns, std::byte delimiter);

  /// Counters of a row.
  [[nodiscard]] std::size_t columns() const { return nibbles_.size(); }

  // For the kernels. If words are counted, the last column has the values that are not separators.
  [[nodiscard]] std::byte delimiter() const { return delimiter_; }
  [[nodiscard]] bool counts_words() const { return counts_words_; }
  [[nodiscard]] std::span<const nibble_set> nibbles() const { return nibbles_; }
  /// Bit j of the entry of a value in table t is set if the value is in column 8 t + j.
  [[nodiscard]] std::span<const one_hot_table> tables() const { return tables_; }

 private:
  void add_column(const std::bitset<256>& values);

  std::byte delimiter_;
  bool counts_words_;
  std::vector<nibble_set> nibbles_;
  std::vector<one_hot_table> tables_;
};

/// Writes (does not add) the counts of `text` (under 4 GiB) to row[0 .. columns()). Looks for no delimiters: `text` is
/// within one unit, and may include its delimiter. `in_word`: whether `text` follows a byte of a word of the same
/// unit. Thread-safe.
void count_within_unit(std::span<const std::byte> text, bool in_word, const prepared_units& prepared,
                       std::uint32_t* row);

/// Counts the complete units of `text` (under 4 GiB), which begins at the beginning of a unit. A unit ends with its
/// delimiter, which is counted in it. For unit i, writes the offset after its delimiter to ends[i] and its row to
/// rows[i * columns() .. (i + 1) * columns()), until `ends` is full or no delimiter follows. `rows` has at least
/// ends.size() * columns() elements; elements of both after the last unit may be overwritten. Returns the number of
/// units; the caller resumes after the last of them. Thread-safe.
std::size_t count_units(std::span<const std::byte> text, const prepared_units& prepared, std::span<std::uint32_t> ends,
                        std::span<std::uint32_t> rows);

/// The instruction set that is used on this machine ("AVX2").
std::string_view units_instruction_set();

}  // namespace gpuhist::gpu::host
