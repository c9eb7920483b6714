// What is found in units: how many there are, which are selected, the highest values and their distribution.
#pragma once

#include "report/units/distinct_texts.hpp"
#include "report/units/group_sum.hpp"
#include "report/units/group_values.hpp"
#include "report/units/held_memory.hpp"
#include "report/units/kept_text.hpp"
#include "report/units/matched_lines.hpp"
#include "report/units/unit_meter.hpp"
#include "report/units/unit_renderer.hpp"
#include "report/units/unit_result.hpp"
#include "report/units/window_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::report::units {

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

/// A unit and its rank.
struct ranked_record {
  rank at;
  unit_record unit;
};

/// A unit with its value of the formula that ranks units.
inline ranked_record rank_of(double value, const counted_unit& found, const unit_meter& meter) {
  ranked_record made{.at = {.value = value, .input = found.input_number, .unit = found.place.number},
                     .unit = meter.record_of(found, meter.plan().top->by)};
  made.unit.rules.reset();
  return made;
}

/// The units that come first. Memory: `number` records.
class best_units {
 public:
  explicit best_units(std::size_t number) : number_(number) {}

  /// The last of the units; nothing: there is room for more. Units after it need not be added.
  [[nodiscard]] std::optional<rank> last() const {
    return heap_.size() == number_ && number_ > 0 ? std::optional(heap_.front().at) : std::nullopt;
  }

  void add(ranked_record found);

  /// All of them, in no order.
  [[nodiscard]] std::vector<ranked_record>& records() { return heap_; }
  [[nodiscard]] const std::vector<ranked_record>& records() const { return heap_; }

 private:
  std::size_t number_;
  std::vector<ranked_record> heap_;  // the last one in front
};

/// Without texts; nothing: the plan does not look for duplicates.
std::optional<distinct_texts> no_texts(const unit_plan& plan);

/// Plain data, without locks.
struct unit_findings {
  /// `classes`: of the partition that groups of lines are counted by.
  unit_findings(const unit_plan& plan, std::size_t classes)
      : best(plan.top ? plan.top->number : 0),
        groups(no_groups(plan, classes)),
        group_values(no_values(plan)),
        texts(no_texts(plan)),
        lines(plan.lines && plan.lines->events ? plan.lines->events->windows : window_lengths()) {}
  explicit unit_findings(const unit_meter& meter) : unit_findings(meter.plan(), meter.partition().classes) {}

  /// Groups stay in memory, because the windows of some are not known yet.
  static unit_findings of_later_text(const unit_meter& meter) {
    unit_findings made(meter);
    if (made.groups)
      made.groups.emplace(empty_table(*meter.plan().lines, meter.partition().classes), group_sum::limits());
    if (made.group_values) made.group_values.emplace(*empty_values(meter.plan()), group_sum::limits());
    if (made.texts) made.texts.emplace(distinct_texts::limits());
    return made;
  }

  /// Makes places that count from the end of earlier text of the input count from its beginning. `begin`: the place
  /// where the earlier text ends.
  void shift(const unit_place& begin);

  unit_findings& operator+=(unit_findings more);

  /// The lines of an input, to which lines are added that follow all others.
  rendered_units& lines_of(const std::shared_ptr<const std::string>& input);

  unit_totals totals{};
  std::vector<rule_totals> rules{};  ///< as unit_plan::counted_rows(); empty: none were counted
  distribution values{};
  std::vector<distribution> watched{};  ///< by formula of watched_values; empty: no values yet
  best_units best;
  std::optional<group_sum> groups;        ///< of the plan: nothing if it reads nothing of lines
  std::optional<group_sum> group_values;  ///< nothing: the plan has no values by group or window
  std::optional<distinct_texts> texts;    ///< nothing: the plan does not look for duplicates
  matched_lines lines;
  // To be reported, in the order of their input.
  std::vector<unit_record> selected{};
  std::vector<rendered_units> rendered{};
};

/// Adds values by formula. `to`: may be empty.
void add_watched(std::vector<distribution>& to, const std::vector<distribution>& more);

/// What was found in all units, as a result.
unit_result result_of(const unit_plan& plan, const unit_findings& found);

/// The forms in which selected units are held until they are reported.
struct selected_forms {
  bool records = false;
  const unit_renderer* lines = nullptr;  ///< null: none are rendered
};

/// Where a reader of units puts what it finds.
class unit_outlet {
 public:
  unit_outlet() = default;
  unit_outlet(const unit_outlet&) = delete;
  unit_outlet& operator=(const unit_outlet&) = delete;
  virtual ~unit_outlet() = default;

  virtual void add(const unit_totals& more) = 0;
  virtual void add_rules(std::span<const rule_totals> more) = 0;
  virtual void add_values(std::span<const double> values) = 0;
  /// `are_duplicates`: null, or receives whether each is equal to an earlier one. Precondition: unit_plan::duplicates.
  virtual void add_texts(std::span<const text_hash> texts, std::vector<bool>* are_duplicates) = 0;
  /// `values`, `lines`: of the same lines. `values`: null: none.
  virtual void add_groups(const group_table& more, const group_table* values, const matched_lines& lines) = 0;
  virtual void select(unit_record found) = 0;

  /// A unit of lower rank need not be added; nothing: all must be.
  [[nodiscard]] virtual std::optional<rank> last_rank() const = 0;
  virtual void add_ranked(ranked_record found) = 0;

  /// In which forms selected units are reported.
  [[nodiscard]] virtual selected_forms forms() const = 0;
};

/// Holds what is found in later text, whose place in its input is not known. One thread.
class held_findings final : public unit_outlet {
 public:
  /// Borrows all. `run`: what is held is added to it in the end.
  held_findings(const unit_meter& meter, const unit_outlet& run, held_memory& memory, kept_buffers& buffers)
      : run_(run), buffers_(buffers), findings_(unit_findings::of_later_text(meter)), memory_(memory) {}

  void add(const unit_totals& more) override { findings_.totals += more; }
  void add_rules(std::span<const rule_totals> more) override { units::add_rules(findings_.rules, more); }
  void add_values(std::span<const double> values) override { findings_.values.add(values); }
  void add_texts(std::span<const text_hash> texts, std::vector<bool>* are_duplicates) override;
  void add_groups(const group_table& more, const group_table* values, const matched_lines& lines) override;
  void select(unit_record found) override;
  [[nodiscard]] std::optional<rank> last_rank() const override;
  void add_ranked(ranked_record found) override { findings_.best.add(std::move(found)); }
  [[nodiscard]] selected_forms forms() const override { return run_.forms(); }

  /// The number of units that are held.
  [[nodiscard]] std::size_t size() const {
    const std::size_t lines = findings_.rendered.empty() ? 0 : findings_.rendered.back().lines.size();
    return std::max(lines, findings_.selected.size()) + findings_.best.records().size();
  }

  /// The reader also holds so many bytes of kept text.
  void note_kept(std::size_t bytes) {
    kept_bytes_ = bytes;
    note_memory();
  }

  /// Whether all readers together hold as much as they may.
  [[nodiscard]] bool is_full() const { return memory_.is_full(); }

  [[nodiscard]] unit_findings& findings() { return findings_; }

 private:
  void note_memory();

  const unit_outlet& run_;
  kept_buffers& buffers_;
  unit_findings findings_;
  held_memory::share memory_;
  std::size_t kept_bytes_ = 0;
  std::size_t record_bytes_ = 0;
  std::string end_;  // of a line
};

/// What the readers of a run, or of one of its inputs, have found and what waits to be reported. Thread-safe.
class shared_findings final : public unit_outlet {
 public:
  /// Borrows all. `wanted`: the forms in which selected units wait.
  shared_findings(const unit_meter& meter, const selected_forms& wanted, kept_buffers& buffers)
      : meter_(meter), wanted_(wanted), buffers_(buffers), findings_(meter) {
    const unit_plan& plan = meter.plan();
    if (!plan.lines || !plan.lines->closes_windows()) return;
    windows_.emplace(plan, empty_table(*plan.lines, meter.partition().classes));
    if (std::optional<group_table> values = empty_values(plan)) window_values_.emplace(plan, *std::move(values));
  }

  void add(const unit_totals& more) override;
  void add_rules(std::span<const rule_totals> more) override;
  void add_values(std::span<const double> values) override;
  void add_texts(std::span<const text_hash> texts, std::vector<bool>* are_duplicates) override;
  void add_groups(const group_table& more, const group_table* values, const matched_lines& lines) override;
  void select(unit_record found) override;
  [[nodiscard]] std::optional<rank> last_rank() const override;
  void add_ranked(ranked_record found) override;
  [[nodiscard]] selected_forms forms() const override { return wanted_; }
  void add(unit_findings more);
  void add_watched(const std::vector<distribution>& more);

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

  /// As those of window_groups. Precondition: windows close.
  [[nodiscard]] std::vector<window_sum> take_closed(std::int64_t before, window_groups::kept remainder);
  [[nodiscard]] std::size_t closed(std::int64_t before) const;

  /// Of a window that was taken.
  [[nodiscard]] matched_lines::by_condition lines_in_window(std::int64_t start, std::int64_t length) const;
  void drop_lines_before(std::int64_t time);

  /// What was found so far, without what waits.
  [[nodiscard]] unit_result result() const;

  /// Removes all that was found. Nothing waits.
  [[nodiscard]] unit_findings take_all();

 private:
  const unit_meter& meter_;
  const selected_forms wanted_;
  kept_buffers& buffers_;
  mutable std::mutex mutex_;
  unit_findings findings_;  // under the mutex
  // Under the mutex: the groups and values, if windows close.
  std::optional<window_groups> windows_{};
  std::optional<window_groups> window_values_{};
};

}  // namespace gpuhist::report::units
