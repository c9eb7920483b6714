// The C interface of units: a translation of units.hpp.
#include "library/c_calls.hpp"
#include "library/c_results.hpp"

#include <limits>

namespace gpuhist::c_interface {
namespace {

unit_options::kind kind_of_unit(std::uint32_t chosen) {
  switch (chosen) {
    case GPUHIST_UNIT_LINE:
      return unit_options::kind::line;
    case GPUHIST_UNIT_RECORD:
      return unit_options::kind::record;
    case GPUHIST_UNIT_PART:
      return unit_options::kind::part;
    case GPUHIST_UNIT_INPUT:
      return unit_options::kind::input;
    case GPUHIST_UNIT_WINDOW:
      return unit_options::kind::window;
    default:
      throw error(errc::invalid_argument, "gpuhist_unit_options.each: there is no unit " + std::to_string(chosen));
  }
}

unit_filter filter_of(std::uint32_t chosen) {
  switch (chosen) {
    case GPUHIST_FILTER_NONE:
      return unit_filter::none;
    case GPUHIST_FILTER_KEEP:
      return unit_filter::keep;
    case GPUHIST_FILTER_DROP:
      return unit_filter::drop;
    default:
      throw error(errc::invalid_argument, "gpuhist_unit_options.filter: there is no filter " + std::to_string(chosen));
  }
}

char delimiter_of(std::uint32_t chosen) {
  constexpr std::uint32_t largest = 255;
  if (chosen <= largest) return static_cast<char>(chosen);
  throw error(errc::invalid_argument,
              "gpuhist_unit_options.delimiter: " + std::to_string(chosen) + " is not a byte; give 0 to 255");
}

std::string string_or_empty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

const unit_summary& units_of(const gpuhist_results* results) {
  const std::optional<unit_summary>& units = given(results, "results").units;
  if (!units) throw error(errc::invalid_argument, "no units were measured; set gpuhist_options.units");
  return *units;
}

template <typename T>
const T& element(const std::vector<T>& all, std::size_t number, const char* name) {
  if (number < all.size()) return all[number];
  throw error(errc::invalid_argument,
              "there is no " + std::string(name) + " " + std::to_string(number) + " of " + std::to_string(all.size()));
}

}  // namespace

unit_options unit_options_of(const gpuhist_unit_options& options) {
  const gpuhist_unit_options known = known_part(options, "gpuhist_unit_options");
  return {.each = kind_of_unit(known.each),
          .delimiter = delimiter_of(known.delimiter),
          .part_bytes = known.part_bytes,
          .where = string_or_empty(known.where),
          .top = known.top,
          .top_by = string_or_empty(known.top_by),
          .filter = filter_of(known.filter),
          .distribution_of = string_or_empty(known.distribution_of),
          .jsonl_field = string_or_empty(known.jsonl_field)};
}

}  // namespace gpuhist::c_interface

using gpuhist::c_interface::element;
using gpuhist::c_interface::given;
using gpuhist::c_interface::guarded;
using gpuhist::c_interface::units_of;
using gpuhist::c_interface::write_known;

extern "C" {

gpuhist_status gpuhist_unit_describe(const gpuhist_unit* unit, gpuhist_unit_info* info) {
  return guarded([&] {
    gpuhist_unit_info& to = given(info, "info");
    const gpuhist::unit& from = given(unit, "unit").found;
    write_known({.size = 0,
                 .input = from.input.c_str(),
                 .number = from.number,
                 .line = from.line,
                 .offset = from.offset,
                 .bytes = from.bytes,
                 .verified = from.verified ? 1 : 0,
                 .values = static_cast<std::uint32_t>(from.values.size()),
                 .without_field = from.without_field.c_str(),
                 .field_bytes = from.field_bytes.value_or(0)},
                to, "gpuhist_unit_info");
  });
}

gpuhist_status gpuhist_unit_value(const gpuhist_unit* unit, size_t number, const char** name, double* value) {
  return guarded([&] {
    const auto& found = element(given(unit, "unit").found.values, number, "value");
    const char*& to_name = given(name, "name");
    given(value, "value") = found.value.value_or(std::numeric_limits<double>::quiet_NaN());
    to_name = found.name.c_str();
  });
}

gpuhist_status gpuhist_results_units(const gpuhist_results* results, gpuhist_unit_summary* found) {
  return guarded([&] {
    const gpuhist::unit_summary& from = units_of(results);
    write_known({.size = 0,
                 .seen = from.seen,
                 .bytes = from.bytes,
                 .selected = from.selected,
                 .selected_bytes = from.selected_bytes,
                 .ranked = from.top.size(),
                 .ranges = from.distribution.size(),
                 .without_value = from.without_value,
                 .without_field = from.without_field,
                 .unverified = from.unverified,
                 .unverified_bytes = from.unverified_bytes},
                given(found, "found"), "gpuhist_unit_summary");
  });
}

gpuhist_status gpuhist_results_ranked_unit(const gpuhist_results* results, size_t rank, double* value,
                                           const gpuhist_unit** unit) {
  return guarded([&] {
    const gpuhist::ranked_unit& found = element(units_of(results).top, rank, "ranked unit");
    const gpuhist_unit*& to_unit = given(unit, "unit");
    given(value, "value") = found.value;
    to_unit = &results->ranked[rank];
  });
}

gpuhist_status gpuhist_results_value_range(const gpuhist_results* results, size_t number, double* from, double* to,
                                           uint64_t* units) {
  return guarded([&] {
    const gpuhist::value_range& found = element(units_of(results).distribution, number, "range");
    double& to_from = given(from, "from");
    double& to_to = given(to, "to");
    given(units, "units") = found.units;
    to_from = found.from;
    to_to = found.to;
  });
}

}  // extern "C"
