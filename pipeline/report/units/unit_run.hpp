// The units of a run: how many were seen and selected, the highest values, their distribution; and what is reported
// while the run lasts.
#pragma once

#include "pipeline/counts/text_observer.hpp"
#include "pipeline/report/units/kept_outlet.hpp"
#include "pipeline/report/units/unit_meter.hpp"
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

/// The order of ranked units that does not depend on threads: by value, then by the input, then by the unit.
struct rank {
  double value = 0;
  std::uint64_t input = 0;  ///< its place in the order of inputs
  std::uint64_t unit = 0;   ///< its number

  /// Whether this unit comes first.
  [[nodiscard]] bool precedes(const rank& other) const {
    if (value != other.value) return value > other.value;
    return input != other.input ? input < other.input : unit < other.unit;
  }
};

/// Thread-safe. Memory: the units of the ranking, and for each input that is read the records of as many units as
/// unit_reader::take_some() takes.
class unit_run final : public text_observer {
 public:
  /// Receives reported units, at least one, those of an input in order.
  using report_units = std::function<void(std::span<const unit_record> found)>;

  /// Borrows the meter. `report`: called by publish() for units that are selected, or with a filter not kept; empty:
  /// they are only counted. `outlets`: with a filter, receive the kept text; null: next_kept() returns it. Borrowed.
  unit_run(const unit_meter& meter, report_units report, kept_outlets* outlets = nullptr)
      : meter_(meter), report_(std::move(report)), outlets_(outlets) {}

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
  [[nodiscard]] bool wants_publishing() const override;
  void publish() override;
  [[nodiscard]] bool filters() const override { return meter_.plan().filter.has_value() && outlets_ == nullptr; }

  /// The result so far.
  [[nodiscard]] unit_result result() const;

  // ---- for the readers of inputs -----------------------------------------------------------------------------------

  [[nodiscard]] const unit_meter& meter() const { return meter_; }

  /// Null: kept text is not written by the readers.
  [[nodiscard]] kept_outlets* outlets() const { return outlets_; }

  /// Whether a unit with this value of the condition is reported: one that is selected, with a filter one that is not
  /// kept.
  [[nodiscard]] bool reports(double holds) const {
    if (!report_) return false;
    const std::optional<filtering>& filter = meter_.plan().filter;
    return filter ? !filter->keeps(holds) : holds == 1.0;
  }
  void add(const unit_totals& more);
  void add_values(std::span<const double> values);
  void select(const counted_unit& found);

  /// The last of the ranked units; nothing: there is room for more. Units after it need not be added.
  [[nodiscard]] std::optional<rank> last_rank() const;
  void add_ranked(double value, const counted_unit& found);

  /// Evaluates all formulas for one unit, and does everything that follows. Returns the value of the condition; 0
  /// without one.
  double judge(const counted_unit& found);

 private:
  struct ranked {
    rank at;
    unit_record unit;
  };

  [[nodiscard]] bool is_full() const { return top_.size() == meter_.plan().top->number; }

  const unit_meter& meter_;
  const report_units report_;
  kept_outlets* const outlets_;
  mutable std::mutex mutex_;  // of all below
  std::uint64_t wholes_ = 0;  // units that are inputs or windows
  unit_totals totals_;
  distribution values_;
  std::vector<ranked> top_;  // a heap, the last one in front
  std::vector<unit_record> selected_;
};

}  // namespace gpuhist::pipeline::units
