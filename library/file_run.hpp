// A run over files: the implementation of count_files(), and what the command needs beyond it.
#pragma once

#include "gpuhist/files.hpp"
#include "library/counting_plan.hpp"
#include "library/event_publisher.hpp"
#include "library/unit_reports.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/run_hooks.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace gpuhist::library {

/// Looks up all inputs of the plan: directories are walked, and the list of names is read, which may block. Memory: all
/// names. Throws config::usage_error if an input is an output of the plan.
pipeline::looked_up_inputs look_up_inputs(const counting_plan& planned);

/// Only for a run that is all that its process does.
struct process_hooks {
  bool process_exits = false;                                         ///< as run_hooks::process_exits
  std::function<void()> write_kept{};                                 ///< as run_hooks::write_kept
  std::function<void(const pipeline::run_progress&)> on_status{};     ///< as run_hooks::status
  std::shared_ptr<async::wakeup> status_requests{};                   ///< as run_hooks::status_requests
  std::function<std::shared_ptr<void>(async::event_loop&)> attach{};  ///< as run_hooks::attach
  /// Returns where the lines of the units go that counting_events::on_unit receives. `frame`: the schemes and measures
  /// of the run; it outlives the run. Empty: they are not written.
  std::function<report::units::unit_line_output(const report::run_report& frame)> unit_lines{};
  /// Receives windows of event time that close during the run, before conditions are checked for them. `baseline`: of
  /// the window; null: that of the run. `frame`: as above. Empty: windows that close are a part of the result.
  std::function<void(const report::run_report& frame, const report::units::closed_event_window& closed,
                     const report::measures::byte_counts* baseline)>
      on_event_window{};
  /// As that of units::unit_run. It receives the lines of `unit_lines`.
  std::optional<report::units::units_by_input> units_by_input{};
  /// With `units_by_input`: returns the units of all inputs, for conditions. Called after the last input.
  std::function<report::units::unit_result()> all_units{};
  std::function<void(const pipeline::window_verdict&)> on_window_verdict{};  ///< as run_hooks::verdict
  std::function<void(const pipeline::input_report&)> on_input{};  ///< every finished input, in the order of reports
  std::function<void(std::span<const pipeline::completed_input>)> on_completed{};  ///< as run_hooks::inputs_completed
  std::function<void(std::span<const pipeline::input_prefix>)> on_prefixes{};      ///< as run_hooks::prefixes
  std::chrono::milliseconds prefix_interval{0};                                    ///< as run_hooks::prefix_interval
  /// The counts of inputs that are not read again (run_plan::is_counted), over the partition of the plan: conditions
  /// are checked for them, and they are added to the totals. They outlive the run. Null: none.
  const pipeline::run_counts* earlier = nullptr;
  report::units::kept_outlets* outlets = nullptr;  ///< as those of units::unit_run; outlive the run
};

struct finished_run {
  file_outcome outcome;      ///< the content of its result has statistics if the plan asks for them
  bool is_stopped = false;   ///< as outcome::is_stopped
  bool end_at_once = false;  ///< as outcome::end_at_once
};

/// One run. Used by one thread, on which all callbacks are called.
class file_run {
 public:
  /// Borrows `planned` and `events`.
  file_run(const counting_plan& planned, const file_events& events, std::stop_token stop, process_hooks process = {});

  /// Throws what pipeline::run() throws.
  finished_run run();

  /// Null: no units are measured.
  [[nodiscard]] unit_reports* units() { return units_.get(); }

  /// The exception of a callback, if run() threw because of one; else null.
  [[nodiscard]] const std::exception_ptr& thrown_by_callback() const { return publisher_.thrown(); }

 private:
  [[nodiscard]] pipeline::run_hooks hooks();
  [[nodiscard]] finished_run conclude(pipeline::outcome finished) const;
  void connect_units(pipeline::run_hooks& to);
  void note(const report::units::closed_event_window& closed);
  void add_earlier(pipeline::run_counts& to);
  void watch_totals(const pipeline::run_counts& result);
  void publish(const pipeline::input_report& input);
  [[nodiscard]] results results_of(report::run_report::kind kind, pipeline::run_counts counts) const;
  [[nodiscard]] run_status status_of(const pipeline::outcome& finished) const;

  const counting_plan& plan_;
  const file_events& events_;
  const std::stop_token stop_;
  const process_hooks process_;
  event_publisher publisher_;
  std::unique_ptr<unit_reports> units_;  // null: no units are measured
  bool has_ended_by_condition_ = false;
};

/// The size of all inputs as they are stored, in bytes; nothing if it is not known.
std::optional<std::uint64_t> size_of_inputs(const counting_plan& planned);

}  // namespace gpuhist::library
