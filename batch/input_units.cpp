#include "batch/input_units.hpp"

#include "batch/job_journal.hpp"
#include "pipeline/counts/packed_numbers.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace gpuhist::batch {
namespace {

constexpr std::uint32_t type_of_units = 100;
constexpr std::uint32_t type_of_sync = 101;
constexpr std::uint32_t type_of_more_units = 102;

std::uint32_t type_of(std::string_view record) {
  const auto head = fixed_in<record_head>(record);
  return head ? head->type : 0;
}

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

double double_in(pipeline::unpacker& in) {
  const auto value = std::bit_cast<double>(in.number());
  if (std::isnan(value)) throw pipeline::unpack_error("a value is not a number");
  return value;
}

void pack(pipeline::packer& out, const line_extents& lines) {
  out.number(lines.all.size()).number(lines.checksum);
  for (const line_extents::extent& each : lines.all) out.number(each.offset).number(each.bytes);
}

line_extents unpack_lines(pipeline::unpacker& in) {
  constexpr std::uint64_t last = std::numeric_limits<std::int64_t>::max();
  line_extents made;
  made.all.resize(in.elements(2));
  made.checksum = in.number();
  for (line_extents::extent& each : made.all) {
    each.offset = in.at_most(last);
    each.bytes = in.at_most(last - each.offset);
  }
  return made;
}

void pack(pipeline::packer& out, const report::units::unit_totals& totals) {
  for (const report::units::unit_number& each : report::units::unit_numbers) {
    if (each.part != nullptr) continue;  // a job has no filter, and duplicates are known at its end
    out.number(totals.*each.units);
    if (each.bytes != nullptr) out.number(totals.*each.bytes);
  }
}

report::units::unit_totals unpack_totals(pipeline::unpacker& in) {
  report::units::unit_totals made;
  for (const report::units::unit_number& each : report::units::unit_numbers) {
    if (each.part != nullptr) continue;
    made.*each.units = in.number();
    if (each.bytes != nullptr) made.*each.bytes = in.number();
  }
  return made;
}

void pack(pipeline::packer& out, const std::vector<report::units::rule_totals>& rules) {
  out.number(rules.size());
  for (const report::units::rule_totals& rule : rules) {
    for (const report::units::rule_number& each : report::units::rule_numbers) out.number(rule.*each.value);
  }
}

std::vector<report::units::rule_totals> unpack_rules(pipeline::unpacker& in) {
  std::vector<report::units::rule_totals> made(in.elements(report::units::rule_numbers.size()));
  for (report::units::rule_totals& rule : made) {
    for (const report::units::rule_number& each : report::units::rule_numbers) rule.*each.value = in.number();
  }
  return made;
}

void pack(pipeline::packer& out, const report::units::distribution& values) {
  const report::units::distribution::numbers numbers = values.divided();
  out.number(numbers.bins.size());
  for (const auto& [bin, units] : numbers.bins) out.number(bin).number(units);
  out.number(numbers.unknown).number(bits_of(numbers.lowest)).number(bits_of(numbers.highest));
  for (const auto& each : {numbers.sum.positive(), numbers.sum.negative()}) {
    out.number(each.whole).number(each.millionths);
  }
}

report::units::distribution unpack_distribution(pipeline::unpacker& in) {
  report::units::distribution::numbers numbers;
  numbers.bins.resize(in.elements(2));
  for (auto& [bin, units] : numbers.bins) {
    bin = static_cast<std::uint32_t>(in.at_most(report::units::distribution::numbers::last_bin));
    units = in.number();
  }
  numbers.unknown = in.number();
  numbers.lowest = double_in(in);
  numbers.highest = double_in(in);
  for (const bool are_negative : {false, true}) {
    const std::uint64_t whole = in.at_most(report::units::value_sum::magnitude::limit);
    numbers.sum.add({.whole = whole, .millionths = in.number()}, are_negative);
  }
  return report::units::distribution::joined(numbers);
}

void pack(pipeline::packer& out, const std::vector<report::units::text_hash>& texts) {
  out.text({reinterpret_cast<const char*>(texts.data()), texts.size() * sizeof(report::units::text_hash)});
}

std::vector<report::units::text_hash> unpack_texts(pipeline::unpacker& in) {
  const std::string bytes = in.text();
  if (bytes.size() % sizeof(report::units::text_hash) != 0) throw pipeline::unpack_error("a hash of a text is cut");
  std::vector<report::units::text_hash> made(bytes.size() / sizeof(report::units::text_hash));
  if (!bytes.empty()) std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

void pack(pipeline::packer& out, const std::vector<report::units::group_table>& parts) {
  out.number(parts.size());
  for (const report::units::group_table& part : parts) {
    std::vector<std::size_t> places(part.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    report::units::pack(out, part, places);
  }
}

std::vector<report::units::group_table> unpack_parts(pipeline::unpacker& in) {
  std::vector<report::units::group_table> made;
  for (std::size_t remaining = in.elements(3); remaining > 0; --remaining) {
    made.push_back(report::units::unpack_groups(in));
  }
  return made;
}

// A field: 0: none; 1: without value; 2: its size follows.
void pack(pipeline::packer& out, const std::optional<report::units::measured_field>& field) {
  if (!field) {
    out.number(0);
  } else if (!field->bytes) {
    out.number(1).text(field->cause);
  } else {
    out.number(2).number(*field->bytes);
  }
}

std::optional<report::units::measured_field> unpack_field(pipeline::unpacker& in) {
  switch (in.at_most(2)) {
    case 1:
      return report::units::measured_field{.bytes = {}, .cause = in.text()};
    case 2:
      return report::units::measured_field{.bytes = in.number()};
    default:
      return std::nullopt;
  }
}

void pack(pipeline::packer& out, const report::units::ranked_record& ranked) {
  const report::units::unit_record& unit = ranked.unit;
  out.number(bits_of(ranked.at.value)).number(ranked.at.input);
  out.text(*unit.input).number(unit.place.number).number(unit.place.line).number(unit.place.offset);
  out.number(unit.place.bytes).number(unit.verified ? 1 : 0).tally(unit.counts).number(unit.values.size());
  for (const report::gates::named_value& each : unit.values) {
    out.text(each.name).number(each.value ? 1 : 0);
    if (each.value) out.number(bits_of(*each.value));
  }
  pack(out, unit.field);
  out.number(unit.text ? 1 : 0).text(unit.text.value_or(""));
}

report::units::ranked_record unpack_ranked(pipeline::unpacker& in, std::size_t classes) {
  report::units::ranked_record made;
  report::units::unit_record& unit = made.unit;
  made.at.value = double_in(in);
  made.at.input = in.number();
  unit.input = std::make_shared<const std::string>(in.text());
  unit.place.number = made.at.unit = in.number();
  unit.place.line = in.number();
  unit.place.offset = in.number();
  unit.place.bytes = in.number();
  unit.verified = in.number() != 0;
  unit.counts = in.tally(classes);
  unit.values.resize(in.elements(2));
  for (report::gates::named_value& each : unit.values) {
    each.name = in.text();
    if (in.number() != 0) each.value = double_in(in);
  }
  unit.field = unpack_field(in);
  const bool has_text = in.at_most(1) == 1;
  std::string text = in.text();
  if (has_text) unit.text = std::move(text);
  return made;
}

}  // namespace

std::string packed_input_units(const input_units& record) {
  pipeline::packer out;
  pack(out, record.unit_lines);
  pack(out, record.window_lines);
  pack(out, record.totals);
  pack(out, record.values);
  pack(out, record.groups);
  out.number(record.best.size());
  for (const report::units::ranked_record& each : record.best) pack(out, each);
  out.number(record.watched.size());
  for (const report::units::distribution& each : record.watched) pack(out, each);
  pack(out, record.group_values);
  pack(out, record.rules);
  out.number(record.texts.texts).number(record.texts.bytes);
  pack(out, record.different);
  return fixed_bytes(record_head{.entry = record.of.entry,
                                 .member = record.of.member,
                                 .type = record.is_continued ? type_of_more_units : type_of_units}) +
         out.take();
}

bool is_input_units(std::string_view record) {
  return type_of(record) == type_of_units || type_of(record) == type_of_more_units;
}

input_units unpacked_input_units(std::string_view record, const gpu::tally& no_text) {
  const record_head head = fixed_in<record_head>(record).value();
  pipeline::unpacker in(record.substr(sizeof head), no_text.pairs.size());
  input_units made{.of = {.entry = head.entry, .member = head.member}, .is_continued = head.type == type_of_more_units};
  made.unit_lines = unpack_lines(in);
  made.window_lines = unpack_lines(in);
  made.totals = unpack_totals(in);
  made.values = unpack_distribution(in);
  made.groups = unpack_parts(in);
  for (std::size_t remaining = in.elements(1); remaining > 0; --remaining) {
    made.best.push_back(unpack_ranked(in, no_text.counts.size()));
  }
  constexpr std::size_t shortest_distribution = 4;
  for (std::size_t remaining = in.elements(shortest_distribution); remaining > 0; --remaining) {
    made.watched.push_back(unpack_distribution(in));
  }
  made.group_values = unpack_parts(in);
  made.rules = unpack_rules(in);
  made.texts = {.texts = in.number(), .bytes = in.number()};
  made.different = unpack_texts(in);
  in.finish();
  return made;
}

std::string packed_sync_record() { return fixed_bytes(record_head{.type = type_of_sync}); }

bool is_sync_record(std::string_view record) { return type_of(record) == type_of_sync; }

}  // namespace gpuhist::batch
