#include "pipeline/report/units/unit_run.hpp"

#include "pipeline/report/units/unit_reader.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline::units {

std::unique_ptr<input_observer> unit_run::open(const std::string& name, std::uint64_t order) {
  return std::make_unique<unit_reader>(*this, order, name);
}

bool unit_run::wants_publishing() const {
  const std::scoped_lock lock(mutex_);
  return !selected_.empty() || !faults_.empty();
}

void unit_run::publish() {
  std::vector<unit_record> found;
  std::vector<lines_without_field> faults;
  {
    const std::scoped_lock lock(mutex_);
    found.swap(selected_);
    faults.swap(faults_);
  }
  if (!found.empty()) report_(found);
  for (const lines_without_field& each : faults) report_lines_(each);
}

void unit_run::note(lines_without_field found) {
  if (!report_lines_) return;
  const std::scoped_lock lock(mutex_);
  faults_.push_back(std::move(found));
}

void unit_run::add(const unit_totals& more) {
  const std::scoped_lock lock(mutex_);
  totals_ += more;
}

void unit_run::add_values(std::span<const double> values) {
  const std::scoped_lock lock(mutex_);
  values_.add(values);
}

void unit_run::select(const counted_unit& found) {
  unit_record record = meter_.record_of(found, *meter_.plan().where);
  const std::scoped_lock lock(mutex_);
  selected_.push_back(std::move(record));
}

std::optional<rank> unit_run::last_rank() const {
  const std::scoped_lock lock(mutex_);
  return is_full() ? std::optional(top_.front().at) : std::nullopt;
}

void unit_run::add_ranked(double value, const counted_unit& found) {
  const auto first = [](const ranked& a, const ranked& b) { return a.at.precedes(b.at); };
  const rank at{.value = value, .input = found.input_number, .unit = found.place.number};
  unit_record record = meter_.record_of(found, meter_.plan().top->by);
  const std::scoped_lock lock(mutex_);
  if (is_full()) {
    if (!at.precedes(top_.front().at)) return;
    std::ranges::pop_heap(top_, first);
    top_.pop_back();
  }
  top_.push_back({.at = at, .unit = std::move(record)});
  std::ranges::push_heap(top_, first);
}

double unit_run::judge(const counted_unit& found) {
  const unit_plan& plan = meter_.plan();
  const double condition = plan.where ? meter_.value(*plan.where, found) : 0.0;
  const bool holds = condition == 1.0;
  const std::uint64_t bytes = found.place.bytes;
  add({.seen = 1, .bytes = bytes, .selected = holds ? 1U : 0U, .selected_bytes = holds ? bytes : 0});
  if (reports(condition)) select(found);
  if (plan.top) {
    const double value = meter_.value(plan.top->by, found);
    if (!gates::is_unknown(value)) add_ranked(value, found);
  }
  if (plan.distribution) {
    const double value = meter_.value(*plan.distribution, found);
    add_values({&value, 1});
  }
  return condition;
}

void unit_run::judge_whole(const whole_unit& found) {
  const auto input = std::make_shared<const std::string>(found.name);
  judge({.input = input,
         .input_number = wholes_++,
         .place = found.place,
         .verified = found.verified,
         .counts = found.counts,
         .sequences = {.malformed = found.malformed}});
}

unit_result unit_run::result() const {
  const unit_plan& plan = meter_.plan();
  const std::scoped_lock lock(mutex_);
  unit_result made{.each = plan.each, .totals = totals_};
  if (plan.field) made.field = plan.field->name;
  if (plan.where) made.where = plan.where->text();
  if (plan.top) made.ranked_by = plan.top->by.text();
  if (plan.distribution) made.distribution_of = plan.distribution->text();
  std::vector<ranked> sorted = top_;
  std::ranges::sort(sorted, [](const ranked& a, const ranked& b) { return a.at.precedes(b.at); });
  for (ranked& each : sorted) made.top.push_back({.value = each.at.value, .unit = std::move(each.unit)});
  made.values = values_;
  return made;
}

}  // namespace gpuhist::pipeline::units
