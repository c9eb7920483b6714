// Divides text into panes while it is cut into chunks. A cutter without a divider makes no panes; that of windows
// assigns text to panes in the order of the stream.
#pragma once

#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/segment.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// All members are thread-safe.
class text_divider {
 public:
  text_divider() = default;
  text_divider(const text_divider&) = delete;
  text_divider& operator=(const text_divider&) = delete;
  virtual ~text_divider() = default;

  /// Appends the slices of `text`, which is 1 byte or more, and the next text of its stream.
  virtual void divide(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_slice>& slices) = 0;

  /// All text of this frame was divided, and the frame was verified before any of its text was counted.
  virtual void note_verified(const text_owner& frame) = 0;

  /// The fewest bytes of a slice, except the first and the last slice of a text. 0: a text is one slice.
  [[nodiscard]] virtual std::uint64_t min_slice_bytes() const = 0;
};

/// Divides text into the panes of the run's windows.
class window_divider final : public text_divider {
 public:
  /// Precondition: the counts have windows. They outlive the divider.
  explicit window_divider(const rolling_counts& counts) : counts_(counts), windows_(*counts.windows()) {}

  void divide(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_slice>& slices) override {
    windows_.cut(text, owner, name_if_new(owner.input), slices);
  }
  [[nodiscard]] const window_shape& shape() const { return windows_.shape(); }
  [[nodiscard]] std::uint64_t missing_in_pane(input_id input) const { return windows_.missing_in_pane(input); }

  /// Divides the next text of its stream, whose slices are known (window_cutter::cut_slices).
  void divide_slices(std::span<const planned_slice> text, const text_owner& owner, std::vector<pane_slice>& slices) {
    windows_.cut_slices(text, owner, name_if_new(owner.input), slices);
  }

  void note_verified(const text_owner& frame) override { windows_.conclude(frame, true); }
  [[nodiscard]] std::uint64_t min_slice_bytes() const override { return windows_.shape().min_pane_bytes(); }

 private:
  [[nodiscard]] source_name name_if_new(input_id input) const {
    return windows_.is_new(input) ? std::make_shared<const std::string>(counts_.name_of(input)) : nullptr;
  }

  const rolling_counts& counts_;
  rolling_windows& windows_;
};

}  // namespace gpuhist::pipeline
