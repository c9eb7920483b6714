// The units of a run over files: connects the plan, the run and what is reported of units.
#pragma once

#include "gpuhist/units.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/library/counting_plan.hpp"
#include "pipeline/report/units/unit_meter.hpp"
#include "pipeline/report/units/unit_run.hpp"

#include <cstdint>

namespace gpuhist::pipeline {

/// One run. Used by the thread of the run, except observer().
class unit_reports {
 public:
  /// Borrows the plan, which measures units. `on_selected`: empty: selected units are not reported. `outlets`: as those
  /// of units::unit_run.
  unit_reports(const counting_plan& planned, const units::unit_run::report_units& on_selected,
               units::kept_outlets* outlets = nullptr);

  /// Null: units are not parts of a text.
  [[nodiscard]] text_observer* observer() { return meter_.plan().shape.divides_text() ? &run_ : nullptr; }

  [[nodiscard]] bool are_inputs() const { return has_form(units::unit_shape::form::inputs); }
  [[nodiscard]] bool are_windows() const { return has_form(units::unit_shape::form::windows); }

  // Measure an input, or a window, and report it if it is selected.
  void judge(const input_report& input);
  void judge(const closed_window& window);

  [[nodiscard]] units::unit_result result() const { return run_.result(); }

 private:
  [[nodiscard]] bool has_form(units::unit_shape::form wanted) const { return meter_.plan().shape.divides == wanted; }

  units::unit_meter meter_;
  units::unit_run run_;
  std::uint64_t inputs_ = 0;
};

/// For the interface of the library.
gpuhist::unit unit_of(const units::unit_record& found);
unit_summary summary_of(const units::unit_result& found);

}  // namespace gpuhist::pipeline
