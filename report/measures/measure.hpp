// The table of measures: numbers that describe a text, computed only from its 256 byte counts. docs/measures.md has the
// formulas, their sources and their limits.
#pragma once

#include "gpu/tally.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::measures {

/// How often each of the 256 byte values occurs: the argument of every measure. A plain value.
using byte_counts = std::array<std::uint64_t, 256>;

/// The number of bytes, for people: at most 2^64 - 1.
inline std::uint64_t bytes_in(const byte_counts& counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : counts) {
    if (__builtin_add_overflow(sum, each, &sum)) return std::numeric_limits<std::uint64_t>::max();
  }
  return sum;
}

/// The number of bytes, for formulas: no sum overflows, but only about 16 digits are exact.
inline double size_of(const byte_counts& counts) {
  double sum = 0;
  for (const std::uint64_t each : counts) sum += static_cast<double>(each);
  return sum;
}

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

/// The measures that are requested for totals, inputs and windows. A plain value; copies share the baseline.
struct measuring {
  std::vector<const measure*> asked;              ///< in the order of reports; empty: nothing is measured
  std::shared_ptr<const byte_counts> baseline;    ///< of --baseline RESULT.json; null: none
  std::optional<std::size_t> previous_windows{};  ///< N of --baseline previous:N: each window has its own baseline
  std::string warning{};                          ///< a message about the baseline; empty: none
  [[nodiscard]] bool has_baseline() const { return baseline != nullptr || previous_windows.has_value(); }
};

/// Counts over the 256 byte values. A tally without counts: no bytes.
byte_counts counts_of(const gpu::tally& counts);

/// One for each requested measure, in that order. `baseline`: of a window; null: that of `requested`.
std::vector<measurement> take_measures(const measuring& requested, const byte_counts& counts,
                                       const byte_counts* baseline = nullptr);

}  // namespace gpuhist::report::measures
