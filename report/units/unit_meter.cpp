#include "report/units/unit_meter.hpp"

#include <algorithm>
#include <bitset>

namespace gpuhist::report::units {
namespace {

using byte_set = std::bitset<256>;
using kind = gates::meaning::kind;

constexpr std::string_view separators = " \t\n\v\f\r";

byte_set set_of(std::string_view bytes) {
  byte_set made;
  for (const char each : bytes) made.set(static_cast<unsigned char>(each));
  return made;
}

std::size_t column_of(gpu::host::unit_columns& columns, const byte_set& wanted) {
  const auto found = std::ranges::find(columns.sets, wanted);
  if (found != columns.sets.end()) return static_cast<std::size_t>(found - columns.sets.begin());
  columns.sets.push_back(wanted);
  return columns.sets.size() - 1;
}

// Values of a field are UTF-8, so that a byte that is never in UTF-8 can end them. It is not counted.
void exclude_end_of_value(gpu::host::unit_columns& columns) {
  for (byte_set& each : columns.sets) each.reset(std::to_integer<std::size_t>(unit_meter::end_of_value));
}

// The column of words follows those of all sets, so its number is set last.
constexpr std::size_t words_to_come = ~std::size_t{0};

name_source source_of(const gates::meaning& name, gpu::host::unit_columns& columns) {
  switch (name.type) {
    case kind::lines:
      return {.type = name_source::kind::count, .column = column_of(columns, set_of("\n"))};
    case kind::words:
      columns.word_separators = set_of(separators);
      return {.type = name_source::kind::count, .column = words_to_come};
    case kind::share:
      return {.type = name_source::kind::share, .column = column_of(columns, name.bytes)};
    case kind::count:
      return {.type = name_source::kind::count, .column = column_of(columns, name.bytes)};
    case kind::fact:
      return {.type = name_source::kind::fact, .column = name.fact};
    default:
      return {};
  }
}

}  // namespace

unit_meter::unit_meter(const unit_plan& planned, const gpu::partition& partition, const measures::byte_counts* baseline)
    : plan_(planned),
      partition_(partition),
      prepared_partition_(gpu::host::prepare(partition)),
      runs_(partition),
      counted_(planned.shape.divides_text() ? gpu::partition::identity() : partition),
      baseline_(baseline) {
  std::vector<const gates::formula*> typed = {planned.where ? &*planned.where : nullptr,
                                              planned.top ? &planned.top->by : nullptr,
                                              planned.distribution ? &*planned.distribution : nullptr};
  for (const gates::formula& each : planned.watched.formulas) typed.push_back(&each);
  if (planned.divides_rules()) {
    for (const unit_rule& each : planned.rules) typed.push_back(&each.when);
  }
  gpu::host::unit_columns columns;
  for (const gates::formula* each : typed) formulas_.push_back(bind(each, columns));
  if (columns.sets.size() >= gpu::host::max_unit_sets) rows_suffice_ = false;
  if (!rows_suffice_) columns.sets.clear();
  if (!planned.shape.are_lines()) newlines_ = column_of(columns, set_of("\n"));
  if (planned.lines && planned.lines->reads_keys() && !planned.lines->counts_characters() && !planned.field)
    add_class_columns(columns);
  if (columns.word_separators) words_ = columns.sets.size();
  for (unit_formula& each : formulas_) {
    for (name_source& name : each.names) {
      if (name.column == words_to_come) name.column = *words_;
    }
  }
  if (planned.field) exclude_end_of_value(columns);
  prepared_.emplace(columns, planned.field ? end_of_value : planned.shape.delimiter);
  const bool needs_text = !planned.shape.divides_text() || !planned.shape.are_delimited() || planned.field ||
                          planned.filter || planned.shows_text || planned.duplicates || planned.signatures ||
                          !rows_suffice_ || words_;
  if (needs_text) return;
  const bool needs_all = planned.top || planned.distribution || !planned.watched.is_empty();
  if (planned.lines) {
    const bool are_strings = planned.lines->reads_strings_only() && !planned.lines->has_groups();
    if (are_strings && !planned.where && !needs_all && planned.shape.are_lines()) {
      pieces_ = unit_pieces::with_strings(planned.lines->matches->strings());
    }
    return;
  }
  pieces_ = unit_pieces::make(columns, partition, planned.shape.delimiter);
  if (pieces_ && planned.where && !needs_all && planned.shape.are_lines()) {
    pieces_->omit_unless(planned.where->typed(), formulas_.front().names);
  }
}

// If there is room for them; groups count lines, and rows with a field its values. Without keys, the lines of a group
// follow each other, and are counted together instead.
void unit_meter::add_class_columns(gpu::host::unit_columns& columns) {
  const std::size_t added = partition_.classes - std::size_t{1};
  if (columns.sets.size() + added > gpu::host::max_unit_sets) return;
  for (std::size_t wanted = 0; wanted < added; ++wanted) {
    byte_set members;
    for (std::size_t value = 0; value < members.size(); ++value) members[value] = partition_.class_of[value] == wanted;
    class_columns_.push_back(column_of(columns, members));
  }
}

unit_formula unit_meter::bind(const gates::formula* typed, gpu::host::unit_columns& columns) {
  unit_formula made{.formula = typed};
  if (typed == nullptr) return made;
  if (typed->needs_malformed() != nullptr) needs_malformed_ = true;
  if (typed->needs_byte_counts() || needs_malformed_) rows_suffice_ = false;
  for (const gates::meaning& name : typed->meanings()) made.names.push_back(source_of(name, columns));
  return made;
}

bool unit_meter::separates_words(std::byte value) {
  return separators.find(static_cast<char>(value)) != std::string_view::npos;
}

gates::watched_counts unit_meter::watched(const gpu::tally& counts, const sequence_counts& sequences,
                                          const measures::byte_counts* baseline) const {
  return {.counts = counts,
          .partition = counted_,
          .baseline = baseline != nullptr ? baseline : baseline_,
          .schemes = {},
          .words = sequences.words,
          .malformed = sequences.malformed,
          .facts = sequences.facts};
}

gpu::tally unit_meter::fold(const gpu::tally& counts) const {
  if (!plan_.shape.divides_text()) return counts;
  gpu::tally made(partition_.classes);
  if (!counts.counts.empty()) runs_.fold(counts.counts.data(), partition_.classes, made.counts.data());
  return made;
}

// Without the end of a line or record.
std::string_view unit_meter::shown_part(std::string_view text) const {
  const bool has_end = plan_.shape.are_delimited() && text.ends_with(static_cast<char>(plan_.shape.delimiter));
  return text.substr(0, std::min(text.size() - (has_end ? 1 : 0), unit_plan::shown_bytes));
}

std::vector<std::size_t> unit_meter::rules_of(const counted_unit& found, double condition) const {
  std::vector<std::size_t> made;
  if (!plan_.reports_rules() || condition != 1.0) return made;
  if (!plan_.divides_rules()) return {0};
  for (std::size_t i = 0; i < plan_.rules.size(); ++i) {
    if (value(plan_.rules[i].when, found) == 1.0) made.push_back(i);
  }
  if (plan_.selects_missing() && found.is_without_field()) made.push_back(plan_.rules.size());
  return made;
}

unit_record unit_meter::record_of(const counted_unit& found, const gates::formula& of) const {
  unit_record made{.input = found.input,
                   .place = found.place,
                   .verified = found.verified,
                   .counts = fold(found.counts),
                   .values = of.values(watched(found.counts, found.sequences, found.baseline)),
                   .field = found.field};
  if (plan_.reports_rules()) {
    std::vector<std::string>& names = made.rules.emplace();
    for (const std::size_t each : found.rules) {
      names.push_back(each < plan_.rules.size() ? plan_.rules[each].name : rule_of_missing_field);
    }
  }
  if (plan_.shows_text && found.text) made.text = std::string(shown_part(*found.text));
  if (found.has_values()) return made;
  for (gates::named_value& each : made.values) each.value.reset();
  return made;
}

}  // namespace gpuhist::report::units
