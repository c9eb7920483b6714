#include "report/units/line_grouper.hpp"

#include "report/units/characters_of.hpp"

#include <algorithm>
#include <bit>
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

void count_match(std::size_t expression, const unit_totals& lines, std::span<std::uint64_t> to) {
  to[match_numbers::lines_at(expression)] += lines.seen;
  to[match_numbers::bytes_at(expression)] += lines.bytes;
}

// `matched`: as that of add_matches(). Returns whether one matches.
bool count_matches(std::span<const std::uint64_t> matched, const unit_totals& lines, std::span<std::uint64_t> to) {
  constexpr std::size_t word_bits = 64;
  bool is_matched = false;
  for (std::size_t word = 0; word < matched.size(); ++word) {
    for (std::uint64_t rest = matched[word]; rest != 0; rest &= rest - 1) {
      count_match(word * word_bits + static_cast<std::size_t>(std::countr_zero(rest)), lines, to);
      is_matched = true;
    }
  }
  return is_matched;
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
      keys_(plan_.keys_of_lines(), *input_.name),
      found_(empty_table(plan_, meter.partition().classes)),
      values_(empty_values(meter.plan())),
      entries_(meter.plan()),
      lines_(plan_.events ? plan_.events->windows : window_lengths()),
      row_(byte_values),
      is_one_group_(keys_.is_constant() && !plan_.counts_characters() && !plan_.events && !values_ &&
                    !plan_.finds_changes && plan_.shown_matches.empty()),
      time_(first_time(plan_, is_later)) {
  if (!plan_.counts_characters()) return;
  characters_ = std::make_unique<texts::character_counts>();
  open_characters_ = std::make_unique<texts::character_counts>();
}

void line_grouper::add(unit_batch& batch, std::span<const double> holds, const unit_place& first) {
  line_facts& facts = *batch.facts();
  if (characters_) return add_characters(batch, holds, first);
  if (is_one_group_ && holds.empty()) return add_run(batch, {.place = place_of_time(), .end = batch.size()});
  line_run run;
  for (std::size_t line = 0; line < batch.size(); ++line) {
    note_line(facts, line, first.number + line);
    if (!holds.empty() && !meter_.plan().counts_in_groups(holds[line])) continue;
    const std::size_t place = place_of(facts, line, first.number + line);
    if (values_) add_values_of(batch, line, place);
    if (!plan_.shown_matches.empty()) {
      const std::span<const std::byte> text = batch.text_of(line, line);
      note_matched(facts, line, [&] { return place_in(batch, line, first); }, characters_of(text));
    }
    if (plan_.finds_changes && !found_.has_line_before(place, time_)) {
      note_first(facts, line, place, place_in(batch, line, first));
    }
    if (place != run.place || line != run.end) {
      add_run(batch, run);
      run = {.place = place, .begin = line};
    }
    run.end = line + 1;
  }
  add_run(batch, run);
  if (found_.settle()) length_of_place_ = 0;
  if (values_) values_->settle();
}

void line_grouper::extend_open(std::span<const std::byte> text) {
  if (open_characters_) open_characters_->add(characters_of(text));
}

void line_grouper::end_open() {
  if (open_characters_) open_characters_->clear();
}

void line_grouper::pass_open(unit_batch& batch, const unit_place& place) { note_line(*batch.facts(), 0, place.number); }

void line_grouper::add_open(unit_batch& batch, const gpu::tally& counts, const unit_place& place,
                            std::span<const double> values, std::string_view text) {
  line_facts& facts = *batch.facts();
  note_line(facts, 0, place.number);
  if (open_characters_) {
    if (batch.fields() != nullptr) open_characters_->add(characters_of(batch.measured(0)));
    open_characters_->end();
    return flush_characters(*open_characters_, facts, 0, place.number);
  }
  note_matched(facts, 0, [&] { return place; }, text);
  const std::size_t at = place_of(facts, 0, place.number);
  if (values_) entries_.add(*values_, {.window = time_, .key = found_.at(at).key}, values);
  add_matches(at, {.seen = 1, .bytes = place.bytes}, facts.matched(0));
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
  length_of_place_ = 0;
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
  if (!keys_.is_constant())
    return found_.place_of({.window = time_, .key = keys_.read(facts.text_of(line), facts.language_of(line))});
  return place_of_time();
}

// Precondition: the key is constant.
std::size_t line_grouper::place_of_time() {
  const auto after_begin = static_cast<std::uint64_t>(time_) - static_cast<std::uint64_t>(begin_of_place_);
  if (after_begin < length_of_place_) return place_;
  place_ = found_.place_of({.window = time_, .key = keys_.read({})});
  begin_of_place_ = found_.at(place_).window;
  const std::int64_t length = group_id::is_time(time_) ? found_.windows().length : 0;
  length_of_place_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(length));
  return place_;
}

void line_grouper::add_counted(std::uint64_t strings, const unit_totals& lines) {
  if (plan_.first_match_only) strings &= ~strings + 1;
  const std::size_t place = place_of_time();
  add_matches(place, lines, {&strings, 1});
  found_.counts(place).bytes.front() += lines.bytes;
}

// `matched`: the expressions that match in each of the lines, a bit each.
void line_grouper::add_matches(std::size_t place, const unit_totals& lines, std::span<const std::uint64_t> matched) {
  const group_table::counts_of_group to = found_.counts(place);
  to.lines += lines.seen;
  if (plan_.expressions() > 0 && !count_matches(matched, lines, to.matches))
    count_match(plan_.expressions(), lines, to.matches);
}

void line_grouper::add_run(unit_batch& batch, const line_run& run) {
  if (run.begin == run.end) return;
  const group_table::counts_of_group to = found_.counts(run.place);
  unit_totals unmatched{.seen = run.end - run.begin, .bytes = batch.end_of(run.end - 1) - batch.begin_of(run.begin)};
  to.lines += unmatched.seen;
  if (plan_.expressions() > 0) {
    for (std::size_t line = run.begin; line < run.end; ++line) {
      const unit_totals one{.seen = 1, .bytes = batch.end_of(line) - batch.begin_of(line)};
      if (!count_matches(batch.facts()->matched(line), one, to.matches)) continue;
      unmatched.seen -= one.seen;
      unmatched.bytes -= one.bytes;
    }
    count_match(plan_.expressions(), unmatched, to.matches);
  }
  if (meter_.class_columns().empty()) return add_text(batch.text_of(run.begin, run.end - 1), run.place);
  for (std::size_t line = run.begin; line < run.end; ++line) add_row(batch, line, run.place);
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

void line_grouper::add_values_of(const unit_batch& batch, std::size_t line, std::size_t place) {
  values_of_line_.clear();
  for (std::size_t formula = 0; formula < meter_.plan().watched.formulas.size(); ++formula) {
    values_of_line_.push_back(batch.of_watched(formula)[line]);
  }
  entries_.add(*values_, {.window = time_, .key = found_.at(place).key}, values_of_line_);
}

// Without a key of lines, those of all lines of the batch are counted together.
void line_grouper::add_characters(unit_batch& batch, std::span<const double> holds, const unit_place& first) {
  line_facts& facts = *batch.facts();
  const bool has_keys = !plan_.keys_of_lines().empty();
  for (std::size_t line = 0; line < batch.size(); ++line) {
    note_line(facts, line, first.number + line);
    if (!holds.empty() && !meter_.plan().counts_in_groups(holds[line])) continue;
    characters_->add(characters_of(batch.measured(line)));
    characters_->end();
    if (has_keys) flush_characters(*characters_, facts, line, first.number + line);
  }
  flush_characters(*characters_, facts, 0, first.number);
}

// Adds them to the groups of a line. `number`: of the line, from 1.
void line_grouper::flush_characters(texts::character_counts& from, line_facts& facts, std::size_t line,
                                    std::uint64_t number) {
  if (from.is_empty()) return;
  const bool has_keys = !plan_.keys_of_lines().empty();
  const bool is_header = number == 1 && keys_.reads_header();
  std::optional<std::string> key;
  if (has_keys && !is_header) key = keys_.read(facts.text_of(line), facts.language_of(line));
  const std::array<std::uint8_t, byte_values>& class_of = meter_.partition().class_of;
  std::string joined;
  from.for_each([&](std::string_view character, std::uint64_t times) {
    group_id id{.window = time_};
    if (!has_keys) id.key = character;
    if (key) id.key = joined = joined_key(*key, character);
    const group_table::counts_of_group to = found_.counts(found_.place_of(id));
    to.lines += times;
    for (const char each : character) to.bytes[class_of[static_cast<unsigned char>(each)]] += times;
  });
  if (from.malformed() > 0) {
    const group_table::counts_of_group to = found_.counts(found_.place_of({.window = time_}));
    to.lines += from.malformed();
    for (std::size_t i = 0; i < from.malformed_bytes().size(); ++i) {
      to.bytes[class_of[byte_values - from.malformed_bytes().size() + i]] += from.malformed_bytes()[i];
    }
  }
  from.clear();
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
