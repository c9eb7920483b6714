#include "report/units/unit_findings.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace gpuhist::report::units {
namespace {

// Null: there are none.
const group_sum* address_of(const std::optional<group_sum>& values) { return values ? &*values : nullptr; }

// Whether each is equal to an earlier one.
std::vector<bool> add_in_order(std::span<const text_hash> texts, distinct_texts& to) {
  std::vector<bool> found;
  found.reserve(texts.size());
  for (const text_hash& each : texts) found.push_back(to.add_next(each));
  return found;
}

bool comes_first(const ranked_record& a, const ranked_record& b) { return a.at.precedes(b.at); }

}  // namespace

void best_units::add(ranked_record found) {
  if (number_ == 0) return;
  if (heap_.size() == number_) {
    if (!found.at.precedes(heap_.front().at)) return;
    std::ranges::pop_heap(heap_, comes_first);
    heap_.pop_back();
  }
  heap_.push_back(std::move(found));
  std::ranges::push_heap(heap_, comes_first);
}

void unit_findings::shift(const unit_place& begin) {
  for (unit_record& each : selected) each.place.shift(begin);
  for (rendered_units& each : rendered) {
    for (rendered_units::line& line : each.lines) line.place.shift(begin);
  }
  for (ranked_record& each : best.records()) {
    each.unit.place.shift(begin);
    each.at.unit = each.unit.place.number;
  }
  if (groups) groups->shift(begin);
  lines.shift(begin);
}

unit_findings& unit_findings::operator+=(unit_findings more) {
  totals += more.totals;
  add_rules(rules, more.rules);
  values += more.values;
  add_watched(watched, more.watched);
  if (more.groups) groups->add(*more.groups);
  if (more.group_values) group_values->add(*more.group_values);
  if (more.texts) texts->add(*more.texts);
  lines += more.lines;
  for (ranked_record& each : more.best.records()) best.add(std::move(each));
  std::ranges::move(more.selected, std::back_inserter(selected));
  std::ranges::move(more.rendered, std::back_inserter(rendered));
  return *this;
}

std::optional<distinct_texts> no_texts(const unit_plan& plan) {
  if (!plan.duplicates) return std::nullopt;
  return distinct_texts({.in_memory = plan.duplicates->in_memory, .spilled_to = plan.duplicates->spilled_to});
}

void add_watched(std::vector<distribution>& to, const std::vector<distribution>& more) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) to[i] += more[i];
}

namespace {

void add_texts(unit_totals& to, const distinct_texts& found) {
  const text_numbers distinct = found.distinct();
  to.distinct = distinct.texts;
  to.distinct_bytes = distinct.bytes;
  to.duplicates = found.all().texts - distinct.texts;
  to.duplicate_bytes = found.all().bytes - distinct.bytes;
}

std::vector<rule_result> rules_of(const unit_plan& plan, const unit_findings& found) {
  std::vector<rule_result> made;
  if (!plan.reports_rules()) return made;
  for (const unit_rule& each : plan.rules) made.push_back({.name = each.name, .condition = each.when.text()});
  if (plan.selects_missing()) made.push_back({.name = rule_of_missing_field, .condition = ""});
  if (!plan.divides_rules()) {
    const unit_totals& of = found.totals;
    made.front().found = {
        .units = of.selected, .bytes = of.selected_bytes, .first_units = of.selected, .first_bytes = of.selected_bytes};
  }
  for (std::size_t i = 0; i < std::min(plan.counted_rules(), found.rules.size()); ++i) made[i].found = found.rules[i];
  return made;
}

std::vector<rule_result> steps_of(const unit_plan& plan, const unit_findings& found) {
  std::vector<rule_result> made;
  for (const texts::rewriting_step& each : plan.rewriting) {
    made.push_back({.name = each.name, .condition = each.typed});
    const std::size_t at = plan.counted_rules() + made.size() - 1;
    if (at < found.rules.size()) made.back().found = found.rules[at];
  }
  return made;
}

}  // namespace

unit_result result_of(const unit_plan& plan, const unit_findings& found) {
  unit_result made{.each = plan.each, .totals = found.totals};
  if (plan.field) made.field = plan.field->name;
  if (plan.where) made.where = plan.where->text();
  made.rules = rules_of(plan, found);
  made.steps = steps_of(plan, found);
  made.drops_unverified = plan.filter && plan.filter->drops_unverified;
  made.finds_duplicates = found.texts.has_value();
  if (found.texts) add_texts(made.totals, *found.texts);
  if (plan.top) made.ranked_by = plan.top->by.text();
  if (plan.distribution) made.distribution_of = plan.distribution->text();
  std::vector<ranked_record> sorted = found.best.records();
  std::ranges::sort(sorted, [](const ranked_record& a, const ranked_record& b) { return a.at.precedes(b.at); });
  for (ranked_record& each : sorted) made.top.push_back({.value = each.at.value, .unit = std::move(each.unit)});
  made.values = found.values;
  if (found.values.known() > 0) {
    for (const double each : plan.quantiles) made.quantiles.push_back({each, found.values.quantile(each)});
  }
  made.watched = plan.watched.numbers(found.watched);
  made.first_lines = found.lines.all();
  if (found.groups && plan.lines->is_compared) {
    made.compared = std::make_shared<const group_sum>(*found.groups);
  } else if (found.groups && plan.lines->finds_changes) {
    made.changes = change_result_of(*plan.lines, *found.groups);
  } else if (found.groups) {
    made.groups = group_result_of(plan, *found.groups, address_of(found.group_values));
    for (event_window& each : made.groups->windows)
      each.first_lines = found.lines.in_window(each.start, made.groups->window);
  }
  return made;
}

rendered_units& unit_findings::lines_of(const std::shared_ptr<const std::string>& input) {
  const auto found =
      std::find_if(rendered.rbegin(), rendered.rend(), [&](const rendered_units& each) { return each.input == input; });
  if (found != rendered.rend()) return *found;
  rendered.push_back({.input = input});
  return rendered.back();
}

void held_findings::select(unit_record found) {
  const selected_forms wanted = forms();
  if (wanted.lines != nullptr) {
    end_.clear();
    wanted.lines->add_end(found, end_);
    rendered_units& to = findings_.lines_of(found.input);
    if (to.lines.empty()) to.ends = buffers_.take();
    to.add(found.place, end_);
  }
  if (wanted.records) {
    constexpr std::size_t bytes_of_value = 64;
    record_bytes_ +=
        sizeof(unit_record) + found.counts.counts.size() * sizeof(std::uint64_t) + found.values.size() * bytes_of_value;
    findings_.selected.push_back(std::move(found));
  }
  note_memory();
}

void held_findings::add_groups(const group_table& more, const group_table* values, const matched_lines& lines) {
  findings_.groups->add(more);
  findings_.lines += lines;
  if (values != nullptr) findings_.group_values->add(*values);
  note_memory();
}

// Later text is not observed before earlier text if the caller needs to know.
void held_findings::add_texts(std::span<const text_hash> texts, std::vector<bool>*) {
  findings_.texts->add(texts);
  note_memory();
}

void held_findings::note_memory() {
  const std::size_t lines = findings_.rendered.empty() ? 0 : findings_.rendered.back().bytes();
  const std::size_t groups = findings_.groups ? findings_.groups->bytes() : 0;
  const std::size_t values = findings_.group_values ? findings_.group_values->bytes() : 0;
  const std::size_t texts = findings_.texts ? findings_.texts->memory() : 0;
  memory_.grow_to(kept_bytes_ + record_bytes_ + lines + groups + values + texts);
}

// Both exclude units rightly: a number that counts from the end of earlier text is at most the real one.
std::optional<rank> held_findings::last_rank() const {
  const std::optional<rank> of_run = run_.last_rank();
  const std::optional<rank> own = findings_.best.last();
  return !own || (of_run && of_run->value > own->value) ? of_run : own;
}

void shared_findings::add(const unit_totals& more) {
  const std::scoped_lock lock(mutex_);
  findings_.totals += more;
}

void shared_findings::add_rules(std::span<const rule_totals> more) {
  const std::scoped_lock lock(mutex_);
  units::add_rules(findings_.rules, more);
}

void shared_findings::add_values(std::span<const double> values) {
  const std::scoped_lock lock(mutex_);
  findings_.values.add(values);
}

void shared_findings::add_groups(const group_table& more, const group_table* values, const matched_lines& lines) {
  const std::scoped_lock lock(mutex_);
  findings_.lines += lines;
  windows_ ? windows_->add(more) : findings_.groups->add(more);
  if (values == nullptr) return;
  window_values_ ? window_values_->add(*values) : findings_.group_values->add(*values);
}

void shared_findings::add_texts(std::span<const text_hash> texts, std::vector<bool>* are_duplicates) {
  const std::scoped_lock lock(mutex_);
  are_duplicates != nullptr ? void(*are_duplicates = add_in_order(texts, *findings_.texts))
                            : findings_.texts->add(texts);
}

std::vector<window_sum> shared_findings::take_closed(std::int64_t before, window_groups::kept remainder) {
  const std::scoped_lock lock(mutex_);
  std::vector<window_sum> taken = windows_->take_closed(before, remainder);
  if (!window_values_) return taken;
  std::vector<window_sum> values = window_values_->take_closed(before, remainder);
  for (window_sum& each : taken) {
    const auto found = std::ranges::find(values, each.start, &window_sum::start);
    if (found != values.end()) each.values = std::move(found->groups);
  }
  return taken;
}

std::size_t shared_findings::closed(std::int64_t before) const {
  const std::scoped_lock lock(mutex_);
  return windows_->closed(before);
}

matched_lines::by_condition shared_findings::lines_in_window(std::int64_t start, std::int64_t length) const {
  const std::scoped_lock lock(mutex_);
  return findings_.lines.in_window(start, length);
}

void shared_findings::drop_lines_before(std::int64_t time) {
  const std::scoped_lock lock(mutex_);
  findings_.lines.drop_before(time);
}

// Rendered before the lock is taken.
void shared_findings::select(unit_record found) {
  constexpr std::size_t usual_bytes = 512;
  std::string end;
  if (wanted_.lines != nullptr) {
    end.reserve(usual_bytes);
    wanted_.lines->add_end(found, end);
  }
  const std::scoped_lock lock(mutex_);
  if (wanted_.lines != nullptr) {
    rendered_units& to = findings_.lines_of(found.input);
    if (to.lines.empty()) to.ends = buffers_.take();
    to.add(found.place, end);
  }
  if (wanted_.records) findings_.selected.push_back(std::move(found));
}

std::optional<rank> shared_findings::last_rank() const {
  const std::scoped_lock lock(mutex_);
  return findings_.best.last();
}

void shared_findings::add_ranked(ranked_record found) {
  const std::scoped_lock lock(mutex_);
  findings_.best.add(std::move(found));
}

void shared_findings::add(unit_findings more) {
  const std::scoped_lock lock(mutex_);
  findings_ += std::move(more);
}

void shared_findings::add_watched(const std::vector<distribution>& more) {
  const std::scoped_lock lock(mutex_);
  units::add_watched(findings_.watched, more);
}

shared_findings::waiting_units shared_findings::take() {
  const std::scoped_lock lock(mutex_);
  waiting_units taken;
  taken.selected.swap(findings_.selected);
  taken.rendered.swap(findings_.rendered);
  return taken;
}

shared_findings::amount shared_findings::waiting() const {
  constexpr std::size_t bytes_of_record = 1024;
  const std::scoped_lock lock(mutex_);
  amount all{.batches = findings_.rendered.size(), .bytes = findings_.selected.size() * bytes_of_record};
  for (const rendered_units& each : findings_.rendered) all.bytes += each.ends.size();
  return all;
}

unit_result shared_findings::result() const {
  const std::scoped_lock lock(mutex_);
  unit_result made = result_of(meter_.plan(), findings_);
  if (!windows_) return made;
  const std::optional<group_sum> values = window_values_ ? std::optional(window_values_->all()) : std::nullopt;
  made.groups = group_result_of(meter_.plan(), windows_->all(), address_of(values));
  return made;
}

unit_findings shared_findings::take_all() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(findings_, unit_findings(meter_));
}

}  // namespace gpuhist::report::units
