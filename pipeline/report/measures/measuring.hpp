// What is asked to be measured of everything that is counted: totals, inputs and windows alike.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/report/measures/measure.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::pipeline::measures {

/// A plain value; copies share the baseline.
struct measuring {
  std::vector<const measure*> asked;              ///< in the order of reports; empty: nothing is measured
  std::shared_ptr<const byte_counts> baseline;    ///< of --baseline RESULT.json; null: none
  std::optional<std::size_t> previous_windows{};  ///< of --baseline previous:N: windows have one each
  std::string warning{};                          ///< what people must know of the baseline; empty: nothing
  [[nodiscard]] bool has_baseline() const { return baseline != nullptr || previous_windows.has_value(); }
};

/// Counts over the 256 byte values. A tally without counts is one of nothing.
byte_counts counts_of(const gpu::tally& counts);

/// One a measure that is asked, in that order. `baseline`: that of a window; null: that of `what`.
std::vector<measurement> take_measures(const measuring& what, const byte_counts& of,
                                       const byte_counts* baseline = nullptr);

}  // namespace gpuhist::pipeline::measures
