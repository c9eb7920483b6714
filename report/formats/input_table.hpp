// The rows of the inputs in the table of a report: which columns, in which order, and how many.
#pragma once

#include "report/conditions/formula.hpp"
#include "report/formats/report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::report {

/// A column of the table.
struct input_column {
  enum class kind : std::uint8_t { bytes, lines, share, mostly, formula };

  kind type = kind::formula;
  std::optional<gates::formula> formula{};  ///< of that kind

  [[nodiscard]] std::string heading() const;
};

/// A plain value. Formulas are computed from the counts that the report shows. The columns and the order are also those
/// of groups of lines.
struct input_listing {
  std::vector<input_column> columns{};    ///< empty: bytes, lines, share of all bytes, the largest bucket
  std::optional<gates::formula> order{};  ///< inputs with the highest value first; absent: the order of the report
  std::optional<std::uint64_t> top{};     ///< maximum number of inputs; absent: all, or what fits on a terminal
  std::vector<gates::line_fact> facts{};  ///< of groups, that the formulas use; inputs have none of them
  std::size_t facts_of_columns = 0;       ///< the first so many are of columns, the others of the order

  /// Nothing was asked for: columns without room are left out.
  [[nodiscard]] bool is_usual() const { return columns.empty() && !order && !top; }

  /// Whether a formula must be computed from the counts of all 256 byte values.
  [[nodiscard]] bool needs_byte_counts() const;
};

/// "lower 63.1 %": the largest bucket of the first scheme; empty without bytes.
std::string most_of(const run_report& content, const gpu::tally& counts);

/// Writes the rows, the number of inputs that are left out, and an empty line. `other_lines`: of the report, which also
/// have to fit on a terminal. Reads the inputs twice or three times. Without an order, memory does not grow with the
/// number of inputs; with an order it is some 50 bytes for each row.
void write_input_table(const run_report& content, const render_target& target, std::size_t other_lines,
                       const text_sink& out);

}  // namespace gpuhist::report
