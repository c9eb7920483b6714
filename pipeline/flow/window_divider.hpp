// Divides text into the panes of the run's windows.
#pragma once

#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/text_divider.hpp"

namespace gpuhist::pipeline {

class window_divider final : public text_divider {
 public:
  /// Precondition: the counts have windows. They outlive the divider.
  explicit window_divider(const rolling_counts& counts) : counts_(counts), windows_(*counts.windows()) {}

  void divide(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_part>& parts) override;
  [[nodiscard]] const window_shape& shape() const { return windows_.shape(); }
  [[nodiscard]] std::uint64_t missing_in_pane(input_id input) const { return windows_.missing_in_pane(input); }

  /// Divides the next text of its stream, whose parts are known (window_cutter::cut_parts).
  void divide_parts(std::span<const planned_part> text, const text_owner& owner, std::vector<pane_part>& parts);

  void note_verified(const text_owner& frame) override { windows_.conclude(frame, true); }
  [[nodiscard]] std::uint64_t min_part_bytes() const override { return windows_.shape().min_pane_bytes(); }

 private:
  [[nodiscard]] source_name name_if_new(input_id input) const;

  const rolling_counts& counts_;
  rolling_windows& windows_;
};

}  // namespace gpuhist::pipeline
