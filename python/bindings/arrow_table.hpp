// A table in the memory layout of Arrow: one row for each input of a result.
#pragma once

#include <gpuhist/results.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::python {

/// One column. Buffers are only appended to before the column is exported.
struct arrow_column {
  std::string name;
  const char* format = "L";
  std::int64_t rows = 0;
  std::int64_t nulls = 0;
  std::vector<std::uint8_t> valid{};    ///< a bit for each row; only of nullable columns
  std::vector<std::int64_t> offsets{};  ///< of texts: rows + 1
  std::vector<std::uint8_t> bits{};     ///< of booleans
  std::vector<std::uint64_t> counts{};
  std::vector<double> numbers{};
  std::string text{};
  bool nullable = false;

  [[nodiscard]] static arrow_column of_counts(std::string name, bool nullable = false);
  [[nodiscard]] static arrow_column of_numbers(std::string name);
  [[nodiscard]] static arrow_column of_flags(std::string name);
  [[nodiscard]] static arrow_column of_text(std::string name);

  void append(std::optional<std::uint64_t> count);
  void append(std::optional<double> number);
  void append_flag(bool flag);
  [[nodiscard]] bool flag(std::int64_t row) const {
    return (bits[static_cast<std::size_t>(row / 8)] >> static_cast<unsigned>(row % 8) & 1U) != 0;
  }
  /// Bytes that are not UTF-8 become U+FFFD, because Arrow texts are UTF-8.
  void append_text(std::string_view bytes);

  /// The buffers in the order of Arrow.
  [[nodiscard]] std::vector<const void*> buffers() const;

 private:
  void append_validity(bool is_valid);
};

struct arrow_table {
  std::int64_t rows = 0;
  std::vector<arrow_column> columns;
};

/// Which rows of a table are kept.
struct row_mask {
  arrow_column kept = arrow_column::of_flags("kept");
  std::uint64_t kept_rows = 0;
  std::uint64_t nulls = 0;  ///< rows without text
  std::uint64_t bytes = 0;  ///< of all texts
  std::uint64_t kept_bytes = 0;
  std::optional<std::vector<std::optional<std::string>>> texts{};  ///< rewritten, of all rows; absent: they are not
};

/// input, format, bytes, lines, compressed_bytes, unverified_bytes, complete, error; SCHEME.BUCKET for each bucket;
/// then the measures, null where there is no value. Needs no GIL. Throws as the members of results.
[[nodiscard]] arrow_table table_of(const results& counted, const std::vector<std::string>& measures);

}  // namespace gpuhist::python
