// The measures that are requested for totals, inputs and windows.
#pragma once

#include "gpu/tally.hpp"
#include "report/measures/measure.hpp"

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
  std::optional<std::size_t> previous_windows{};  ///< N of --baseline previous:N: each window has its own baseline
  std::string warning{};                          ///< a message about the baseline; empty: none
  [[nodiscard]] bool has_baseline() const { return baseline != nullptr || previous_windows.has_value(); }
};

/// Counts over the 256 byte values. A tally without counts: no bytes.
byte_counts counts_of(const gpu::tally& counts);

/// One for each requested measure, in that order. `baseline`: of a window; null: that of `requested`.
std::vector<measurement> take_measures(const measuring& requested, const byte_counts& counts,
                                       const byte_counts* baseline = nullptr);

}  // namespace gpuhist::pipeline::measures
