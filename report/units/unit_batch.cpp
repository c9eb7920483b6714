#include "report/units/unit_batch.hpp"

#include "gpu/host/utf8_meter.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace gpuhist::report::units {
namespace {

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
    case name_source::kind::fact:
      break;
  }
  return bytes_at;
}

// As a conversion of the language, which is not vectorized: a double with the lowest 32 of its 52 bits, without 2^52.
double number(std::uint32_t count) {
  constexpr std::uint64_t bits_of_two_to_52 = std::uint64_t{0x433} << 52U;
  return std::bit_cast<double>(bits_of_two_to_52 | count) - 0x1p52;
}

std::uint64_t malformed_in(std::span<const std::byte> text) {
  gpu::host::utf8_meter meter(gpu::host::utf8_detail::code_points);
  meter.feed(text);
  meter.end();
  return meter.counts().malformed;
}

}  // namespace

void count_bytes(std::span<const std::byte> text, gpu::tally& to) {
  std::ranges::fill(to.counts, 0);
  for (const std::byte each : text) ++to.counts[std::to_integer<std::size_t>(each)];
}

unit_batch::unit_batch(const unit_meter& meter, std::mutex& long_lines, std::optional<std::int64_t> reference)
    : meter_(meter),
      ends_(max_units),
      rows_(max_units * std::max<std::size_t>(1, meter.prepared().columns())),
      column_counts_(meter.pieces() != nullptr ? max_units : 0),
      malformed_(meter.needs_malformed() ? max_units : 0),
      numbers_(max_units * share_at(meter.prepared().columns())),
      single_values_(max_units * meter.formulas().size()),
      values_(meter.formulas().size()),
      counts_(byte_values) {
  if (meter.plan().field) {
    fields_.emplace(*meter.plan().field, meter.plan().rewriting, long_lines);
    value_ends_.resize(max_units);
  }
  if (meter.plan().lines) {
    facts_.emplace(*meter.plan().lines, static_cast<char>(meter.plan().shape.delimiter), reference, long_lines);
  }
  for (const unit_formula& each : meter.formulas()) {
    evaluations_.push_back(each.formula == nullptr ? std::nullopt
                                                   : std::optional<gates::evaluation>(each.formula->typed()));
  }
  if (meter.plan().divides_rules()) evaluations_[condition_at].reset();  // join_rules() has its values
  note_names();
}

void unit_batch::note_names() {
  for (const unit_formula& formula : meter_.formulas()) {
    for (const name_source& name : formula.names) {
      if (name.type == name_source::kind::bytes || name.type == name_source::kind::fact) continue;
      auto found = std::ranges::find(needed_, name.column, &needed_column::column);
      if (found == needed_.end()) found = needed_.insert(needed_.end(), {.column = name.column});
      (name.type == name_source::kind::count ? found->count : found->share) = true;
    }
  }
}

std::size_t unit_batch::fill(std::span<const std::byte> text, std::uint64_t first_line) {
  text_ = text;
  pieces_ = nullptr;
  const unit_shape& shape = meter_.plan().shape;
  if (fields_) {
    units_ = fill_values(first_line);
  } else {
    units_ = shape.bytes ? fill_parts(*shape.bytes) : gpu::host::count_units(text_, meter_.prepared(), ends_, rows_);
  }
  if (facts_) read_facts();
  return units_;
}

void unit_batch::read_facts() {
  facts_->read(text_, std::span(ends_).first(units_));
  facts_->read_texts(fields_ ? fields_->text() : text_, std::span(fields_ ? value_ends_ : ends_).first(units_),
                     end_of_texts(), encoding_of_texts());
  if (fields_ && fields_->without_value() > 0) {
    for (std::size_t line = 0; line < units_; ++line) {
      if (!fields_->has_value(line)) facts_->forget_language(line);
    }
  }
}

void unit_batch::read_open() {
  facts_->read_open();
  const std::span<const std::byte> text = fields_ ? fields_->text() : facts_->open_text();
  const auto end = static_cast<std::uint32_t>(text.size());
  facts_->read_texts(text, {&end, 1}, end_of_texts(), encoding_of_texts());
  if (!fields_) return;
  value_ends_.front() = end;
  if (!fields_->has_value(0)) facts_->forget_language(0);
}

std::size_t unit_batch::fill(std::span<const pipeline::text_value> values) {
  const pipeline::adjacent_values found = pipeline::first_adjacent(values, max_units, max_value_bytes);
  const std::size_t columns = meter_.prepared().columns();
  text_ = found.text;
  units_ = found.number;
  absent_ = 0;
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < units_; ++i) {
    const std::size_t size = pipeline::bytes_of(values[i]).size();
    gpu::host::count_within_unit(text_.subspan(end, size), false, meter_.prepared(), &rows_[i * columns]);
    end += static_cast<std::uint32_t>(size);
    ends_[i] = end;
    if (!values[i]) ++absent_;
  }
  if (facts_) read_facts();
  if (absent_ == 0) return units_;
  is_absent_.assign(units_, false);
  for (std::size_t i = 0; i < units_; ++i) is_absent_[i] = !values[i];
  return units_;
}

std::size_t unit_batch::fill(const gpu::cuda::units::piece_rows& pieces, std::size_t from) {
  pieces_ = &pieces;
  const std::size_t taken = find_units(from);
  const std::size_t columns = meter_.prepared().columns();
  for (std::size_t column = 0; column < columns; ++column) {
    const std::uint32_t classes = meter_.pieces()->classes_of(column);
    for (const piece_run& run : runs_) {
      const auto counts = std::span(columns == 1 ? &rows_[run.first_unit] : column_counts_.data(), run.units);
      pieces.count(run.first_piece, classes, counts);
      if (columns == 1) continue;
      for (std::size_t i = 0; i < run.units; ++i) rows_[(run.first_unit + i) * columns + column] = counts[i];
    }
    for (const joined_unit& each : joined_) {
      std::uint32_t& count = rows_[each.unit * columns + column];
      count = 0;
      for (std::size_t i = 0; i < each.counts.size(); ++i) count += (classes >> i & 1U) * each.counts[i];
    }
  }
  return taken;
}

// Finds the pieces and the ends of the units. Returns the number of pieces.
std::size_t unit_batch::find_units(std::size_t from) {
  units_ = 0;
  runs_.clear();
  joined_.clear();
  std::size_t at = from;
  std::uint32_t end = 0;
  const auto may_take = [&] { return at < pieces_->size() && units_ < max_units; };
  while (may_take()) {
    const std::size_t found = pieces_->find_single_units(at, end, std::span(ends_).subspan(units_));
    if (found > 0) {
      runs_.push_back({.first_unit = units_, .first_piece = at, .units = found});
      at += found;
      units_ += found;
      end = ends_[units_ - 1];
    }
    if (!may_take() || pieces_->is_of_omitted(at)) break;
    joined_unit joined{.unit = units_};
    const std::size_t after = add_unit(at, joined);
    if (!pieces_->ends_unit(after - 1)) break;
    at = after;
    for (const std::uint32_t each : joined.counts) end += each;
    ends_[units_++] = end;
    joined_.push_back(joined);
  }
  return at - from;
}

// Returns the piece after it. It may not have ended there.
std::size_t unit_batch::add_unit(std::size_t piece, joined_unit& to) const {
  for (;; ++piece) {
    pieces_->add_counts(piece, std::span<std::uint32_t>(to.counts));
    if (pieces_->ends_unit(piece) || piece + 1 == pieces_->size()) return piece + 1;
  }
}

std::size_t unit_batch::fill_parts(std::uint64_t bytes) {
  const auto units = static_cast<std::size_t>(std::min<std::uint64_t>(text_.size() / bytes, max_units));
  const std::size_t columns = meter_.prepared().columns();
  for (std::size_t i = 0; i < units; ++i) {
    const auto size = static_cast<std::size_t>(bytes);
    gpu::host::count_within_unit(text_.subspan(i * size, size), false, meter_.prepared(), &rows_[i * columns]);
    ends_[i] = static_cast<std::uint32_t>((i + 1) * size);
  }
  return units;
}

std::size_t unit_batch::fill_values(std::uint64_t first_line) {
  const std::size_t lines = fields_->read(text_, ends_, first_line);
  gpu::host::count_units(fields_->text(), meter_.prepared(), value_ends_, rows_);
  return lines;
}

std::span<const std::byte> unit_batch::measured(std::size_t unit) const {
  if (!fields_) return text_of(unit, unit);
  const std::uint32_t begin = unit == 0 ? 0 : value_ends_[unit - 1];
  return fields_->text().subspan(begin, value_ends_[unit] - begin - 1);
}

std::span<const std::byte> unit_batch::value_of(std::size_t unit) const {
  const std::span<const std::byte> text = measured(unit);
  const bool has_end = !fields_ && meter_.plan().shape.are_delimited();
  return has_end ? text.first(text.size() - 1) : text;
}

void unit_batch::count(std::size_t unit, gpu::tally& to) const {
  if (pieces_ == nullptr) return count_bytes(measured(unit), to);
  std::ranges::fill(to.counts, 0);
  const auto found = std::ranges::find(joined_, unit, &joined_unit::unit);
  if (found != joined_.end()) return meter_.pieces()->add(std::span<const std::uint32_t>(found->counts), to);
  const auto run = std::ranges::find_if(
      runs_, [&](const piece_run& each) { return unit >= each.first_unit && unit - each.first_unit < each.units; });
  joined_unit own;
  pieces_->add_counts(run->first_piece + unit - run->first_unit, std::span<std::uint32_t>(own.counts));
  meter_.pieces()->add(std::span<const std::uint32_t>(own.counts), to);
}

void unit_batch::evaluate() {
  meter_.rows_suffice() ? evaluate_rows() : evaluate_one_by_one();
  if (absent_ > 0 || (fields_ && fields_->without_value() > 0)) forget_missing_values();
  if (meter_.plan().divides_rules()) join_rules();
}

// The values of the condition, from those of the rules.
void unit_batch::join_rules() {
  const std::span<double> joined = std::span(single_values_).subspan(condition_at * max_units, units_);
  std::ranges::copy(of_rule(0).first(units_), joined.begin());
  for (std::size_t rule = 1; rule < meter_.plan().rules.size(); ++rule) {
    const std::span<const double> more = of_rule(rule);
    for (std::size_t unit = 0; unit < units_; ++unit) {
      joined[unit] = gpu::formula_values::either(joined[unit], more[unit]);
    }
  }
  if (meter_.plan().selects_missing() && fields_->without_field() > 0) {
    for (std::size_t unit = 0; unit < units_; ++unit) {
      if (fields_->is_without_field(unit)) joined[unit] = 1.0;
    }
  }
  values_[condition_at] = joined;
}

void unit_batch::evaluate_rows() {
  gather_names();
  for (std::size_t i = 0; i < evaluations_.size(); ++i) {
    if (!evaluations_[i]) continue;
    names_.clear();
    for (const name_source& each : meter_.formulas()[i].names) {
      const bool is_fact = each.type == name_source::kind::fact;
      names_.push_back(is_fact ? facts_->values(each.column).data() : &numbers_[number_of(each) * max_units]);
    }
    values_[i] = evaluations_[i]->values(names_, units_);
  }
}

void unit_batch::gather_names() {
  double* const bytes = &numbers_[bytes_at * max_units];
  const std::uint32_t* const ends = fields_ ? value_ends_.data() : ends_.data();
  const std::uint32_t delimiter = fields_ ? 1 : 0;
  bytes[0] = number(ends[0] - delimiter);
  for (std::size_t i = 1; i < units_; ++i) bytes[i] = number(ends[i] - ends[i - 1] - delimiter);
  const std::size_t columns = meter_.prepared().columns();
  for (const needed_column& each : needed_) {
    const std::uint32_t* const row = &rows_[each.column];
    double* const count = &numbers_[count_at(each.column) * max_units];
    double* const share = &numbers_[share_at(each.column) * max_units];
    const auto gather = [&](auto stride) {
      if (each.count) {
        for (std::size_t i = 0; i < units_; ++i) count[i] = number(row[i * stride]);
      }
      if (each.share) {
        for (std::size_t i = 0; i < units_; ++i) share[i] = number(row[i * stride]) / bytes[i];
      }
    };
    columns == 1 ? gather(std::integral_constant<std::size_t, 1>()) : gather(columns);
  }
}

void unit_batch::evaluate_one_by_one() {
  if (meter_.needs_malformed()) count_malformed();
  for (std::size_t unit = 0; unit < units_; ++unit) {
    count_bytes(measured(unit), counts_);
    for (std::size_t i = 0; i < evaluations_.size(); ++i) {
      if (!evaluations_[i]) continue;
      single_values_[i * max_units + unit] = meter_.value(*meter_.formulas()[i].formula, counts_, sequences_of(unit));
    }
  }
  for (std::size_t i = 0; i < evaluations_.size(); ++i) {
    if (evaluations_[i]) values_[i] = std::span<const double>(single_values_).subspan(i * max_units, units_);
  }
}

// Sequences that cross the end of a unit are well-formed in the text of the batch, but not in the units. A delimiter in
// ASCII, and text that is ASCII, has no such sequences.
void unit_batch::count_malformed() {
  std::ranges::fill(malformed_, 0);
  if (fields_) return;  // values are UTF-8
  constexpr std::byte ascii_end{0x80};
  const std::span<const std::byte> text = text_of(0, units_ - 1);
  gpu::host::utf8_meter all(gpu::host::utf8_detail::code_points);
  all.feed(text);
  all.end();
  const unit_shape& shape = meter_.plan().shape;
  const bool none_is_cut =
      (shape.are_delimited() && shape.delimiter < ascii_end) || all.counts().code_points == text.size();
  if (none_is_cut && all.counts().malformed == 0) return;
  for (std::size_t i = 0; i < units_; ++i) malformed_[i] = malformed_in(measured(i));
}

// A line without a value, and an absent value, has none of any formula, also of one without names.
void unit_batch::forget_missing_values() {
  for (std::size_t i = 0; i < evaluations_.size(); ++i) {
    if (!evaluations_[i]) continue;
    const std::span<double> values = own_values(i);
    for (std::size_t unit = 0; unit < units_; ++unit) {
      if (!has_value(unit)) values[unit] = gates::unknown;
    }
  }
}

// Those of a formula, which may be those of its evaluation.
std::span<double> unit_batch::own_values(std::size_t formula) {
  const std::span<double> values = std::span(single_values_).subspan(formula * max_units, units_);
  if (values.data() != values_[formula].data()) std::ranges::copy(values_[formula].first(units_), values.begin());
  values_[formula] = values;
  return values;
}

void unit_batch::drop_duplicate(std::size_t unit) {
  own_values(condition_at)[unit] = meter_.plan().condition_of_dropped();
  if (meter_.plan().divides_rules() && meter_.plan().condition_of_dropped() == 1.0) {
    own_values(values_.size() - 1)[unit] = 1.0;
  }
}

// A line of a batch is complete.
std::uint64_t unit_batch::newlines_of(std::size_t unit) const {
  const std::optional<std::size_t> column = meter_.newline_column();
  return column ? rows_[unit * meter_.prepared().columns() + *column] : 1;
}

std::uint64_t unit_batch::newlines(std::size_t first, std::size_t end) const {
  if (!meter_.newline_column()) return end - first;
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < end; ++i) sum += newlines_of(i);
  return sum;
}

sequence_counts unit_batch::sequences_of(std::size_t unit) {
  sequence_counts made;
  if (const auto column = meter_.words_column()) made.words = rows_[unit * meter_.prepared().columns() + *column];
  if (meter_.needs_malformed()) made.malformed = malformed_[unit];
  if (facts_) made.facts = facts_->facts_of(unit);
  return made;
}

}  // namespace gpuhist::report::units
