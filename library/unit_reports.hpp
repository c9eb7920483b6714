// The units of a run: connects the plan, the run and what is reported of units.
#pragma once

#include "gpuhist/units.hpp"
#include "library/counting_plan.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/flow/run_hooks.hpp"
#include "report/formats/report.hpp"
#include "report/measures/previous_baseline.hpp"
#include "report/units/unit_meter.hpp"
#include "report/units/unit_result.hpp"
#include "report/units/unit_run.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace gpuhist::library {

/// One run. Used by the thread of the run, except result(), and the observer of text that connect() sets.
class unit_reports {
 public:
  /// Borrows the plan, which measures units. `on_selected`: empty: selected units are not reported as records.
  /// `on_faults`: empty: lines without field are only counted. `outlets`, `output`, `by_input`, `closed`: as those of
  /// units::unit_run.
  unit_reports(const counting_plan& planned, const report::units::unit_run::report_units& on_selected,
               const report::units::unit_run::report_faults& on_faults = {},
               report::units::kept_outlets* outlets = nullptr, report::units::unit_line_output output = {},
               std::optional<report::units::units_by_input> by_input = std::nullopt,
               report::units::closed_window_output closed = {});

  /// Sets the hooks that measure the units, before those that are set. They borrow this object.
  void connect(pipeline::run_hooks& to);

  /// Measures an input that is a unit, and reports it if it is selected. connect() lets the run do it.
  void judge(const pipeline::input_report& input);

  /// The run over its units.
  [[nodiscard]] report::units::unit_run& run() { return run_; }

  /// So far. Any thread.
  [[nodiscard]] report::units::unit_result result() const { return run_.result(); }

 private:
  // As that of an input.
  void judge(const pipeline::closed_window& window);

  report::units::unit_meter meter_;
  report::units::unit_run run_;
  report::measures::window_baselines baselines_;  // of units that are windows
  std::uint64_t inputs_ = 0;
};

// For the interface of the library. `frame`: the schemes and measures of the run.

gpuhist::unit unit_of(const report::units::unit_record& found, std::shared_ptr<const report::run_report> frame);
unit_summary summary_of(const report::units::unit_result& found,
                        const std::shared_ptr<const report::run_report>& frame);
/// The lines that match, by expression.
std::vector<gpuhist::match_count> matches_of(const report::units::group_counts& from);

line_summary lines_of(const report::units::group_result& found, const report::run_report& frame);

}  // namespace gpuhist::library

namespace gpuhist {

struct [[gnu::visibility("hidden")]] unit::state {
  std::shared_ptr<const report::run_report> frame;
  report::units::unit_record found;
};

}  // namespace gpuhist
