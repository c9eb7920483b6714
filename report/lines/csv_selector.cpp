// csv:N reads the N-th column of a line of CSV (RFC 4180): a column in quotes may contain separators, and quotes that
// are written twice. csv:NAME reads the column that has this name in the first line of its input, the header.
//
// A line ends at its line feed: a column in quotes that is open there ends at the end of the line. Text between the
// closing quote and the separator belongs to the column. A quote that is not at the beginning of a column is text. An
// empty line has no columns.

#include "config/text.hpp"
#include "report/lines/selector_kinds.hpp"

#include <algorithm>

namespace gpuhist::report::lines {
namespace {

constexpr char quote_mark = '"';

class csv_selector final : public line_selector {
 public:
  // `name`: of the column, if its number is 0.
  csv_selector(unsigned number, std::string name, char separator)
      : number_(number), separator_(separator), name_(std::move(name)) {}

  std::optional<std::string_view> read(std::string_view line) override {
    if (number_ == 0) return std::nullopt;
    return column(without_carriage_return(line), number_);
  }

  [[nodiscard]] bool reads_header() const override { return !name_.empty(); }

  void read_header(std::string_view line) override {
    if (name_.empty()) return;
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    line = without_carriage_return(line);
    number_ = 1;
    std::optional<std::string_view> found = column(line, number_);
    while (found && *found != name_) found = column(line, ++number_);
    if (found) return;
    number_ = 0;
    fault_ = "its first line has no column " + config::quote(name_);
  }

  [[nodiscard]] std::string fault() const override { return fault_; }

 private:
  std::optional<std::string_view> column(std::string_view line, unsigned number) {
    if (line.empty()) return std::nullopt;
    for (unsigned left = number - 1; left > 0; --left) {
      const std::size_t separator = end_of_column(line);
      if (separator == line.size()) return std::nullopt;
      line.remove_prefix(separator + 1);
    }
    return line.starts_with(quote_mark) ? quoted(line) : line.substr(0, line.find(separator_));
  }

  // The quote that closes a text that begins after the opening quote; the end of the line if none does.
  static std::size_t closing_quote(std::string_view line, std::size_t at) {
    for (;;) {
      at = std::min(line.find(quote_mark, at), line.size());
      if (at + 1 >= line.size() || line[at + 1] != quote_mark) return at;
      at += 2;
    }
  }

  // Of the first column.
  [[nodiscard]] std::size_t end_of_column(std::string_view line) const {
    std::size_t at = 0;
    if (line.starts_with(quote_mark)) at = closing_quote(line, 1);
    return std::min(line.find(separator_, at), line.size());
  }

  // The first column, which begins with a quote.
  std::string_view quoted(std::string_view line) {
    const std::size_t closing = closing_quote(line, 1);
    std::string_view inside = line.substr(1, closing - 1);
    const std::string_view after = line.substr(std::min(closing + 1, line.size()));
    const std::string_view rest = after.substr(0, after.find(separator_));
    if (rest.empty() && inside.find(quote_mark) == std::string_view::npos) return inside;
    value_.clear();
    for (;;) {
      const std::size_t twice = inside.find(quote_mark);
      if (twice == std::string_view::npos) break;
      value_ += inside.substr(0, twice + 1);
      inside.remove_prefix(twice + 2);
    }
    value_ += inside;
    value_ += rest;
    return value_;
  }

  unsigned number_;  // 0: not known
  char separator_;
  std::string name_;
  std::string fault_;
  std::string value_;  // a column that differs from its text in the line
};

}  // namespace

reader_factory parse_csv_selector(const typed_selector& typed) {
  const std::optional<int> number = integer_argument(typed);
  if (number && *number < 1) {
    refuse(typed, config::quote(typed.argument) +
                      " is not the number of a column; write a number from 1, as in csv:3, or "
                      "a name in the first line, as in csv:status");
  }
  const char separator = typed.field_separator.value_or(',');
  if (separator == quote_mark || separator == '\n' || separator == '\r') {
    refuse(typed, config::quote(std::string_view(&separator, 1)) +
                      " cannot separate columns of CSV; use another separator, such as ','");
  }
  return [number = static_cast<unsigned>(number.value_or(0)), separator,
          name = std::string(number ? std::string_view() : typed.argument)] {
    return std::make_unique<csv_selector>(number, name, separator);
  };
}

}  // namespace gpuhist::report::lines
