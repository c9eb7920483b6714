// Complete units of a text, one after the other, and the values of the formulas of the plan for each.
//
// Each unit is counted by a row of a few counters if these determine all formulas, else by all 256 byte values; both
// give the same values. With a field, the values of the lines are counted instead of the lines, in the same way. Of
// text that a device has measured, the rows are made from those of the pieces.
#pragma once

#include "pipeline/counts/text_values.hpp"
#include "report/conditions/formula.hpp"
#include "report/units/line_facts.hpp"
#include "report/units/line_values.hpp"
#include "report/units/unit_meter.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::report::units {

inline constexpr std::size_t byte_values = 256;

/// One thread at a time.
class unit_batch {
 public:
  /// Borrows both. `long_lines`: as that of line_values. `reference`: as that of line_facts.
  unit_batch(const unit_meter& meter, std::mutex& long_lines, std::optional<std::int64_t> reference = std::nullopt);

  /// Takes complete units from the beginning of `text`, which stays valid until the next call. `first_line`: the number
  /// of the first line. Returns the number of units; 0: no unit ends in the text.
  std::size_t fill(std::span<const std::byte> text, std::uint64_t first_line);

  /// Takes complete units from pieces, from one that begins a unit, up to a row of omitted units. They stay valid until
  /// the next call. Returns the number of pieces; 0: no unit ends in them.
  std::size_t fill(const gpu::cuda::units::piece_rows& pieces, std::size_t from);

  /// Takes values that lie together, as they are; they stay valid until the next call. Returns their number.
  /// Precondition: the first has at most max_value_bytes.
  std::size_t fill(std::span<const pipeline::text_value> values);

  static constexpr std::size_t max_value_bytes = std::size_t{16} << 20U;

  /// Evaluates the formulas for all units. Precondition: there is one.
  void evaluate();

  [[nodiscard]] std::size_t size() const { return units_; }

  /// Offset in the text after a unit.
  [[nodiscard]] std::uint32_t end_of(std::size_t unit) const { return ends_[unit]; }
  [[nodiscard]] std::uint32_t begin_of(std::size_t unit) const { return unit == 0 ? 0 : ends_[unit - 1]; }

  /// Text from the beginning of a unit to the end of another one.
  [[nodiscard]] std::span<const std::byte> text_of(std::size_t first, std::size_t last) const {
    return text_.subspan(begin_of(first), end_of(last) - begin_of(first));
  }

  /// The text of a unit, without the end of the unit; the value of a field. Precondition: has_value().
  [[nodiscard]] std::span<const std::byte> value_of(std::size_t unit) const;

  /// Whether a unit has values: not a line without field, nor an absent value.
  [[nodiscard]] bool has_value(std::size_t unit) const { return fields_ ? fields_->has_value(unit) : !is_absent(unit); }

  /// Drops a unit that is a duplicate: sets the value of the condition, and of the rule of duplicates if there is one.
  /// After evaluate(). Precondition: unit_plan::drops_duplicates().
  void drop_duplicate(std::size_t unit);

  /// The text that the values of a unit are those of: the unit, or the value of its field, which is empty if it has
  /// none. With fields also that of the line that was read alone, as unit 0.
  [[nodiscard]] std::span<const std::byte> measured(std::size_t unit) const;

  /// Counts its bytes.
  void count(std::size_t unit, gpu::tally& to) const;

  [[nodiscard]] std::uint64_t newlines_of(std::size_t unit) const;

  /// Of units one after the other.
  [[nodiscard]] std::uint64_t newlines(std::size_t first, std::size_t end) const;
  [[nodiscard]] sequence_counts sequences_of(std::size_t unit);

  /// The counters of a unit, by column. Precondition: units of a text.
  [[nodiscard]] std::span<const std::uint32_t> row_of(std::size_t unit) const {
    const std::size_t columns = meter_.prepared().columns();
    return std::span(rows_).subspan(unit * columns, columns);
  }

  /// Null: the plan reads nothing of lines.
  [[nodiscard]] line_facts* facts() { return facts_ ? &*facts_ : nullptr; }

  /// Reads the facts of the line that was open; the value of a field must have been read. Precondition: lines are read.
  void read_open();
  /// Values that are absent.
  [[nodiscard]] std::size_t absent() const { return absent_; }
  [[nodiscard]] bool is_absent(std::size_t unit) const { return absent_ > 0 && is_absent_[unit]; }

  /// The values of a formula, by unit; empty: the plan has no such formula.
  [[nodiscard]] std::span<const double> of_condition() const { return values_[condition_at]; }
  [[nodiscard]] std::span<const double> of_ranking() const { return values_[ranking_at]; }
  [[nodiscard]] std::span<const double> of_distribution() const { return values_[distribution_at]; }
  [[nodiscard]] std::span<const double> of_watched(std::size_t formula) const {
    return values_[first_watched_at + formula];
  }

  /// Whether a rule of the plan, or what selects lines without field, holds. Precondition: unit_plan::divides_rules().
  [[nodiscard]] bool rule_holds(std::size_t rule, std::size_t unit) const {
    return rule < meter_.plan().rules.size() ? of_rule(rule)[unit] == 1.0 : fields_->is_without_field(unit);
  }

  /// Null: units are measured, and no field.
  [[nodiscard]] line_values* fields() { return fields_ ? &*fields_ : nullptr; }
  [[nodiscard]] const line_values* fields() const { return fields_ ? &*fields_ : nullptr; }

 private:
  static constexpr std::size_t max_units = gates::evaluation::max_units;
  // Indices into unit_meter::formulas().
  static constexpr std::size_t condition_at = 0;
  static constexpr std::size_t ranking_at = 1;
  static constexpr std::size_t distribution_at = 2;
  static constexpr std::size_t first_watched_at = 3;

  // The numbers that formulas use of a column of rows.
  struct needed_column {
    std::size_t column = 0;
    bool count = false;
    bool share = false;
  };

  // Units of one piece each, one after the other.
  struct piece_run {
    std::size_t first_unit = 0;
    std::size_t first_piece = 0;
    std::size_t units = 0;
  };

  // A unit of several pieces.
  struct joined_unit {
    std::size_t unit = 0;
    std::array<std::uint32_t, unit_pieces::max_classes> counts{};  // of classes
  };

  std::size_t find_units(std::size_t from);
  std::size_t add_unit(std::size_t piece, joined_unit& to) const;
  void note_names();
  std::size_t fill_parts(std::uint64_t bytes);
  std::size_t fill_values(std::uint64_t first_line);
  void read_facts();
  [[nodiscard]] texts::text_reader::encoding encoding_of_texts() const {  // values of JSON are valid
    return fields_ ? texts::text_reader::encoding::utf8 : texts::text_reader::encoding::any;
  }
  [[nodiscard]] std::optional<std::byte> end_of_texts() const {
    if (!fields_ && !meter_.plan().shape.are_delimited()) return std::nullopt;
    return fields_ ? unit_meter::end_of_value : meter_.plan().shape.delimiter;
  }
  void evaluate_rows();
  void gather_names();
  void evaluate_one_by_one();
  void count_malformed();
  [[nodiscard]] std::span<double> own_values(std::size_t formula);
  void forget_missing_values();
  void join_rules();
  [[nodiscard]] std::span<const double> of_rule(std::size_t rule) const {
    return values_[values_.size() - meter_.plan().rules.size() + rule];
  }

  const unit_meter& meter_;
  std::span<const std::byte> text_{};
  std::size_t units_ = 0;
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint32_t> rows_;
  const gpu::cuda::units::piece_rows* pieces_ = nullptr;  // null: units of a text
  std::vector<piece_run> runs_;
  std::vector<joined_unit> joined_;
  std::vector<std::uint32_t> column_counts_;
  std::size_t absent_ = 0;
  std::vector<bool> is_absent_;  // by value, if there is one
  std::optional<line_values> fields_;
  std::optional<line_facts> facts_;
  std::vector<std::uint32_t> value_ends_;  // in the text of fields_
  std::vector<std::uint64_t> malformed_;
  std::vector<std::optional<gates::evaluation>> evaluations_;  // by formula
  std::vector<needed_column> needed_;
  std::vector<double> numbers_;                  // by column: max_units values of names
  std::vector<const double*> names_;             // of a formula
  std::vector<double> single_values_;            // by formula: max_units values
  std::vector<std::span<const double>> values_;  // by formula
  gpu::tally counts_;                            // of a unit
};

/// Counts the bytes of a short text. Most units are short: the tables of the fast kernels would cost more than they
/// save.
void count_bytes(std::span<const std::byte> text, gpu::tally& to);

}  // namespace gpuhist::report::units
