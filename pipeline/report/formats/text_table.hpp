// Rows of cells as lines of text that fit a width: what is aligned how, what goes first where there is no room, and the
// colours, whose escape sequences are never counted as columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

enum class ink { heading, bar, alarm };

/// The text between the escape sequences of an ink and of none; the text alone without `color`.
std::string painted(std::string text, ink with, bool color);

/// A bar of at most `width` columns, the whole width for `largest`; what is counted at all shows. Exact to an eighth of
/// a column with block characters, to a column without `unicode`.
std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t width, bool unicode);

/// "12.34 %"; 0 where `all` is 0.
std::string share_of(std::uint64_t count, std::uint64_t all);

struct table_column {
  std::string heading;
  bool to_the_right = true;  ///< as numbers are; names begin at the left
  unsigned dispensable = 0;  ///< where the width does not suffice the column with the highest goes first; 0 stays
};

/// Cells of the first column are names: they are cut (cut_to) where all else does not help. Others are never cut.
using table_row = std::vector<std::string>;

/// How wide the widest cell of each column is, of rows that nobody keeps.
class row_widths {
 public:
  void add(const table_row& row);
  [[nodiscard]] std::size_t of(std::size_t column) const { return column < widest_.size() ? widest_[column] : 0; }

 private:
  std::vector<std::size_t> widest_;
};

/// Columns as wide as their widest cell, fitted to a width.
class text_table {
 public:
  /// Measures the rows; all must have a cell a column. Cells are UTF-8 that is safe to print.
  text_table(std::vector<table_column> columns, std::span<const table_row> rows, std::size_t width);

  /// The same of rows that were measured one by one.
  text_table(std::vector<table_column> columns, const row_widths& rows, std::size_t width);

  /// One line without its end, and without spaces at its end.
  [[nodiscard]] std::string line(const table_row& row) const;
  [[nodiscard]] std::string heading() const;

  /// The same with spaces up to the table's width and a gap, for a bar to follow.
  [[nodiscard]] std::string padded_line(const table_row& row) const;

  /// Columns that are left behind padded_line(); 0 where there are none.
  [[nodiscard]] std::size_t room() const;

 private:
  [[nodiscard]] std::size_t used() const;
  void drop_dispensable_columns();
  void cut_names();

  std::vector<table_column> columns_;
  std::vector<std::size_t> widths_;  // 0: dropped, or nothing in it
  std::size_t width_;
};

}  // namespace gpuhist::pipeline
