// Formats rows of cells as lines of text that fit a width: aligns columns, drops the least important ones if there is
// no room, adds colours, whose escape sequences take no columns, and
// draws bars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report {

enum class ink { heading, bar, alarm };

/// The text between the escape sequences that set and reset an ink; only the text without `color`.
std::string painted(std::string text, ink with, bool color);

/// A bar of at most `width` columns, `width` columns for `largest`; a count above 0 is always visible. Exact to an
/// eighth of a column with block characters, to a column without `unicode`.
std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t width, bool unicode);

/// Shares over time in at most `width` columns. Each column shows a share from 0 to 1, or the mean of several
/// consecutive shares: as a block of eight heights, or as a digit from 0 to 9 without `unicode`. The lowest level is
/// used only for 0.
std::string sparkline(std::span<const double> shares, std::size_t width, bool unicode);

/// "12.34 %"; "0.00 %" if `all` is 0.
std::string share_of(std::uint64_t count, std::uint64_t all);

struct table_column {
  std::string heading;
  bool to_the_right = true;  ///< aligned to the right, as numbers are
  unsigned dispensable = 0;  ///< the column with the highest number is dropped first; 0 is never dropped
};

/// Cells of the first column are names: they are cut (cut_to) as the last resort. Other cells are never cut.
using table_row = std::vector<std::string>;

/// The width of the widest cell of each column, for rows that are not kept in memory.
class row_widths {
 public:
  void add(const table_row& row);
  [[nodiscard]] std::size_t width(std::size_t column) const { return column < widest_.size() ? widest_[column] : 0; }

 private:
  std::vector<std::size_t> widest_;
};

/// Columns as wide as their widest cell, fitted to a width.
class text_table {
 public:
  /// Measures the rows; each must have one cell per column. Cells are UTF-8 that is safe to print.
  text_table(std::vector<table_column> columns, std::span<const table_row> rows, std::size_t width);

  /// As above, for rows that were measured one by one.
  text_table(std::vector<table_column> columns, const row_widths& rows, std::size_t width);

  /// One line, without a line end and without trailing spaces.
  [[nodiscard]] std::string line(const table_row& row) const;
  [[nodiscard]] std::string heading() const;

  /// As line(), but padded to the width of the table and with a gap, for a bar to follow.
  [[nodiscard]] std::string padded_line(const table_row& row) const;

  /// Columns after padded_line(), up to the width; 0 if there are none.
  [[nodiscard]] std::size_t room() const;

  /// The width of the longest bar after padded_line(); 0: there is no room for bars.
  [[nodiscard]] std::size_t bar_width() const;

  /// Columns of a line in which every cell is as wide as its column.
  [[nodiscard]] std::size_t used() const;

 private:
  void drop_dispensable_columns();
  void cut_names();

  std::vector<table_column> columns_;
  std::vector<std::size_t> widths_;  // 0: dropped or empty
  std::size_t width_;
};

/// The heading and the rows, one line each.
std::string table_lines(const text_table& table, std::span<const table_row> rows, bool color);

/// A row with the count that its bar shows.
struct bar_row {
  table_row cells;
  std::uint64_t count = 0;
};

/// As above, with a bar after each row if there is room.
std::string bar_lines(const text_table& table, std::span<const bar_row> rows, bool unicode, bool color);

}  // namespace gpuhist::report
