#include "pipeline/report/units/unit_reader.hpp"

#include "gpu/host/kernel.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace gpuhist::pipeline::units {
namespace {

constexpr std::size_t byte_values = 256;
// The numbers of the formulas.
constexpr std::size_t of_condition = 0;
constexpr std::size_t of_ranking = 1;
constexpr std::size_t of_distribution = 2;

// The columns of the numbers of a batch: the bytes, then a count and a share for each column of a row.
constexpr std::size_t bytes_at = 0;
constexpr std::size_t count_at(std::size_t column) { return 1 + 2 * column; }
constexpr std::size_t share_at(std::size_t column) { return 2 + 2 * column; }

std::size_t number_of(const name_source& name) {
  switch (name.type) {
    case name_source::kind::count:
      return count_at(name.column);
    case name_source::kind::share:
      return share_at(name.column);
    case name_source::kind::bytes:
      break;
  }
  return bytes_at;
}

// Most units are short, so the tables of the fast kernels would cost more than they save.
void count_bytes(std::span<const std::byte> text, gpu::tally& to) {
  std::ranges::fill(to.counts, 0);
  for (const std::byte each : text) ++to.counts[std::to_integer<std::size_t>(each)];
}

void add_bytes(std::span<const std::byte> text, std::vector<std::uint32_t>& row, gpu::tally& to) {
  static const gpu::host::prepared_partition identity = gpu::host::prepare(gpu::partition::identity());
  static const gpu::host::kernel& kernel = gpu::host::best_kernel(identity);
  kernel.count(text, identity, row.data());
  for (std::size_t value = 0; value < byte_values; ++value) to.counts[value] += row[value];
}

std::uint64_t malformed_in(std::span<const std::byte> text) {
  gpu::host::utf8_meter meter(gpu::host::utf8_detail::code_points);
  meter.feed(text);
  meter.end();
  return meter.counts().malformed;
}

}  // namespace

unit_reader::unit_reader(unit_run& run, std::uint64_t number, const std::string& name)
    : run_(run),
      meter_(run.meter()),
      input_(number),
      name_(std::make_shared<const std::string>(name)),
      open_(byte_values),
      ends_(max_batch),
      rows_(max_batch * std::max<std::size_t>(1, meter_.prepared().columns())),
      malformed_(meter_.needs_malformed() ? max_batch : 0),
      numbers_(max_batch * share_at(meter_.prepared().columns())),
      single_values_(max_batch * formulas),
      row_(byte_values),
      scratch_(byte_values) {
  if (meter_.plan().filter) kept_.emplace(*meter_.plan().filter);
  if (kept_ && run.outlets() != nullptr) outlet_ = run.outlets()->open(name);
  for (const unit_formula& each : meter_.formulas()) {
    evaluations_.push_back(each.formula == nullptr ? std::nullopt
                                                   : std::optional<gates::evaluation>(each.formula->typed()));
  }
}

void unit_reader::take(std::span<const std::byte> text, bool verified) {
  take_until(text, verified, std::numeric_limits<std::size_t>::max());
}

std::size_t unit_reader::take_some(std::span<const std::byte> text, bool verified) {
  return take_until(text, verified, max_selected);
}

// Returns the bytes that were taken: all, unless so many units were selected.
std::size_t unit_reader::take_until(std::span<const std::byte> text, bool verified, std::size_t selected) {
  const std::size_t all = text.size();
  verified_ = verified;
  selected_ = 0;
  if (place_.bytes > 0) {
    const std::size_t rest = rest_of_open(text);
    extend_open(text.first(rest));
    text = text.subspan(rest);
    if (open_is_complete()) close_open();
  }
  while (!text.empty() && selected_ < selected) {
    const batch found = fill_batch(text);
    if (found.units == 0) {
      extend_open(text);
      text = {};
      break;
    }
    judge(found);
    text = text.subspan(ends_[found.units - 1]);
  }
  flush();
  return all - text.size();
}

void unit_reader::note_gap() {
  if (place_.bytes > 0) close_open();
  flush();
}

void unit_reader::end(ending how) {
  note_gap();
  if (outlet_) outlet_->end(how, of_input_);
}

std::span<const std::byte> unit_reader::next_kept() { return kept_ ? kept_->next() : std::span<const std::byte>(); }

// The bytes at the beginning of a text that belong to the open unit.
std::size_t unit_reader::rest_of_open(std::span<const std::byte> text) const {
  const unit_shape& shape = meter_.plan().shape;
  if (shape.bytes) return static_cast<std::size_t>(std::min<std::uint64_t>(*shape.bytes - place_.bytes, text.size()));
  const void* const found = std::memchr(text.data(), std::to_integer<int>(shape.delimiter), text.size());
  if (found == nullptr) return text.size();
  return static_cast<std::size_t>(static_cast<const std::byte*>(found) - text.data()) + 1;
}

bool unit_reader::open_is_complete() const {
  const unit_shape& shape = meter_.plan().shape;
  return shape.bytes ? place_.bytes == *shape.bytes : last_ == shape.delimiter;
}

void unit_reader::extend_open(std::span<const std::byte> text) {
  if (text.empty()) return;
  if (kept_) kept_->add_open(text);
  add_bytes(text, row_, open_);
  if (meter_.words_column()) {
    const bool in_word = place_.bytes > 0 && !unit_meter::separates_words(last_);
    gpu::host::count_unit_part(text, in_word, meter_.prepared(), row_.data());
    open_words_ += row_[*meter_.words_column()];
  }
  if (meter_.needs_malformed()) open_utf8_.feed(text);
  place_.bytes += text.size();
  last_ = text.back();
}

void unit_reader::close_open() {
  sequence_counts sequences{.words = open_words_};
  if (meter_.needs_malformed()) {
    open_utf8_.end();
    sequences.malformed = open_utf8_.counts().malformed;
    open_utf8_ = gpu::host::utf8_meter(gpu::host::utf8_detail::code_points);
  }
  const double holds = run_.judge(counted(open_, sequences));
  const bool is_selected = holds == 1.0;
  of_input_ += {.seen = 1,
                .bytes = place_.bytes,
                .selected = is_selected ? 1U : 0U,
                .selected_bytes = is_selected ? place_.bytes : 0};
  if (kept_) kept_->close(meter_.plan().filter->keeps(holds));
  advance(open_.counts['\n']);
  std::ranges::fill(open_.counts, 0);
  open_words_ = 0;
}

void unit_reader::advance(std::uint64_t newlines) {
  ++place_.number;
  place_.line += newlines;
  place_.offset += place_.bytes;
  place_.bytes = 0;
}

unit_reader::batch unit_reader::fill_batch(std::span<const std::byte> text) {
  const unit_shape& shape = meter_.plan().shape;
  if (!shape.bytes) {
    return {.text = text, .units = gpu::host::count_units(text, meter_.prepared(), ends_, rows_)};
  }
  const auto units = static_cast<std::size_t>(std::min<std::uint64_t>(text.size() / *shape.bytes, max_batch));
  const std::size_t columns = meter_.prepared().columns();
  for (std::size_t i = 0; i < units; ++i) {
    const auto size = static_cast<std::size_t>(*shape.bytes);
    gpu::host::count_unit_part(text.subspan(i * size, size), false, meter_.prepared(), &rows_[i * columns]);
    ends_[i] = static_cast<std::uint32_t>((i + 1) * size);
  }
  return {.text = text, .units = units};
}

void unit_reader::judge(const batch& found) {
  if (meter_.rows_suffice()) {
    evaluate_rows(found);
  } else {
    evaluate_one_by_one(found);
  }
  if (meter_.plan().distribution) run_.add_values(values_[of_distribution]);
  if (meter_.plan().top) last_rank_ = run_.last_rank();
  if (kept_) keep(found);
  if (is_dull(found)) return pass(found);
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < found.units; ++i) {
    place_.bytes = ends_[i] - begin;
    const judged_unit judged = judged_at(i);
    note(judged);
    if (is_reported(judged)) {
      count_bytes(found.text.subspan(begin, place_.bytes), scratch_);
      report(judged, counted(scratch_, sequences_of(i)));
    }
    advance(newlines_of(i));
    begin = ends_[i];
  }
}

unit_reader::judged_unit unit_reader::judged_at(std::size_t unit) const {
  return {.holds = values_[of_condition].empty() ? 0 : values_[of_condition][unit],
          .ranked = values_[of_ranking].empty() ? gates::unknown() : values_[of_ranking][unit]};
}

// Whether no unit of a batch is selected or ranked: the usual case.
bool unit_reader::is_dull(const batch& found) const {
  const auto is_noted = [&](double holds) { return holds == 1.0 || run_.reports(holds); };
  if (std::ranges::any_of(values_[of_condition], is_noted)) return false;
  if (!meter_.plan().top) return true;
  // units of this input that are ranked lower than the last one by their value alone
  return last_rank_ && std::ranges::none_of(values_[of_ranking].first(found.units),
                                            [&](double value) { return value >= last_rank_->value; });
}

// Neighbouring units are kept together.
void unit_reader::keep(const batch& found) {
  const filtering& filter = *meter_.plan().filter;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < found.units;) {
    const bool is_kept = filter.keeps(values_[of_condition][i]);
    std::uint32_t end = ends_[i];
    for (++i; i < found.units && filter.keeps(values_[of_condition][i]) == is_kept; ++i) end = ends_[i];
    if (is_kept) kept_->add(found.text.subspan(begin, end - begin));
    begin = end;
  }
}

// As judging each unit of a dull batch.
void unit_reader::pass(const batch& found) {
  const std::uint64_t bytes = ends_[found.units - 1];
  totals_.seen += found.units;
  totals_.bytes += bytes;
  place_.number += found.units;
  place_.offset += bytes;
  for (std::size_t i = 0; i < found.units; ++i) place_.line += newlines_of(i);
}

void unit_reader::evaluate_rows(const batch& found) {
  gather_names(found);
  for (std::size_t i = 0; i < formulas; ++i) {
    if (!evaluations_[i]) continue;
    names_.clear();
    for (const name_source& each : meter_.formulas()[i].names) names_.push_back(&numbers_[number_of(each) * max_batch]);
    values_[i] = evaluations_[i]->values(names_, found.units);
  }
}

void unit_reader::gather_names(const batch& found) {
  double* const bytes = &numbers_[bytes_at * max_batch];
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < found.units; ++i) {
    bytes[i] = ends_[i] - begin;
    begin = ends_[i];
  }
  const std::size_t columns = meter_.prepared().columns();
  for (std::size_t column = 0; column < columns; ++column) {
    double* const count = &numbers_[count_at(column) * max_batch];
    double* const share = &numbers_[share_at(column) * max_batch];
    for (std::size_t i = 0; i < found.units; ++i) {
      count[i] = rows_[i * columns + column];
      share[i] = count[i] / bytes[i];
    }
  }
}

// Sequences that cross the end of a unit are well-formed in the text of the batch, but not in the units. A delimiter in
// ASCII, and text that is ASCII, has no such sequences.
void unit_reader::count_malformed(const batch& found) {
  constexpr std::byte ascii_end{0x80};
  const std::span<const std::byte> text = found.text.first(ends_[found.units - 1]);
  gpu::host::utf8_meter all(gpu::host::utf8_detail::code_points);
  all.feed(text);
  all.end();
  const unit_shape& shape = meter_.plan().shape;
  const bool none_is_cut = (!shape.bytes && shape.delimiter < ascii_end) || all.counts().code_points == text.size();
  std::ranges::fill(malformed_, 0);
  if (none_is_cut && all.counts().malformed == 0) return;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < found.units; ++i) {
    malformed_[i] = malformed_in(text.subspan(begin, ends_[i] - begin));
    begin = ends_[i];
  }
}

void unit_reader::evaluate_one_by_one(const batch& found) {
  if (meter_.needs_malformed()) count_malformed(found);
  std::uint32_t begin = 0;
  for (std::size_t unit = 0; unit < found.units; ++unit) {
    count_bytes(found.text.subspan(begin, ends_[unit] - begin), scratch_);
    begin = ends_[unit];
    for (std::size_t i = 0; i < formulas; ++i) {
      if (!evaluations_[i]) continue;
      single_values_[i * max_batch + unit] = meter_.value(*meter_.formulas()[i].formula, scratch_, sequences_of(unit));
    }
  }
  for (std::size_t i = 0; i < formulas; ++i) {
    if (evaluations_[i]) values_[i] = std::span<const double>(single_values_).subspan(i * max_batch, found.units);
  }
}

// A line of a batch is complete.
std::uint64_t unit_reader::newlines_of(std::size_t unit) const {
  const std::optional<std::size_t> column = meter_.newline_column();
  return column ? rows_[unit * meter_.prepared().columns() + *column] : 1;
}

sequence_counts unit_reader::sequences_of(std::size_t unit) const {
  sequence_counts made;
  if (const auto column = meter_.words_column()) made.words = rows_[unit * meter_.prepared().columns() + *column];
  if (meter_.needs_malformed()) made.malformed = malformed_[unit];
  return made;
}

void unit_reader::note(const judged_unit& found) {
  ++totals_.seen;
  totals_.bytes += place_.bytes;
  if (found.holds != 1.0) return;
  ++totals_.selected;
  totals_.selected_bytes += place_.bytes;
}

bool unit_reader::is_reported(const judged_unit& found) {
  if (run_.reports(found.holds)) return true;
  if (gates::is_unknown(found.ranked)) return false;
  return !last_rank_ || rank{.value = found.ranked, .input = input_, .unit = place_.number}.precedes(*last_rank_);
}

void unit_reader::report(const judged_unit& found, const counted_unit& unit) {
  if (run_.reports(found.holds)) {
    run_.select(unit);
    ++selected_;
  }
  if (gates::is_unknown(found.ranked)) return;
  run_.add_ranked(found.ranked, unit);
  last_rank_ = run_.last_rank();
}

counted_unit unit_reader::counted(const gpu::tally& counts, const sequence_counts& sequences) const {
  return {.input = name_,
          .input_number = input_,
          .place = place_,
          .verified = verified_,
          .counts = counts,
          .sequences = sequences};
}

void unit_reader::flush() {
  run_.add(totals_);
  of_input_ += totals_;
  totals_ = {};
  if (outlet_) drain();
}

void unit_reader::drain() {
  for (auto text = kept_->next(); !text.empty(); text = kept_->next()) outlet_->write(text);
}

}  // namespace gpuhist::pipeline::units
