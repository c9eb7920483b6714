// The table of measures: numbers that describe a text, computed only from its 256 byte counts. docs/measures.md has the
// formulas, their sources and their limits.
#pragma once

#include "report/measures/byte_counts.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline::measures {

/// The counts to be measured. Borrows both.
struct sample {
  const byte_counts& counts;
  const byte_counts* baseline = nullptr;  ///< null: there is none
};

/// A number, or a clause with the reason why these counts have none.
struct finding {
  std::optional<double> value{};
  std::string_view reason{};  ///< of static storage; empty if there is a value

  static finding none(std::string_view reason) { return {.value = std::nullopt, .reason = reason}; }
  bool operator==(const finding&) const = default;
};

/// One row of the table. `function` is pure. If `compares`, it is only called with a baseline that has bytes.
struct measure {
  std::string_view name;
  std::string_view unit;  ///< "bits a byte"; empty for plain numbers
  bool compares = false;  ///< with a baseline
  finding (*function)(const sample&) = nullptr;
};

/// The table.
std::span<const measure> all_measures();

/// By name, or null.
const measure* find_measure(std::string_view name);

/// The finding of a measure for a sample, and the sizes of the samples.
struct measurement {
  const measure* definition = nullptr;  ///< a row of the table, never null
  finding found;
  std::uint64_t sample_size = 0;                 ///< bytes
  std::optional<std::uint64_t> baseline_size{};  ///< bytes; absent if it does not compare, or without a baseline
};

/// If the measure compares and there is no baseline, or an empty one, the finding has this as its reason.
measurement take_measure(const measure& definition, const sample& measured);

}  // namespace gpuhist::pipeline::measures
