#include "pipeline/report/units/unit_run.hpp"

#include "pipeline/report/units/unit_reader.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline::units {

std::unique_ptr<input_observer> unit_run::open(const std::string& name, std::uint64_t order) {
  return std::make_unique<unit_reader>(*this, order, name, unit_reader::position::first);
}

std::unique_ptr<input_observer> unit_run::open_later(const std::string& name, std::uint64_t order) {
  return std::make_unique<unit_reader>(*this, order, name, unit_reader::position::later);
}

bool unit_run::wants_publishing() const {
  const std::scoped_lock lock(mutex_);
  return !findings_.selected.empty() || !findings_.rendered.empty() || !faults_.empty();
}

bool unit_run::must_publish() const {
  constexpr std::size_t max_batches = 256;
  constexpr std::size_t max_bytes = std::size_t{4} << 20U;
  constexpr std::size_t bytes_of_record = 1024;
  const std::scoped_lock lock(mutex_);
  std::size_t bytes = findings_.selected.size() * bytes_of_record;
  for (const rendered_units& each : findings_.rendered) bytes += each.ends.size();
  return findings_.rendered.size() >= max_batches || bytes >= max_bytes;
}

void unit_run::publish() {
  std::vector<unit_record> found;
  std::vector<rendered_units> lines;
  std::vector<lines_without_field> faults;
  {
    const std::scoped_lock lock(mutex_);
    found.swap(findings_.selected);
    lines.swap(findings_.rendered);
    faults.swap(faults_);
  }
  if (!found.empty()) report_(found);
  if (!lines.empty()) output_.write_all(lines);
  for (rendered_units& each : lines) buffers_.give_back(std::move(each.ends));
  for (const lines_without_field& each : faults) report_lines_(each);
}

void unit_run::note(lines_without_field found) {
  if (!report_lines_) return;
  const std::scoped_lock lock(mutex_);
  faults_.push_back(std::move(found));
}

void unit_run::note_early_end() {
  const std::scoped_lock lock(mutex_);
  ++early_ends_;
}

void unit_run::add(const unit_totals& more) {
  const std::scoped_lock lock(mutex_);
  findings_.totals += more;
}

void unit_run::add_values(std::span<const double> values) {
  const std::scoped_lock lock(mutex_);
  findings_.values.add(values);
}

// Rendered before the lock is taken.
void unit_run::select(unit_record found) {
  constexpr std::size_t usual_bytes = 512;
  std::string end;
  if (output_.form) {
    end.reserve(usual_bytes);
    output_.form->add_end(found, end);
  }
  const std::scoped_lock lock(mutex_);
  if (output_.form) {
    rendered_units& to = findings_.lines_of(found.input);
    if (to.lines.empty()) to.ends = buffers_.take();
    to.add(found.place, end);
  }
  if (report_) findings_.selected.push_back(std::move(found));
}

std::optional<rank> unit_run::last_rank() const {
  const std::scoped_lock lock(mutex_);
  return findings_.best.last();
}

void unit_run::add_ranked(ranked_record found) {
  const std::scoped_lock lock(mutex_);
  findings_.best.add(std::move(found));
}

void unit_run::add(unit_findings more) {
  const std::scoped_lock lock(mutex_);
  findings_ += std::move(more);
}

double unit_run::judge(const counted_unit& found, unit_outlet& to) const {
  const unit_plan& plan = meter_.plan();
  const double condition = plan.where ? meter_.value(*plan.where, found) : 0.0;
  const bool holds = condition == 1.0;
  const std::uint64_t bytes = found.place.bytes;
  to.add({.seen = 1, .bytes = bytes, .selected = holds ? 1U : 0U, .selected_bytes = holds ? bytes : 0});
  if (reports(condition)) to.select(meter_.record_of(found, *plan.where));
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
         .sequences = {.malformed = found.malformed}},
        *this);
}

unit_result unit_run::result() const {
  const unit_plan& plan = meter_.plan();
  const std::scoped_lock lock(mutex_);
  unit_result made{.each = plan.each, .totals = findings_.totals};
  if (plan.field) made.field = plan.field->name;
  if (plan.where) made.where = plan.where->text();
  made.drops_unverified = awaits_verdicts();
  made.early_ends = early_ends_;
  if (plan.top) made.ranked_by = plan.top->by.text();
  if (plan.distribution) made.distribution_of = plan.distribution->text();
  std::vector<ranked_record> sorted = findings_.best.records();
  std::ranges::sort(sorted, [](const ranked_record& a, const ranked_record& b) { return a.at.precedes(b.at); });
  for (ranked_record& each : sorted) made.top.push_back({.value = each.at.value, .unit = std::move(each.unit)});
  made.values = findings_.values;
  return made;
}

}  // namespace gpuhist::pipeline::units
