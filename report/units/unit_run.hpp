// The units of a run: how many were seen and selected, the highest values, their distribution; and what is reported
// while the run lasts.
#pragma once

#include "pipeline/counts/text_observer.hpp"
#include "report/units/event_watermark.hpp"
#include "report/units/kept_text.hpp"
#include "report/units/unit_findings.hpp"
#include "report/units/unit_meter.hpp"
#include "report/units/unit_renderer.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::report::units {

/// Of text_observer::open(): the number of the input.
constexpr std::uint64_t input_number_in(std::uint64_t order) { return static_cast<std::uint32_t>(order); }

/// For a run whose caller needs what is found of each input apart: unit_run::take(). `input`: the number of an input in
/// the run (input_id).
struct units_by_input {
  std::function<void(std::uint64_t input, std::string_view lines)> write{};  ///< receives whole lines of an input
  std::function<void()> ended{};  ///< called by publish() after the text of inputs has ended
};

/// What is called for windows that close while the run lasts (line_reading::closes_windows()).
struct closed_window_output {
  std::function<void(const closed_event_window&)> note{};  ///< called by publish() and close_windows()
  bool is_reported = false;                                ///< windows are reported, and result() does not have them
};

/// Thread-safe. Memory: the units of the ranking, for each input the records or lines of as many units as
/// unit_reader::take_some() takes, and unit_plan::held_bytes. By input: the ranking and the distribution for each input
/// that was not taken.
class unit_run final : public pipeline::text_observer {
 public:
  /// Receives reported units, at least one, those of an input in order.
  using report_units = std::function<void(std::span<const unit_record> found)>;

  /// Receives what is wrong with the lines of an input, when it has ended.
  using report_faults = std::function<void(const input_fault& found)>;

  /// Borrows the meter. `report`: called by publish() for units that are selected, or with a filter not kept; empty: no
  /// records are made. `report_lines`: called by publish(). `outlets`: with a filter, receive the kept text; null:
  /// next_kept() returns it. Borrowed. `output`: receives the lines of the same units from publish(); they are rendered
  /// by the threads that read the text. Without `report` and `output` such units are only counted. `by_input`: receives
  /// the lines instead; result() has no units then.
  unit_run(const unit_meter& meter, report_units report, report_faults report_lines = {},
           kept_outlets* outlets = nullptr, unit_line_output output = {},
           std::optional<units_by_input> by_input = std::nullopt, closed_window_output closed = {})
      : meter_(meter),
        report_(std::move(report)),
        report_lines_(std::move(report_lines)),
        outlets_(outlets),
        output_(std::move(output)),
        by_input_(std::move(by_input)),
        closed_(std::move(closed)),
        held_(meter.plan().held_bytes),
        buffers_(meter.plan().held_bytes),
        found_(meter, forms(), buffers_) {
    const std::optional<line_reading>& lines = meter.plan().lines;
    if (lines && lines->closes_windows()) {
      watermark_.emplace(
          closing_windows{.length = lines->events->windows.length, .lateness = *lines->events->lateness});
    }
  }

  // ---- for units that are inputs or windows, on one thread ---------------------------------------------------------

  /// A unit that is a whole input or window.
  struct whole_unit {
    const std::string& name;
    unit_place place;
    bool verified = false;
    const gpu::tally& counts;                         ///< over the partition of the meter
    std::optional<std::uint64_t> malformed{};         ///< UTF-8 sequences; nothing: not counted
    const measures::byte_counts* baseline = nullptr;  ///< null: that of the meter
    std::uint64_t input = 0;                          ///< by input: its number
  };
  void judge_whole(const whole_unit& found);

  // ---- of text_observer --------------------------------------------------------------------------------------------

  std::unique_ptr<pipeline::input_observer> open(const std::string& name, std::uint64_t order) override;

  /// Where a part of a fixed size, or a window of lines, begins depends on all text before, and so does what is late;
  /// columns of CSV depend on the first line.
  [[nodiscard]] bool divides() const override {
    const std::optional<line_reading>& lines = meter_.plan().lines;
    const bool has_windows_of_lines = lines && lines->events && !lines->events->times;
    return !meter_.plan().shape.bytes && !has_windows_of_lines && !watermark_ && !(lines && lines->reads_headers()) &&
           !meter_.plan().signatures && (!in_turn() || decides_later());
  }
  /// What is dropped as a duplicate depends on all text before.
  [[nodiscard]] bool in_turn() const override { return meter_.plan().drops_duplicates(); }
  std::unique_ptr<pipeline::input_observer> open_later(const std::string& name, std::uint64_t order) override;
  [[nodiscard]] bool wants_publishing() const override;
  [[nodiscard]] bool must_publish() const override;
  void publish() override;
  [[nodiscard]] bool reports_inputs() const override { return meter_.plan().reports_inputs(); }
  [[nodiscard]] bool filters() const override { return holds_text() && outlets_ == nullptr; }
  /// Of values, the caller has the text.
  [[nodiscard]] bool holds_text() const override {
    return meter_.plan().filter.has_value() && !meter_.plan().shape.are_values();
  }
  [[nodiscard]] bool awaits_verdicts() const override { return holds_text() && meter_.plan().filter->drops_unverified; }

  [[nodiscard]] const gpu::cuda::units::piece_classes* piece_classes() const override {
    return meter_.pieces() != nullptr ? &meter_.pieces()->classes() : nullptr;
  }

  // ---- if windows close; on the thread that calls publish()
  // ----------------------------------------------------------

  /// Moves the watermark if no text arrives: event_watermark::tick(). Reports windows that close.
  void tick(std::int64_t elapsed);

  /// Closes and reports all windows: after the end of the inputs.
  void close_windows();

  /// The result so far.
  [[nodiscard]] unit_result result() const;

  // ---- by input ----------------------------------------------------------------------------------------------------

  /// Whether more may be found in the text of this input.
  [[nodiscard]] bool is_open(std::uint64_t input) const;

  /// Returns what was found in an input, and removes it once the readers of the input are destroyed. Its lines have
  /// been written. Precondition: not is_open(), and publish() was called since.
  [[nodiscard]] unit_findings take(std::uint64_t input);

  // ---- for the readers of inputs -----------------------------------------------------------------------------------

  [[nodiscard]] const unit_meter& meter() const { return meter_; }

  /// Null: windows do not close before the end of the run.
  [[nodiscard]] event_watermark* watermark() { return watermark_ ? &*watermark_ : nullptr; }

  /// Null: kept text is not written by the readers.
  [[nodiscard]] kept_outlets* outlets() const { return outlets_; }

  /// Whether a unit with this value of the condition is reported: one that is selected, with a filter one that is not
  /// kept.
  [[nodiscard]] bool reports(double holds) const {
    if (!reports_rejected()) return false;
    const std::optional<filtering>& filter = meter_.plan().filter;
    return filter ? !filter->keeps(holds) : holds == 1.0;
  }

  /// Where a reader puts what it finds, until leave(). `input`: as `order` of open().
  [[nodiscard]] shared_findings& enter(std::uint64_t input);
  void leave(std::uint64_t input) noexcept;

  /// The last reader of this input has ended.
  void note_end(std::uint64_t input);

  void note(input_fault found);
  void note_missing(input_fault found);  ///< lines without field

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
  // Of an input, by input.
  struct input_findings {
    std::unique_ptr<shared_findings> found;
    unsigned readers = 0;
    bool has_ended = false;
    bool is_taken = false;
  };

  // Whether a unit may become a duplicate after it was counted as one that is kept: it is in sums only.
  [[nodiscard]] bool decides_later() const {
    const unit_plan& plan = meter_.plan();
    const bool are_listed = plan.lines && (plan.lines->has_groups() || plan.lines->expressions() > 0);
    return plan.condition_of_dropped() == 1.0 && plan.watched.is_empty() && !are_listed && !reports_rejected();
  }
  [[nodiscard]] bool is_dropped_duplicate(const text_hash& text, unit_outlet& to) const;
  [[nodiscard]] selected_forms forms() const { return {.records = report_ != nullptr, .lines = output_.form.get()}; }
  [[nodiscard]] shared_findings::amount waiting() const;
  [[nodiscard]] input_findings& findings_of(std::uint64_t input);
  void publish(shared_findings::waiting_units found, const std::function<void(std::string_view)>& write);
  void publish_windows(bool at_end);

  const unit_meter& meter_;
  const report_units report_;
  const report_faults report_lines_;
  kept_outlets* const outlets_;
  const unit_line_output output_;
  const std::optional<units_by_input> by_input_;
  const closed_window_output closed_;
  std::optional<event_watermark> watermark_;  // if windows close
  held_memory held_;
  kept_buffers buffers_;
  std::mutex long_lines_;
  shared_findings found_;     // without by_input_
  mutable std::mutex mutex_;  // of all below
  std::uint64_t wholes_ = 0;  // units that are inputs or windows
  std::uint64_t early_ends_ = 0;
  std::map<std::uint64_t, input_findings> inputs_;  // by input; only with by_input_
  bool has_ended_inputs_ = false;                   // since publish()
  std::vector<input_fault> faults_;
  std::optional<input_fault> first_missing_{};  // if fields must exist
};

}  // namespace gpuhist::report::units
