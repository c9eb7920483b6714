#include "batch/input_units.hpp"

#include "batch/job_journal.hpp"
#include "pipeline/counts/packed_numbers.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint32_t type_of_units = 100;
constexpr std::uint32_t type_of_sync = 101;
constexpr std::uint16_t last_bin = 0x7fff;  // of 15 bits (distribution.hpp)

std::uint32_t type_of(std::string_view record) {
  const auto head = fixed_in<record_head>(record);
  return head ? head->type : 0;
}

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

double double_in(unpacker& in) {
  const auto value = std::bit_cast<double>(in.number());
  if (std::isnan(value)) throw unpack_error("a value is not a number");
  return value;
}

void pack(packer& out, const line_extents& lines) {
  out.number(lines.all.size()).number(lines.checksum);
  for (const line_extents::extent& each : lines.all) out.number(each.offset).number(each.bytes);
}

line_extents unpack_lines(unpacker& in) {
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

void pack(packer& out, const units::unit_totals& totals) {
  for (const units::unit_number& each : units::unit_numbers) {
    if (each.is_of_filter) continue;  // a job has no filter
    out.number(totals.*each.units);
    if (each.bytes != nullptr) out.number(totals.*each.bytes);
  }
}

units::unit_totals unpack_totals(unpacker& in) {
  units::unit_totals made;
  for (const units::unit_number& each : units::unit_numbers) {
    if (each.is_of_filter) continue;
    made.*each.units = in.number();
    if (each.bytes != nullptr) made.*each.bytes = in.number();
  }
  return made;
}

void pack(packer& out, const units::distribution& values) {
  const units::distribution::numbers numbers = values.divided();
  out.number(numbers.bins.size());
  for (const auto& [bin, units] : numbers.bins) out.number(bin).number(units);
  out.number(numbers.unknown).number(bits_of(numbers.lowest)).number(bits_of(numbers.highest));
}

units::distribution unpack_distribution(unpacker& in) {
  units::distribution::numbers numbers;
  numbers.bins.resize(in.elements(2));
  for (auto& [bin, units] : numbers.bins) {
    bin = static_cast<std::uint16_t>(in.at_most(last_bin));
    units = in.number();
  }
  numbers.unknown = in.number();
  numbers.lowest = double_in(in);
  numbers.highest = double_in(in);
  return units::distribution::joined(numbers);
}

// A field: 0: none; 1: without value; 2: its size follows.
void pack(packer& out, const std::optional<units::measured_field>& field) {
  if (!field) {
    out.number(0);
  } else if (!field->bytes) {
    out.number(1).text(field->cause);
  } else {
    out.number(2).number(*field->bytes);
  }
}

std::optional<units::measured_field> unpack_field(unpacker& in) {
  switch (in.at_most(2)) {
    case 1:
      return units::measured_field{.bytes = {}, .cause = in.text()};
    case 2:
      return units::measured_field{.bytes = in.number()};
    default:
      return std::nullopt;
  }
}

void pack(packer& out, const units::ranked_record& ranked) {
  const units::unit_record& unit = ranked.unit;
  out.number(bits_of(ranked.at.value)).number(ranked.at.input);
  out.text(*unit.input).number(unit.place.number).number(unit.place.line).number(unit.place.offset);
  out.number(unit.place.bytes).number(unit.verified ? 1 : 0).tally(unit.counts).number(unit.values.size());
  for (const gates::named_value& each : unit.values) {
    out.text(each.name).number(each.value ? 1 : 0);
    if (each.value) out.number(bits_of(*each.value));
  }
  pack(out, unit.field);
}

units::ranked_record unpack_ranked(unpacker& in, std::size_t classes) {
  units::ranked_record made;
  units::unit_record& unit = made.unit;
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
  for (gates::named_value& each : unit.values) {
    each.name = in.text();
    if (in.number() != 0) each.value = double_in(in);
  }
  unit.field = unpack_field(in);
  return made;
}

}  // namespace

std::string packed_input_units(const input_units& record) {
  packer out;
  pack(out, record.unit_lines);
  pack(out, record.window_lines);
  pack(out, record.totals);
  pack(out, record.values);
  out.number(record.best.size());
  for (const units::ranked_record& each : record.best) pack(out, each);
  return fixed_bytes(record_head{.entry = record.of.entry, .member = record.of.member, .type = type_of_units}) +
         out.take();
}

bool is_input_units(std::string_view record) { return type_of(record) == type_of_units; }

input_units unpacked_input_units(std::string_view record, const gpu::tally& no_text) {
  const record_head head = fixed_in<record_head>(record).value();
  unpacker in(record.substr(sizeof head), no_text.pairs.size());
  input_units made{.of = {.entry = head.entry, .member = head.member}};
  made.unit_lines = unpack_lines(in);
  made.window_lines = unpack_lines(in);
  made.totals = unpack_totals(in);
  made.values = unpack_distribution(in);
  for (std::size_t remaining = in.elements(1); remaining > 0; --remaining) {
    made.best.push_back(unpack_ranked(in, no_text.counts.size()));
  }
  in.finish();
  return made;
}

std::string packed_sync_record() { return fixed_bytes(record_head{.type = type_of_sync}); }

bool is_sync_record(std::string_view record) { return type_of(record) == type_of_sync; }

}  // namespace gpuhist::pipeline
