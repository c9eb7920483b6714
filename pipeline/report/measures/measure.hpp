// The table of measures: numbers that say something about a text, computed from its 256 byte counts alone.
// docs/measures.md has the formulas, where they are from, and what each of them is no proof of.
#pragma once

#include "pipeline/report/measures/byte_counts.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline::measures {

/// What is measured. Borrows both.
struct sample {
  const byte_counts& counts;
  const byte_counts* baseline = nullptr;  ///< what it is compared with; null: there is none
};

/// A number, or a clause that says why these counts have none.
struct finding {
  std::optional<double> value{};
  std::string_view reason{};  ///< of static storage; empty where there is a value

  static finding none(std::string_view why) { return {.value = std::nullopt, .reason = why}; }
  bool operator==(const finding&) const = default;
};

/// One row of the table. `of` is pure; where `compares`, it is called with a baseline that has bytes, only.
struct measure {
  std::string_view name;
  std::string_view unit;  ///< "bits a byte"; empty for plain numbers
  std::string_view words;
  bool compares = false;  ///< with a baseline
  finding (*of)(const sample&) = nullptr;
};

/// The table.
std::span<const measure> all_measures();

/// By name, or null.
const measure* find_measure(std::string_view name);

/// A measure of a sample: the finding with how many bytes it rests on.
struct measurement {
  const measure* what = nullptr;  ///< of the table, never null
  finding found;
  std::uint64_t sample_size = 0;                 ///< bytes
  std::optional<std::uint64_t> baseline_size{};  ///< bytes, where it compares and there is something to compare with
};

/// Where the measure compares and there is no baseline, or an empty one, the finding says so.
measurement take_measure(const measure& what, const sample& of);

}  // namespace gpuhist::pipeline::measures
