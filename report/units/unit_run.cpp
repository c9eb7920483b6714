#include "report/units/unit_run.hpp"

#include "report/units/unit_reader.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::report::units {
std::unique_ptr<pipeline::input_observer> unit_run::open(const std::string& name, std::uint64_t order) {
  return std::make_unique<unit_reader>(*this, order, name, unit_reader::position::first);
}

std::unique_ptr<pipeline::input_observer> unit_run::open_later(const std::string& name, std::uint64_t order) {
  return std::make_unique<unit_reader>(*this, order, name, unit_reader::position::later);
}

// Under the mutex.
unit_run::input_findings& unit_run::findings_of(std::uint64_t input) {
  input_findings& found = inputs_[input];
  if (!found.found) found.found = std::make_unique<shared_findings>(meter_, forms(), buffers_);
  return found;
}

shared_findings& unit_run::enter(std::uint64_t input) {
  if (!by_input_) return found_;
  const std::scoped_lock lock(mutex_);
  input_findings& found = findings_of(input_number_in(input));
  ++found.readers;
  return *found.found;
}

void unit_run::leave(std::uint64_t input) noexcept {
  if (!by_input_) return;
  const std::scoped_lock lock(mutex_);
  const auto found = inputs_.find(input_number_in(input));
  if (found != inputs_.end() && --found->second.readers == 0 && found->second.is_taken) inputs_.erase(found);
}

void unit_run::note_end(std::uint64_t input) {
  if (!by_input_) return;
  const std::scoped_lock lock(mutex_);
  findings_of(input_number_in(input)).has_ended = true;
  has_ended_inputs_ = true;
}

bool unit_run::is_open(std::uint64_t input) const {
  const std::scoped_lock lock(mutex_);
  const auto found = inputs_.find(input);
  return found != inputs_.end() && found->second.readers > 0 && !found->second.has_ended;
}

unit_findings unit_run::take(std::uint64_t input) {
  const std::scoped_lock lock(mutex_);
  const auto found = inputs_.find(input);
  if (found == inputs_.end()) return unit_findings(meter_);
  unit_findings taken = found->second.found->take_all();
  found->second.is_taken = true;
  if (found->second.readers == 0) inputs_.erase(found);
  return taken;
}

shared_findings::amount unit_run::waiting() const {
  constexpr std::size_t bytes_of_window = 1024;
  shared_findings::amount all = found_.waiting();
  if (watermark_) {
    const std::size_t closed = found_.closed(watermark_->closed_before());
    all += {.batches = closed, .bytes = closed * bytes_of_window};
  }
  if (!by_input_) return all;
  const std::scoped_lock lock(mutex_);
  for (const auto& [input, each] : inputs_) all += each.found->waiting();
  return all;
}

bool unit_run::wants_publishing() const {
  if (waiting().bytes > 0) return true;
  const std::scoped_lock lock(mutex_);
  return has_ended_inputs_ || !faults_.empty();
}

bool unit_run::must_publish() const {
  constexpr std::size_t max_batches = 256;
  constexpr std::size_t max_bytes = std::size_t{4} << 20U;
  const shared_findings::amount found = waiting();
  return found.batches >= max_batches || found.bytes >= max_bytes;
}

void unit_run::publish() {
  publish(found_.take(), output_.write);
  if (watermark_) publish_windows(false);
  std::vector<std::pair<std::uint64_t, shared_findings::waiting_units>> by_input;
  std::vector<input_fault> faults;
  bool has_ended_inputs = false;
  {
    const std::scoped_lock lock(mutex_);
    faults.swap(faults_);
    has_ended_inputs = std::exchange(has_ended_inputs_, false);
    for (const auto& [input, each] : inputs_) by_input.emplace_back(input, each.found->take());
  }
  for (auto& [input, found] : by_input) {
    publish(std::move(found), [&, number = input](std::string_view lines) { by_input_->write(number, lines); });
  }
  for (const input_fault& each : faults) report_lines_(each);
  if (has_ended_inputs) by_input_->ended();
}

void unit_run::publish_windows(bool at_end) {
  using kept = window_groups::kept;
  const std::vector<window_sum> taken =
      found_.take_closed(watermark_->closed_before(), closed_.is_reported ? kept::sums : kept::window);
  if (!closed_.note) return;
  for (const window_sum& each : taken) {
    closed_event_window closed{.of = group_result_of(meter_.plan(), each.groups, each.values ? &*each.values : nullptr),
                               .is_at_end = at_end};
    for (event_window& only : closed.of.windows)
      only.first_lines = found_.lines_in_window(only.start, closed.of.window);
    closed_.note(closed);
  }
  if (!taken.empty()) found_.drop_lines_before(taken.back().start + 1);
}

void unit_run::tick(std::int64_t elapsed) {
  watermark_->tick(elapsed);
  publish();
}

void unit_run::close_windows() {
  publish();
  watermark_->close_all();
  publish_windows(true);
}

void unit_run::publish(shared_findings::waiting_units found, const std::function<void(std::string_view)>& write) {
  if (!found.selected.empty()) report_(found.selected);
  if (!found.rendered.empty()) output_.write_all(found.rendered, write);
  for (rendered_units& each : found.rendered) buffers_.give_back(std::move(each.ends));
}

void unit_run::note(input_fault found) {
  if (!report_lines_) return;
  const std::scoped_lock lock(mutex_);
  faults_.push_back(std::move(found));
}

void unit_run::note_missing(input_fault found) {
  if (meter_.plan().field->must_exist) {
    const std::scoped_lock lock(mutex_);
    if (!first_missing_) first_missing_ = found;
  }
  note(std::move(found));
}

void unit_run::note_early_end() {
  const std::scoped_lock lock(mutex_);
  ++early_ends_;
}

double unit_run::judge(const counted_unit& found, unit_outlet& to) const {
  const unit_plan& plan = meter_.plan();
  double condition = plan.where ? meter_.condition_of(found) : 0.0;
  std::vector<std::size_t> rules = meter_.rules_of(found, condition);
  if (found.hash && found.has_values() && plan.counts(condition) && is_dropped_duplicate(*found.hash, to)) {
    condition = plan.condition_of_dropped();
    if (condition == 1.0) rules = {plan.rules.size() - 1};
  }
  const bool holds = condition == 1.0;
  const std::uint64_t bytes = found.place.bytes;
  to.add({.seen = 1, .bytes = bytes, .selected = holds ? 1U : 0U, .selected_bytes = holds ? bytes : 0});
  if (plan.divides_rules() && !rules.empty()) {
    std::vector<rule_totals> of_unit(plan.counted_rows());
    add_unit(of_unit, rules, bytes);
    to.add_rules(of_unit);
  }
  if (reports(condition)) {
    counted_unit with_rules = found;
    with_rules.rules = rules;
    to.select(meter_.record_of(with_rules, *plan.where));
  }
  if (plan.top) {
    const double value = meter_.value(plan.top->by, found);
    if (!gates::is_unknown(value)) to.add_ranked(rank_of(value, found, meter_));
  }
  if (plan.distribution) {
    const double value = meter_.value(*plan.distribution, found);
    to.add_values({&value, 1});
  }
  return condition;
}

// Adds the text of a unit that is counted.
bool unit_run::is_dropped_duplicate(const text_hash& text, unit_outlet& to) const {
  std::vector<bool> found;
  const bool are_dropped = meter_.plan().drops_duplicates();
  to.add_texts({&text, 1}, are_dropped ? &found : nullptr);
  return are_dropped && found.front();
}

void unit_run::reject(const counted_unit& found, unit_outlet& to) const {
  const std::uint64_t bytes = found.place.bytes;
  to.add({.seen = 1, .bytes = bytes, .unverified = 1, .unverified_bytes = bytes});
  if (reports_rejected()) to.select(meter_.record_of(found, *meter_.plan().where));
}

void unit_run::judge_whole(const whole_unit& found) {
  const auto input = std::make_shared<const std::string>(found.name);
  judge({.input = input,
         .input_number = wholes_++,
         .place = found.place,
         .verified = found.verified,
         .counts = found.counts,
         .sequences = {.malformed = found.malformed},
         .baseline = found.baseline},
        enter(found.input));
  leave(found.input);
}

unit_result unit_run::result() const {
  unit_result made = found_.result();
  const std::scoped_lock lock(mutex_);
  made.early_ends = early_ends_;
  made.missing = first_missing_;
  return made;
}

}  // namespace gpuhist::report::units
