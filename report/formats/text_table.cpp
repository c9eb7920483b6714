#include "report/formats/text_table.hpp"

#include "report/formats/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <utility>

namespace gpuhist::report {
namespace {

constexpr std::string_view gap = "  ";
constexpr std::size_t narrowest_name = 8;

std::string spaces_for(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, columns(text)), ' ');
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string_view sequence_of(ink with) {
  switch (with) {
    case ink::heading:
      return "\x1b[1m";
    case ink::bar:
      return "\x1b[36m";
    case ink::alarm:
      return "\x1b[1;31m";
  }
  return "";
}

constexpr std::array<std::string_view, 8> blocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                    "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::array<std::string_view, 10> digits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

// The lowest level means 0, the highest 1.
std::string_view level(double share, std::span<const std::string_view> levels) {
  const auto highest = static_cast<double>(levels.size() - 1);
  return levels[static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * highest))];
}

}  // namespace

std::string painted(std::string text, ink with, bool color) {
  if (!color || text.empty()) return text;
  return std::string(sequence_of(with)).append(text).append("\x1b[0m");
}

std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t width, bool unicode) {
  if (count == 0 || width == 0) return {};
  const std::size_t parts = unicode ? 8 : 1;  // of a column
  const double exact = static_cast<double>(count) / static_cast<double>(largest) * static_cast<double>(width * parts);
  const auto filled = std::clamp(static_cast<std::size_t>(std::llround(exact)), std::size_t{1}, width * parts);
  if (!unicode) return std::string(filled, '#');
  std::string text;
  for (std::size_t i = 0; i < filled / 8; ++i) text += "\u2588";
  constexpr std::array<std::string_view, 8> eighths = {"",       "\u258f", "\u258e", "\u258d",
                                                       "\u258c", "\u258b", "\u258a", "\u2589"};
  return text.append(eighths[filled % 8]);
}

std::string sparkline(std::span<const double> shares, std::size_t width, bool unicode) {
  if (shares.empty() || width == 0) return {};
  const std::span<const std::string_view> levels = unicode ? std::span<const std::string_view>(blocks) : digits;
  const std::size_t group = (shares.size() + width - 1) / width;
  std::string text;
  for (; !shares.empty(); shares = shares.subspan(std::min(group, shares.size()))) {
    const auto grouped_shares = shares.first(std::min(group, shares.size()));
    text += level(
        std::accumulate(grouped_shares.begin(), grouped_shares.end(), 0.0) / static_cast<double>(grouped_shares.size()),
        levels);
  }
  return text;
}

std::string share_of(std::uint64_t count, std::uint64_t all) {
  return fixed(all == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(all), 2) + " %";
}

void row_widths::add(const table_row& row) {
  widest_.resize(std::max(widest_.size(), row.size()));
  for (std::size_t i = 0; i < row.size(); ++i) widest_[i] = std::max(widest_[i], columns(row[i]));
}

namespace {

row_widths measured(std::span<const table_row> rows) {
  row_widths widths;
  for (const table_row& each : rows) widths.add(each);
  return widths;
}

}  // namespace

text_table::text_table(std::vector<table_column> columns, std::span<const table_row> rows, std::size_t width)
    : text_table(std::move(columns), measured(rows), width) {}

text_table::text_table(std::vector<table_column> columns, const row_widths& rows, std::size_t width)
    : columns_(std::move(columns)), widths_(columns_.size()), width_(width) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths_[i] = std::max(gpuhist::report::columns(columns_[i].heading), rows.width(i));
  }
  drop_dispensable_columns();
  cut_names();
}

std::size_t text_table::bar_width() const {
  constexpr std::size_t narrowest = 4;
  constexpr std::size_t widest = 60;  // longer bars are not easier to compare
  return room() >= narrowest ? std::min(room(), widest) : 0;
}

std::size_t text_table::used() const {
  std::size_t total = 0;
  for (const std::size_t each : widths_) {
    if (each > 0) total += each + gap.size();
  }
  return total - std::min(total, gap.size());
}

// Keeps a third of the width for names: columns are dropped before names become shorter than that.
void text_table::drop_dispensable_columns() {
  const std::size_t min_name = std::max(narrowest_name, width_ / 3);
  const auto needed = [&] { return used() - widths_[0] + std::min(widths_[0], min_name); };
  while (needed() > width_) {
    std::size_t dropped = 0;
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      if (widths_[i] > 0 && columns_[i].dispensable > columns_[dropped].dispensable) dropped = i;
    }
    if (columns_[dropped].dispensable == 0) return;
    widths_[dropped] = 0;
  }
}

void text_table::cut_names() {
  const std::size_t others = used() - widths_[0];
  widths_[0] = std::min(widths_[0], std::max(narrowest_name, width_ > others ? width_ - others : 0));
}

std::string text_table::padded_line(const table_row& row) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths_[i] == 0) continue;
    const std::string cell = i == 0 ? cut_to(row[i], widths_[i]) : row[i];
    const std::string spaces = spaces_for(cell, widths_[i]);
    text += columns_[i].to_the_right ? spaces + cell : cell + spaces;
    text += gap;
  }
  return text;
}

std::string text_table::line(const table_row& row) const { return trimmed(padded_line(row)); }

std::string text_table::heading() const {
  table_row row;
  for (const table_column& each : columns_) row.push_back(each.heading);
  return line(row);
}

std::size_t text_table::room() const {
  const std::size_t taken = used() + gap.size();
  return width_ > taken ? width_ - taken : 0;
}

std::string table_lines(const text_table& table, std::span<const table_row> rows, bool color) {
  std::string text = painted(table.heading(), ink::heading, color) + "\n";
  for (const table_row& each : rows) text += table.line(each) + "\n";
  return text;
}

std::string bar_lines(const text_table& table, std::span<const bar_row> rows, bool unicode, bool color) {
  const std::size_t bars = table.bar_width();
  std::uint64_t largest = 0;
  for (const bar_row& each : rows) largest = std::max(largest, each.count);
  std::string text = painted(table.heading(), ink::heading, color) + "\n";
  for (const bar_row& each : rows) {
    const std::string drawn = bar(each.count, largest, bars, unicode);
    text += drawn.empty() ? table.line(each.cells) : table.padded_line(each.cells);
    text += painted(drawn, ink::bar, color) + "\n";
  }
  return text;
}

}  // namespace gpuhist::report
