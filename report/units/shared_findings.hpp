// What the readers of a run, or of one of its inputs, have found and what waits to be reported.
#pragma once

#include "report/units/kept_buffers.hpp"
#include "report/units/unit_findings.hpp"

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline::units {

/// Thread-safe.
class shared_findings final : public unit_outlet {
 public:
  /// Borrows all. `wanted`: the forms in which selected units wait.
  shared_findings(const unit_plan& plan, const selected_forms& wanted, kept_buffers& buffers)
      : plan_(plan), wanted_(wanted), buffers_(buffers), findings_(plan) {}

  void add(const unit_totals& more) override;
  void add_values(std::span<const double> values) override;
  void select(unit_record found) override;
  [[nodiscard]] std::optional<rank> last_rank() const override;
  void add_ranked(ranked_record found) override;
  [[nodiscard]] selected_forms forms() const override { return wanted_; }
  void add(unit_findings more);

  /// Selected units that wait.
  struct waiting_units {
    std::vector<unit_record> selected{};
    std::vector<rendered_units> rendered{};
  };

  /// Removes them.
  [[nodiscard]] waiting_units take();

  struct amount {
    std::size_t batches = 0;  ///< of rendered lines
    std::size_t bytes = 0;    ///< of memory, about

    amount& operator+=(const amount& more) {
      batches += more.batches;
      bytes += more.bytes;
      return *this;
    }
  };

  /// How much waits; no bytes: nothing.
  [[nodiscard]] amount waiting() const;

  /// What was found so far, without what waits.
  [[nodiscard]] unit_findings found() const;

 private:
  const unit_plan& plan_;
  const selected_forms wanted_;
  kept_buffers& buffers_;
  mutable std::mutex mutex_;
  unit_findings findings_;  // under the mutex
};

}  // namespace gpuhist::pipeline::units
