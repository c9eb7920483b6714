// The units of a run: how many were seen and selected, the highest values, their distribution; and what is reported
// while the run lasts.
#pragma once

#include "pipeline/counts/text_observer.hpp"
#include "pipeline/report/units/kept_buffers.hpp"
#include "pipeline/report/units/kept_outlet.hpp"
#include "pipeline/report/units/unit_findings.hpp"
#include "pipeline/report/units/unit_meter.hpp"
#include "pipeline/report/units/unit_renderer.hpp"
#include "pipeline/report/units/unit_result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline::units {

/// Thread-safe. Memory: the units of the ranking, for each input the records or lines of as many units as
/// unit_reader::take_some() takes, and unit_plan::held_bytes.
class unit_run final : public text_observer, public unit_outlet {
 public:
  /// Receives reported units, at least one, those of an input in order.
  using report_units = std::function<void(std::span<const unit_record> found)>;

  /// Receives the lines without field of each input that has some, when it has ended.
  using report_faults = std::function<void(const lines_without_field& found)>;

  /// Borrows the meter. `report`: called by publish() for units that are selected, or with a filter not kept; empty: no
  /// records are made. `report_lines`: called by publish(). `outlets`: with a filter, receive the kept text; null:
  /// next_kept() returns it. Borrowed. `output`: receives the lines of the same units from publish(); they are rendered
  /// by the threads that read the text. Without `report` and `output` such units are only counted.
  unit_run(const unit_meter& meter, report_units report, report_faults report_lines = {},
           kept_outlets* outlets = nullptr, unit_line_output output = {})
      : meter_(meter),
        report_(std::move(report)),
        report_lines_(std::move(report_lines)),
        outlets_(outlets),
        output_(std::move(output)),
        held_(meter.plan().held_bytes),
        buffers_(meter.plan().held_bytes),
        findings_(meter.plan()) {}

  // ---- for units that are inputs or windows, on one thread ---------------------------------------------------------

  /// A unit that is a whole input or window.
  struct whole_unit {
    const std::string& name;
    unit_place place;
    bool verified = false;
    const gpu::tally& counts;                  ///< over the partition of the meter
    std::optional<std::uint64_t> malformed{};  ///< UTF-8 sequences; nothing: not counted
  };
  void judge_whole(const whole_unit& found);

  // ---- of text_observer --------------------------------------------------------------------------------------------

  std::unique_ptr<input_observer> open(const std::string& name, std::uint64_t order) override;

  /// Where a part of a fixed size begins depends on all text before.
  [[nodiscard]] bool divides() const override { return !meter_.plan().shape.bytes; }
  std::unique_ptr<input_observer> open_later(const std::string& name, std::uint64_t order) override;
  [[nodiscard]] bool wants_publishing() const override;
  [[nodiscard]] bool must_publish() const override;
  void publish() override;
  [[nodiscard]] bool filters() const override { return holds_text() && outlets_ == nullptr; }
  [[nodiscard]] bool holds_text() const override { return meter_.plan().filter.has_value(); }
  [[nodiscard]] bool awaits_verdicts() const override { return holds_text() && meter_.plan().filter->drops_unverified; }

  [[nodiscard]] const gpu::cuda::units::piece_classes* piece_classes() const override {
    return meter_.pieces() != nullptr ? &meter_.pieces()->classes() : nullptr;
  }

  /// The result so far.
  [[nodiscard]] unit_result result() const;

  // ---- for the readers of inputs -----------------------------------------------------------------------------------

  [[nodiscard]] const unit_meter& meter() const { return meter_; }

  /// Null: kept text is not written by the readers.
  [[nodiscard]] kept_outlets* outlets() const { return outlets_; }

  /// Whether a unit with this value of the condition is reported: one that is selected, with a filter one that is not
  /// kept.
  [[nodiscard]] bool reports(double holds) const {
    if (!reports_rejected()) return false;
    const std::optional<filtering>& filter = meter_.plan().filter;
    return filter ? !filter->keeps(holds) : holds == 1.0;
  }
  void add(const unit_totals& more) override;
  void add_values(std::span<const double> values) override;
  void select(unit_record found) override;
  [[nodiscard]] std::optional<rank> last_rank() const override;
  void add_ranked(ranked_record found) override;
  [[nodiscard]] selected_forms forms() const override {
    return {.records = report_ != nullptr, .lines = output_.form.get()};
  }
  void add(unit_findings more);
  void note(lines_without_field found);

  /// An input had an early end.
  void note_early_end();

  /// Of the readers of later text.
  [[nodiscard]] held_memory& held() { return held_; }

  [[nodiscard]] kept_buffers& buffers() { return buffers_; }

  /// Held while a line is read that needs much memory, so that there is only one.
  [[nodiscard]] std::mutex& long_lines() { return long_lines_; }

  /// Evaluates all formulas for one unit, and puts what follows into `to`. Returns the value of the condition; 0
  /// without one.
  double judge(const counted_unit& found, unit_outlet& to) const;

  /// Puts a unit that filtering::drops_unverified drops into `to`.
  void reject(const counted_unit& found, unit_outlet& to) const;

  /// Whether such units are reported.
  [[nodiscard]] bool reports_rejected() const { return report_ != nullptr || output_.form != nullptr; }

 private:
  const unit_meter& meter_;
  const report_units report_;
  const report_faults report_lines_;
  kept_outlets* const outlets_;
  const unit_line_output output_;
  held_memory held_;
  kept_buffers buffers_;
  std::mutex long_lines_;
  mutable std::mutex mutex_;  // of all below
  std::uint64_t wholes_ = 0;  // units that are inputs or windows
  std::uint64_t early_ends_ = 0;
  unit_findings findings_;
  std::vector<lines_without_field> faults_;
};

}  // namespace gpuhist::pipeline::units
