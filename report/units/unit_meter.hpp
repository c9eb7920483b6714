// What is counted of each unit so that the formulas of a plan have values: made once, shared by the readers of all
// inputs.
#pragma once

#include "gpu/host/unit_rows.hpp"
#include "gpu/tally.hpp"
#include "gpu/value_runs.hpp"
#include "report/conditions/formula.hpp"
#include "report/measures/measure.hpp"
#include "report/units/distinct_texts.hpp"
#include "report/units/unit_pieces.hpp"
#include "report/units/unit_plan.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::report::units {

/// A formula and where its names have their values.
struct unit_formula {
  const gates::formula* formula = nullptr;
  std::vector<name_source> names{};  ///< one for each reference; only if rows suffice
};

/// What the counts of the byte values of a unit do not determine.
struct sequence_counts {
  std::uint64_t words = 0;                   ///< 0 if no formula needs them
  std::optional<std::uint64_t> malformed{};  ///< UTF-8 sequences; nothing: not counted
  std::span<const double> facts{};           ///< watched_counts::facts
};

/// A unit and its counts. Borrows all.
struct counted_unit {
  const std::shared_ptr<const std::string>& input;  ///< its name
  std::uint64_t input_number = 0;                   ///< for the order of ranked units
  unit_place place;
  bool verified = false;
  const gpu::tally& counts;  ///< over the 256 byte values if the unit is a part of a text, else over the partition
  sequence_counts sequences{};
  const measures::byte_counts* baseline = nullptr;  ///< of this unit; null: that of the meter
  std::optional<measured_field> field{};            ///< that was counted; nothing: the unit itself
  std::span<const std::size_t> rules{};             ///< those that hold
  std::optional<std::string_view> text{};           ///< its first bytes; nothing: they are not shown
  std::optional<text_hash> hash{};                  ///< of its text; nothing: it is not compared

  [[nodiscard]] bool has_values() const { return !field || field->bytes; }
  [[nodiscard]] bool is_without_field() const { return field && !field->cause.empty(); }
};

/// Immutable. Any thread may use it.
class unit_meter {
 public:
  /// Borrows all arguments. `partition`: of the counts of records. `baseline`: of all units; null: none.
  unit_meter(const unit_plan& planned, const gpu::partition& partition, const measures::byte_counts* baseline);

  [[nodiscard]] const unit_plan& plan() const { return plan_; }

  /// The formulas of the plan: condition, ranking, distribution, in this order, then those of watched_values, and the
  /// rules if they are evaluated one by one. Those that it does not have are null.
  [[nodiscard]] std::span<const unit_formula> formulas() const { return formulas_; }

  /// Whether the row of a unit determines all formulas. Else they need the counts of all its byte values.
  [[nodiscard]] bool rows_suffice() const { return rows_suffice_; }

  /// Follows each value of a field in the text that rows are counted from. Never in UTF-8.
  static constexpr std::byte end_of_value{0xff};

  /// The layout of rows.
  [[nodiscard]] const gpu::host::prepared_units& prepared() const { return *prepared_; }

  /// The column with the number of '\n'; nothing: every unit is a line.
  [[nodiscard]] std::optional<std::size_t> newline_column() const { return newlines_; }

  /// The column with the number of words; nothing: no formula needs it.
  [[nodiscard]] std::optional<std::size_t> words_column() const { return words_; }

  /// The columns with the bytes of the classes of the partition, except the last; empty: rows do not have them.
  [[nodiscard]] std::span<const std::size_t> class_columns() const { return class_columns_; }

  /// Of the groups of lines.
  [[nodiscard]] const gpu::partition& partition() const { return partition_; }
  [[nodiscard]] const gpu::host::prepared_partition& prepared_partition() const { return prepared_partition_; }

  /// Whether a formula needs the number of malformed UTF-8 sequences.
  [[nodiscard]] bool needs_malformed() const { return needs_malformed_; }

  /// How units are measured by a device; null: their text is needed on the host.
  [[nodiscard]] const unit_pieces* pieces() const { return pieces_ ? &*pieces_ : nullptr; }

  /// Whether a byte separates words.
  [[nodiscard]] static bool separates_words(std::byte value);

  /// The value of a formula for a unit; NaN: unknown.
  [[nodiscard]] double value(const gates::formula& of, const counted_unit& found) const {
    return found.has_values() ? value(of, found.counts, found.sequences, found.baseline) : gates::unknown;
  }
  [[nodiscard]] double value(const gates::formula& of, const gpu::tally& counts, const sequence_counts& sequences,
                             const measures::byte_counts* baseline = nullptr) const {
    return of.value(watched(counts, sequences, baseline)).value_or(gates::unknown);
  }

  /// The value of the condition. Precondition: the plan has one.
  [[nodiscard]] double condition_of(const counted_unit& found) const {
    return plan_.selects_missing() && found.is_without_field() ? 1.0 : value(*plan_.where, found);
  }

  /// The rules that hold for a unit with this value of the condition: their places in the plan, in ascending order.
  [[nodiscard]] std::vector<std::size_t> rules_of(const counted_unit& found, double condition) const;

  /// The unit with the values of the names in a formula.
  [[nodiscard]] unit_record record_of(const counted_unit& found, const gates::formula& of) const;

  /// The counts of byte values as those of the partition.
  [[nodiscard]] gpu::tally fold(const gpu::tally& counts) const;

  /// The part of the text of a unit, with its end, that is shown.
  [[nodiscard]] std::string_view shown_part(std::string_view text) const;

 private:
  [[nodiscard]] gates::watched_counts watched(const gpu::tally& counts, const sequence_counts& sequences,
                                              const measures::byte_counts* baseline) const;
  void add_class_columns(gpu::host::unit_columns& columns);
  [[nodiscard]] unit_formula bind(const gates::formula* typed, gpu::host::unit_columns& columns);

  const unit_plan& plan_;
  const gpu::partition& partition_;
  const gpu::host::prepared_partition prepared_partition_;  // of it
  const gpu::value_runs runs_;                              // of it
  const gpu::partition counted_;                            // of units
  const measures::byte_counts* baseline_;
  std::vector<unit_formula> formulas_;
  bool rows_suffice_ = true;
  bool needs_malformed_ = false;
  std::optional<std::size_t> newlines_;
  std::optional<std::size_t> words_;
  std::vector<std::size_t> class_columns_;
  std::optional<gpu::host::prepared_units> prepared_;
  std::optional<unit_pieces> pieces_;
};

}  // namespace gpuhist::report::units
