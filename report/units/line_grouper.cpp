#include "report/units/line_grouper.hpp"

#include "report/units/window_values.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace gpuhist::report::units {
namespace {

// Of a line of a batch.
unit_place place_in(const unit_batch& batch, std::size_t line, const unit_place& first) {
  return {.number = first.number + line,
          .line = first.line + batch.newlines(0, line),
          .offset = first.offset + batch.begin_of(line),
          .bytes = batch.end_of(line) - batch.begin_of(line)};
}

// Lines before the first one with a time may follow one in the text before.
std::int64_t first_time(const line_reading& plan, bool is_later) {
  return plan.events && plan.events->times && is_later ? group_id::of_text_before : group_id::without_time;
}

}  // namespace

line_grouper::line_grouper(const unit_meter& meter, owner input, bool is_later)
    : meter_(meter),
      kernel_(gpu::host::best_kernel(meter.prepared_partition())),
      input_(std::move(input)),
      plan_(*meter.plan().lines),
      keys_(plan_.keys, *input_.name),
      found_(empty_table(plan_, meter.partition().classes)),
      values_(empty_values(meter.plan())),
      lines_(plan_.events ? plan_.events->windows : window_lengths()),
      row_(byte_values),
      time_(first_time(plan_, is_later)) {}

void line_grouper::add(unit_batch& batch, std::span<const double> holds, const unit_place& first) {
  line_facts& facts = *batch.facts();
  const bool has_rows = !meter_.class_columns().empty();
  line_run run;
  for (std::size_t line = 0; line < batch.size(); ++line) {
    note_line(facts, line, first.number + line);
    if (!holds.empty() && !meter_.plan().counts_in_groups(holds[line])) continue;
    const std::size_t place = place_of(facts, line, first.number + line);
    add_line(facts, line, place, batch.end_of(line) - batch.begin_of(line));
    if (values_) add_values_of(batch, line);
    if (!plan_.shown_matches.empty()) {
      const std::span<const std::byte> text = batch.text_of(line, line);
      note_matched(facts, line, [&] { return place_in(batch, line, first); },
                   {reinterpret_cast<const char*>(text.data()), text.size()});
    }
    if (plan_.finds_changes && !found_.has_line_before(place, time_)) {
      note_first(facts, line, place, place_in(batch, line, first));
    }
    if (has_rows) {
      add_row(batch, line, place);
      continue;
    }
    if (place != run.place || line != run.first + run.lines) end_run(batch, run);
    if (run.lines == 0) run = {.place = place, .first = line};
    ++run.lines;
  }
  end_run(batch, run);
  if (found_.settle()) start_of_place_.reset();
  if (values_) values_->settle();
}

void line_grouper::pass_open(unit_batch& batch, const unit_place& place) { note_line(*batch.facts(), 0, place.number); }

void line_grouper::add_open(unit_batch& batch, const gpu::tally& counts, const unit_place& place,
                            std::span<const double> values, std::string_view text) {
  line_facts& facts = *batch.facts();
  pass_open(batch, place);
  note_matched(facts, 0, [&] { return place; }, text);
  if (values_) add_values(*values_, time_, values);
  const std::size_t at = place_of(facts, 0, place.number);
  add_line(facts, 0, at, place.bytes);
  if (plan_.finds_changes) note_first(facts, 0, at, place);
  const std::span<std::uint64_t> to = found_.counts(at).bytes;
  if (to.size() == 1) {
    to.front() += place.bytes;
    return;
  }
  const gpu::tally folded = meter_.fold(counts);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += folded.counts[i];
}

void line_grouper::set_horizon(const event_horizon& now) {
  horizon_ = now;
  if (group_id::is_time(time_) && now.is_late(time_)) time_ = group_id::late;
}

void line_grouper::follow(std::int64_t time) {
  if (time_ == group_id::of_text_before) time_ = time;
  found_.set_text_before(time);
  if (values_) values_->set_text_before(time);
}

// Also of a line that is not counted. `number`: of the line, from 1.
void line_grouper::note_line(line_facts& facts, std::size_t line, std::uint64_t number) {
  if (plan_.events) note_time(facts, line, number);
  if (number == 1) keys_.read_header(facts.text_of(line));
}

// The time of a line is that of the lines after it, also if it is not counted itself. `number`: of the line, from 1.
void line_grouper::note_time(line_facts& facts, std::size_t line, std::uint64_t number) {
  using kind = lines::event_time_reader::kind;
  if (!plan_.events->times) {
    time_ = static_cast<std::int64_t>(number - 1);
    return;
  }
  const lines::event_time_reader::outcome found = facts.time_of(line);
  if (found.is == kind::time) {
    const bool is_late = horizon_ && horizon_->note(found.nanoseconds);
    time_ = is_late ? group_id::late : found.nanoseconds;
  } else if (found.is == kind::implausible) {
    time_ = group_id::implausible;
  }
}

void line_grouper::note_first(const line_facts& facts, std::size_t line, std::size_t to, const unit_place& place) {
  found_.note_first(to, {.time = time_, .place = place, .input = *input_.name, .text = facts.text_of(line)});
}

// `place()`: of the line.
template <class Place>
void line_grouper::note_matched(const line_facts& facts, std::size_t line, const Place& place, std::string_view text) {
  for (std::size_t condition = 0; condition < plan_.shown_matches.size(); ++condition) {
    const auto is_in_line = [&](std::size_t expression) { return facts.matches(line, expression); };
    if (std::ranges::none_of(plan_.shown_matches[condition], is_in_line)) continue;
    lines_.note(condition, {.time = time_,
                            .input = input_.number,
                            .name = input_.name,
                            .place = place(),
                            .text = meter_.shown_part(text)});
  }
}

std::size_t line_grouper::place_of(line_facts& facts, std::size_t line, std::uint64_t number) {
  if (number == 1 && keys_.reads_header()) return found_.place_of({.window = time_});
  if (!keys_.is_constant()) return found_.place_of({.window = time_, .key = keys_.read(facts.text_of(line))});
  const std::int64_t start = found_.start_of(time_);
  if (found_.size() == 0 || start != start_of_place_) {
    place_ = found_.place_of({.window = time_, .key = keys_.read({})});
    start_of_place_ = start;
  }
  return place_;
}

void line_grouper::add_counted(std::uint64_t strings, const unit_totals& lines) {
  if (plan_.first_match_only) strings &= ~strings + 1;
  const std::size_t place = found_.place_of({.window = time_, .key = keys_.read({})});
  add_matches(place, lines, [&](std::size_t expression) { return (strings >> expression & 1U) != 0; });
  found_.counts(place).bytes.front() += lines.bytes;
}

void line_grouper::add_line(const line_facts& facts, std::size_t line, std::size_t place, std::uint64_t bytes) {
  add_matches(place, {.seen = 1, .bytes = bytes},
              [&](std::size_t expression) { return facts.matches(line, expression); });
}

// `matches(expression)`: in each of the lines.
template <class Matches>
void line_grouper::add_matches(std::size_t place, const unit_totals& lines, const Matches& matches) {
  const group_table::counts_of_group to = found_.counts(place);
  to.lines += lines.seen;
  const std::size_t expressions = plan_.expressions();
  if (expressions == 0) return;
  bool is_matched = false;
  const auto count = [&](std::size_t expression) {
    to.matches[match_numbers::lines_at(expression)] += lines.seen;
    to.matches[match_numbers::bytes_at(expression)] += lines.bytes;
  };
  for (std::size_t i = 0; i < expressions; ++i) {
    if (!matches(i)) continue;
    count(i);
    is_matched = true;
  }
  if (!is_matched) count(expressions);
}

void line_grouper::add_row(const unit_batch& batch, std::size_t line, std::size_t place) {
  const std::span<const std::size_t> columns = meter_.class_columns();
  const std::span<const std::uint32_t> row = batch.row_of(line);
  const std::span<std::uint64_t> to = found_.counts(place).bytes;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    to[i] += row[columns[i]];
    sum += row[columns[i]];
  }
  to.back() += batch.end_of(line) - batch.begin_of(line) - sum;
}

void line_grouper::add_values_of(const unit_batch& batch, std::size_t line) {
  values_of_line_.clear();
  for (std::size_t formula = 0; formula < meter_.plan().watched.formulas.size(); ++formula) {
    values_of_line_.push_back(batch.of_watched(formula)[line]);
  }
  add_values(*values_, time_, values_of_line_);
}

void line_grouper::end_run(const unit_batch& batch, line_run& run) {
  if (run.lines > 0) add_text(batch.text_of(run.first, run.first + run.lines - 1), run.place);
  run.lines = 0;
}

// The tables of the kernel cost more than they save for a short text.
void line_grouper::add_text(std::span<const std::byte> text, std::size_t place) {
  constexpr std::size_t short_text = 256;
  const std::span<std::uint64_t> to = found_.counts(place).bytes;
  if (to.size() == 1) {
    to.front() += text.size();
  } else if (text.size() < short_text) {
    for (const std::byte each : text) ++to[meter_.partition().class_of[std::to_integer<std::size_t>(each)]];
  } else {
    kernel_.count(text, meter_.prepared_partition(), row_.data());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += row_[i];
  }
}

}  // namespace gpuhist::report::units
