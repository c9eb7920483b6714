#include "arrow_table.hpp"

#include <utility>

#include "text.hpp"

namespace gpuhist::python {
namespace {

void set_bit(std::vector<std::uint8_t>& bits, std::int64_t row, bool value) {
  if (row % 8 == 0) bits.push_back(0);
  if (value) bits.back() = static_cast<std::uint8_t>(bits.back() | (1U << static_cast<unsigned>(row % 8)));
}

/// The columns that all tables have, for one row.
struct facts {
  arrow_column input = arrow_column::of_text("input");
  arrow_column format = arrow_column::of_text("format");
  arrow_column bytes = arrow_column::of_counts("bytes");
  arrow_column lines = arrow_column::of_counts("lines");
  arrow_column compressed = arrow_column::of_counts("compressed_bytes", true);
  arrow_column unverified = arrow_column::of_counts("unverified_bytes");
  arrow_column complete = arrow_column::of_flags("complete");
  arrow_column error = arrow_column::of_text("error");

  void append(const input_result& counted) {
    input.append_text(counted.name);
    format.append_text(counted.format);
    bytes.append(std::optional(counted.bytes));
    lines.append(std::optional(counted.lines));
    compressed.append(counted.compressed_bytes);
    unverified.append(std::optional(counted.unverified_bytes));
    complete.append_flag(counted.complete);
    error.append_text(counted.error);
  }

  void move_to(std::vector<arrow_column>& columns) {
    for (arrow_column* each : {&input, &format, &bytes, &lines, &compressed, &unverified, &complete, &error}) {
      columns.push_back(std::move(*each));
    }
  }
};

void add_counts(arrow_table& table, const results& counted, const std::string& scheme) {
  const std::size_t first = table.columns.size();
  for (const std::string& bucket : counted.buckets(scheme)) {
    table.columns.push_back(arrow_column::of_counts(scheme + "." + bucket));
  }
  for (std::size_t number = 0; number < counted.inputs(); ++number) {
    std::size_t column = first;
    for (const std::uint64_t count : counted.counts(scheme, number)) {
      table.columns[column++].append(std::optional(count));
    }
  }
}

void add_measure(arrow_table& table, const results& counted, const std::string& name) {
  arrow_column column = arrow_column::of_numbers(name);
  for (std::size_t number = 0; number < counted.inputs(); ++number) {
    column.append(counted.measure(name, number).value);
  }
  table.columns.push_back(std::move(column));
}

}  // namespace

arrow_column arrow_column::of_counts(std::string name, bool nullable) {
  return {.name = std::move(name), .nullable = nullable};
}

arrow_column arrow_column::of_numbers(std::string name) {
  return {.name = std::move(name), .format = "g", .nullable = true};
}

arrow_column arrow_column::of_flags(std::string name) { return {.name = std::move(name), .format = "b"}; }

arrow_column arrow_column::of_text(std::string name) {
  return {.name = std::move(name), .format = "U", .offsets = {0}};
}

void arrow_column::append(std::optional<std::uint64_t> count) {
  append_validity(count.has_value());
  counts.push_back(count.value_or(0));
}

void arrow_column::append(std::optional<double> number) {
  append_validity(number.has_value());
  numbers.push_back(number.value_or(0));
}

void arrow_column::append_flag(bool flag) { set_bit(bits, rows++, flag); }

void arrow_column::append_text(std::string_view bytes) {
  append_utf8(text, bytes);
  offsets.push_back(static_cast<std::int64_t>(text.size()));
  ++rows;
}

void arrow_column::append_validity(bool is_valid) {
  if (nullable) set_bit(valid, rows, is_valid);
  if (!is_valid) ++nulls;
  ++rows;
}

std::vector<const void*> arrow_column::buffers() const {
  const void* validity = nullable ? valid.data() : nullptr;
  switch (*format) {
    case 'U':
      return {validity, offsets.data(), text.data()};
    case 'b':
      return {validity, bits.data()};
    case 'g':
      return {validity, numbers.data()};
    default:
      return {validity, counts.data()};
  }
}

arrow_table table_of(const results& counted, const std::vector<std::string>& measures) {
  facts of_inputs;
  for (std::size_t number = 0; number < counted.inputs(); ++number) of_inputs.append(counted.input(number));
  arrow_table table{.rows = static_cast<std::int64_t>(counted.inputs()), .columns = {}};
  of_inputs.move_to(table.columns);
  for (const std::string& scheme : counted.schemes()) add_counts(table, counted, scheme);
  for (const std::string& name : measures) add_measure(table, counted, name);
  return table;
}

}  // namespace gpuhist::python
