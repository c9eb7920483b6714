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
  void note_verified(const text_owner& frame) override { windows_.conclude(frame, true); }
  [[nodiscard]] std::uint64_t min_part_bytes() const override { return windows_.shape().min_pane_bytes(); }

 private:
  const rolling_counts& counts_;
  rolling_windows& windows_;
};

}  // namespace gpuhist::pipeline
