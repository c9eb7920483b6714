// What is reported of the units of a run.
#pragma once

#include "gpu/tally.hpp"
#include "report/conditions/formula.hpp"
#include "report/units/change_result.hpp"
#include "report/units/distribution.hpp"
#include "report/units/group_result.hpp"
#include "report/units/unit_place.hpp"
#include "report/units/unit_plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// What was measured instead of a line.
struct measured_field {
  std::optional<std::uint64_t> bytes{};  ///< of the decoded value; nothing: the line has no values
  std::string cause{};                   ///< why it is without field; empty: it has a value, or is blank
};

/// What is wrong with lines of an input.
struct input_fault {
  std::shared_ptr<const std::string> input{};  ///< its name, raw bytes
  std::string cause;                           ///< "its first line has no column \"status\""
};

/// The lines without field of one input. Blank lines are not among them.
struct lines_without_field {
  std::uint64_t lines = 0;
  std::uint64_t first_line = 0;  ///< from 1
  std::string first_cause{};
};

/// The units for which a rule holds, and those for which it is the first one that holds.
struct rule_totals {
  std::uint64_t units = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_units = 0;
  std::uint64_t first_bytes = 0;

  rule_totals& operator+=(const rule_totals& more) {
    units += more.units;
    bytes += more.bytes;
    first_units += more.first_units;
    first_bytes += more.first_bytes;
    return *this;
  }
  bool operator==(const rule_totals&) const = default;
};

/// A rule of a run. Of a step of the rewriting, units are lines of texts.
struct rule_result {
  std::string name;
  std::string condition;  ///< as typed; of a step the step
  rule_totals found{};
};

/// A number of rule_totals, in all formats.
struct rule_number {
  std::string_view name;   ///< in JSON, csv and prometheus
  std::string_view words;  ///< in the table for people
  std::uint64_t rule_totals::* value;
};

inline constexpr std::array rule_numbers = {rule_number{"units", "units", &rule_totals::units},
                                            rule_number{"bytes", "bytes", &rule_totals::bytes},
                                            rule_number{"first_units", "first", &rule_totals::first_units},
                                            rule_number{"first_bytes", "bytes", &rule_totals::first_bytes}};
static_assert(sizeof(rule_totals) == rule_numbers.size() * sizeof(std::uint64_t), "every number has a row");

/// A number of a step of the rewriting, in all formats.
inline constexpr std::array step_numbers = {rule_number{"lines", "lines", &rule_totals::units},
                                            rule_number{"bytes", "bytes", &rule_totals::bytes}};

/// Adds them one by one. One of both may be empty.
inline void add_rules(std::vector<rule_totals>& to, std::span<const rule_totals> more) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) to[i] += more[i];
}

/// Adds a unit for which these rules hold, in ascending order. `to`: of all rules.
inline void add_unit(std::vector<rule_totals>& to, std::span<const std::size_t> rules, std::uint64_t bytes) {
  for (const std::size_t each : rules) {
    to[each] += {.units = 1, .bytes = bytes};
    if (each == rules.front()) to[each] += {.first_units = 1, .first_bytes = bytes};
  }
}

/// A unit that was selected or ranked. Owns everything.
struct unit_record {
  std::shared_ptr<const std::string> input;  ///< its name, raw bytes
  unit_place place;
  bool verified = false;                            ///< its text needs no verification
  gpu::tally counts;                                ///< over the partition of the plan
  std::vector<gates::named_value> values{};         ///< of the names in the condition, or of the ranking
  std::optional<measured_field> field{};            ///< nothing: the unit itself was measured
  std::optional<std::vector<std::string>> rules{};  ///< names of those that hold; nothing: it is not reported
  std::optional<std::string> text{};                ///< its first bytes, raw, without its end; nothing: it is not shown
};

/// Numbers of units and of their bytes.
struct unit_totals {
  std::uint64_t seen = 0;
  std::uint64_t bytes = 0;  ///< of units that were seen
  std::uint64_t selected = 0;
  std::uint64_t selected_bytes = 0;
  std::uint64_t without_field = 0;  ///< lines, except blank ones
  std::uint64_t unverified = 0;     ///< that filtering::drops_unverified drops; they are not selected
  std::uint64_t unverified_bytes = 0;
  // Of a result: those of distinct_texts, and the others.
  std::uint64_t distinct = 0;
  std::uint64_t distinct_bytes = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t duplicate_bytes = 0;

  unit_totals& operator+=(const unit_totals& more) {
    seen += more.seen;
    bytes += more.bytes;
    selected += more.selected;
    selected_bytes += more.selected_bytes;
    without_field += more.without_field;
    unverified += more.unverified;
    unverified_bytes += more.unverified_bytes;
    distinct += more.distinct;
    distinct_bytes += more.distinct_bytes;
    duplicates += more.duplicates;
    duplicate_bytes += more.duplicate_bytes;
    return *this;
  }
  bool operator==(const unit_totals&) const = default;
};

/// The units that a filter keeps, as `seen` and `bytes`.
inline unit_totals kept_of(const unit_totals& found, filtering::kept which) {
  if (which == filtering::kept::selected) return {.seen = found.selected, .bytes = found.selected_bytes};
  return {.seen = found.seen - found.selected - found.unverified,
          .bytes = found.bytes - found.selected_bytes - found.unverified_bytes};
}

/// A unit and its rank.
struct ranked_unit {
  double value = 0;
  unit_record unit;
};

/// The result of a run over its units.
struct unit_result {
  std::string each;  ///< as typed
  unit_totals totals;
  std::optional<std::string> field{};            ///< its name; nothing: the units themselves were measured
  std::optional<std::string> where{};            ///< as typed; several rules are joined
  std::vector<rule_result> rules{};              ///< empty: it is not reported which rules hold
  std::vector<rule_result> steps{};              ///< of the rewriting; empty: texts are not rewritten
  bool drops_unverified = false;                 ///< as that of filtering
  bool finds_duplicates = false;                 ///< as duplicate_search
  std::uint64_t early_ends = 0;                  ///< inputs whose text ended early, after some text
  std::optional<input_fault> missing{};          ///< field_of_lines::must_exist: the first fault
  std::optional<std::string> ranked_by{};        ///< as typed
  std::vector<ranked_unit> top{};                ///< highest value first; equal values in the order of inputs and units
  std::optional<std::string> distribution_of{};  ///< as typed
  distribution values{};
  std::vector<distribution_quantile> quantiles{};                     ///< of these values; none if none is known
  std::vector<std::optional<double>> watched{};                       ///< watched_values::numbers()
  std::vector<std::optional<pipeline::observed_line>> first_lines{};  ///< matched_lines::all()
  std::optional<group_result> groups{};         ///< nothing: nothing is read of lines, or changes are found
  std::optional<change_result> changes{};       ///< nothing: none are looked for
  std::shared_ptr<const group_sum> compared{};  ///< of line_reading::is_compared; null: it is not set
};

/// What conditions are about.
inline pipeline::observed_numbers numbers_of(const unit_result& found) {
  pipeline::observed_numbers made = found.groups ? numbers_of(found.groups->all) : pipeline::observed_numbers{};
  made.values = found.watched;
  made.first_lines = found.first_lines;
  return made;
}

/// A number of unit_totals, with the bytes of these units, in all formats.
struct unit_number {
  std::string_view name;        ///< in JSON, csv and prometheus
  std::string_view words;       ///< in the table for people
  std::string_view bytes_name;  ///< of the bytes, in JSON; in csv it is the name and "_bytes"
  std::uint64_t unit_totals::* units;
  std::uint64_t unit_totals::* bytes;                          ///< null: they are not counted
  std::string_view option_name{};                              ///< in JSON
  std::optional<std::string> unit_result::* option = nullptr;  ///< without it there are no such units; null: any
  bool unit_result::* part = nullptr;  ///< only a result for which it is true has them; null: any

  /// Whether these are a part of the units that were seen: formats show its share.
  [[nodiscard]] bool is_subset() const { return units != &unit_totals::seen; }

  /// Whether a result has the number.
  [[nodiscard]] bool is_in(const unit_result& found) const {
    return (option == nullptr || (found.*option).has_value()) && (part == nullptr || found.*part);
  }
};

/// In the order of csv, of the table for people and of packed totals.
inline constexpr std::array unit_numbers = {
    unit_number{"seen", "seen", "bytes", &unit_totals::seen, &unit_totals::bytes},
    unit_number{"selected", "selected", "selected_bytes", &unit_totals::selected, &unit_totals::selected_bytes, "where",
                &unit_result::where},
    unit_number{"unverified", "unverified", "unverified_bytes", &unit_totals::unverified,
                &unit_totals::unverified_bytes, "", nullptr, &unit_result::drops_unverified},
    unit_number{"without_field", "without field", "", &unit_totals::without_field, nullptr, "jsonl_field",
                &unit_result::field},
    unit_number{"distinct", "distinct", "distinct_bytes", &unit_totals::distinct, &unit_totals::distinct_bytes, "",
                nullptr, &unit_result::finds_duplicates},
    unit_number{"duplicates", "duplicates", "duplicate_bytes", &unit_totals::duplicates, &unit_totals::duplicate_bytes,
                "", nullptr, &unit_result::finds_duplicates},
};

/// In the orders of JSON and of prometheus, which are older than the table.
inline constexpr std::array unit_numbers_in_json = {unit_numbers.data(), &unit_numbers[3], &unit_numbers[1],
                                                    &unit_numbers[2],    &unit_numbers[4], &unit_numbers[5]};
inline constexpr std::array unit_numbers_in_metrics = {unit_numbers.data(), &unit_numbers[1], &unit_numbers[3],
                                                       &unit_numbers[2],    &unit_numbers[4], &unit_numbers[5]};

// One number has no bytes.
static_assert(sizeof(unit_totals) == (2 * unit_numbers.size() - 1) * sizeof(std::uint64_t) &&
                  unit_numbers_in_json.size() == unit_numbers.size() &&
                  unit_numbers_in_metrics.size() == unit_numbers.size(),
              "every number has a row, and each order has every row");

}  // namespace gpuhist::report::units
