#include "report/units/line_grouper.hpp"

#include <numeric>
#include <optional>

namespace gpuhist::report::units {
namespace {

using outcome = lines::event_time_reader::outcome;

// Rounded down, also before 1970.
std::int64_t window_of(std::int64_t nanoseconds, std::int64_t length) {
  const std::int64_t quotient = nanoseconds / length;
  return nanoseconds % length < 0 ? quotient - 1 : quotient;
}

}  // namespace

line_grouper::line_grouper(const unit_meter& meter, const std::string& input, bool is_later)
    : meter_(meter),
      kernel_(gpu::host::best_kernel(meter.prepared_partition())),
      input_(input),
      plan_(*meter.plan().lines),
      found_(empty_table(plan_, meter.partition().classes)),
      row_(byte_values),
      window_(plan_.events && is_later ? group_id::of_text_before : group_id::without_time) {}

void line_grouper::add(unit_batch& batch, std::span<const double> holds) {
  line_facts& facts = *batch.facts();
  const bool has_rows = !meter_.class_columns().empty();
  line_run run;
  for (std::size_t line = 0; line < batch.size(); ++line) {
    if (plan_.events) note_time(facts.time_of(line));
    if (!holds.empty() && !meter_.plan().counts_in_groups(holds[line])) continue;
    const std::size_t place = place_of(facts, line);
    add_line(facts, line, place, batch.end_of(line) - batch.begin_of(line));
    if (has_rows) {
      add_row(batch, line, place);
      continue;
    }
    if (place != run.place || line != run.first + run.lines) end_run(batch, run);
    if (run.lines == 0) run = {.place = place, .first = line};
    ++run.lines;
  }
  end_run(batch, run);
}

void line_grouper::add_open(unit_batch& batch, const gpu::tally& counts, std::uint64_t bytes, bool is_counted) {
  line_facts& facts = *batch.facts();
  if (plan_.events) note_time(facts.time_of(0));
  if (!is_counted) return;
  const std::size_t place = place_of(facts, 0);
  add_line(facts, 0, place, bytes);
  const std::span<std::uint64_t> to = found_.counts(place).bytes;
  if (to.size() == 1) {
    to.front() += bytes;
    return;
  }
  const gpu::tally folded = meter_.fold(counts);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += folded.counts[i];
}

void line_grouper::follow(std::int64_t window) {
  if (window_ == group_id::of_text_before) window_ = window;
  found_.set_text_before(window);
}

// The time of a line is that of the lines after it, also if it is not counted itself.
void line_grouper::note_time(const outcome& found) {
  if (found.is == lines::event_time_reader::kind::time) {
    window_ = window_of(found.nanoseconds, plan_.events->nanoseconds);
  } else if (found.is == lines::event_time_reader::kind::implausible) {
    window_ = group_id::implausible;
  }
}

std::size_t line_grouper::place_of(line_facts& facts, std::size_t line) {
  if (reads_keys()) return found_.place_of({.window = window_, .key = facts.key_of(line)});
  if (found_.size() == 0 || window_ != window_of_place_) {
    place_ = found_.place_of(
        {.window = window_, .key = plan_.by.empty() ? std::nullopt : std::optional(std::string_view(input_))});
    window_of_place_ = window_;
  }
  return place_;
}

void line_grouper::add_line(const line_facts& facts, std::size_t line, std::size_t place, std::uint64_t bytes) {
  const group_table::counts_of_group to = found_.counts(place);
  ++to.lines;
  const std::size_t expressions = plan_.expressions();
  if (expressions == 0) return;
  bool is_matched = false;
  const auto count = [&](std::size_t expression) {
    ++to.matches[match_numbers::lines_at(expression)];
    to.matches[match_numbers::bytes_at(expression)] += bytes;
  };
  for (std::size_t i = 0; i < expressions; ++i) {
    if (!facts.matches(line, i)) continue;
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
