#include "library/resolve_units.hpp"

#include "config/number_text.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"
#include "config/utf8.hpp"
#include "library/resolve.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using kind = unit_options::kind;

std::string name_of(const unit_options& asked) {
  switch (asked.each) {
    case kind::line:
      return "line";
    case kind::record:
      return "record";
    case kind::part:
      return config::format_size(asked.part_bytes);
    case kind::input:
      return "input";
    case kind::window:
      return "window";
  }
  return "";
}

units::unit_shape shape_of(const unit_options& asked, const option_names& names) {
  constexpr std::uint64_t max_part = std::uint64_t{1} << 30U;
  using form = units::unit_shape::form;
  switch (asked.each) {
    case kind::line:
      return {};
    case kind::record:
      return {.delimiter = static_cast<std::byte>(asked.delimiter)};
    case kind::part:
      check_range(names.where("--each"), asked.part_bytes, 1, max_part);
      return {.bytes = asked.part_bytes};
    case kind::input:
      return {.divides = form::inputs};
    case kind::window:
      return {.divides = form::windows};
  }
  throw config::usage_error(names.where("--each") + ": no value of the enumeration");
}

void check_combination(const file_options& options, const option_names& names) {
  const std::string each = names.where("--each");
  if (options.follow) {
    throw config::usage_error(each + ": cannot be combined with " + names.name("--follow") + "; give " +
                              names.name("--window") + " and " + names.name("--alert-if"));
  }
  if (options.counting.units->each == kind::window && !options.counting.windows) {
    throw config::usage_error(each + ": window requires " + names.name("--window"));
  }
}

void check_filter(const file_options& options, const option_names& names) {
  const unit_options& asked = *options.counting.units;
  if (asked.where.empty()) throw config::usage_error("unit_options::filter: requires unit_options::where");
  if (asked.each == kind::input || asked.each == kind::window) {
    throw config::usage_error(names.where("--each") + ": units of a filter are lines, records or parts of a text");
  }
  if (options.skip_damage && options.utf8) {
    throw config::usage_error(names.where("--utf8") + ": cannot be combined with unit_options::filter and " +
                              names.name("--skip-damage") + ", which hold text until it is verified");
  }
}

std::uint64_t memory_limit_of(const counting_options& options) {
  constexpr std::uint64_t default_limit = std::uint64_t{1} << 30U;
  return options.memory_limit > 0 ? options.memory_limit : default_limit;
}

// Reading a line takes up to 16 times its bytes, at one time for one long line only. A line that is not complete is
// held for each open input.
std::optional<units::field_of_lines> field_of(const counting_options& options, const option_names& names) {
  constexpr std::uint64_t share_of_memory = 64;
  constexpr std::uint64_t most = std::uint64_t{64} << 20U;
  const unit_options& asked = *options.units;
  if (asked.jsonl_field.empty()) return std::nullopt;
  const std::string option = names.where("--jsonl-field");
  if (asked.each != kind::line) throw config::usage_error(option + ": requires " + names.name("--each") + " line");
  if (!config::is_utf8(asked.jsonl_field)) throw config::usage_error(option + ": the name of the field is not UTF-8");
  const std::uint64_t longest = std::bit_floor(memory_limit_of(options) / share_of_memory);
  return units::field_of_lines{.name = asked.jsonl_field, .max_bytes = std::min(longest, most)};
}

// The records of ranked units are held in memory.
void check_memory(const counting_options& options, const option_names& names) {
  constexpr std::uint64_t bytes_of_unit = 3072;  // with counts of 256 values: measured
  constexpr std::uint64_t share_of_memory = 4;
  const std::uint64_t limit = memory_limit_of(options);
  if (options.units->top * bytes_of_unit <= limit / share_of_memory) return;
  throw config::usage_error(names.where("--top") + ": " + config::number_of(options.units->top, "unit") + " may need " +
                            config::format_size(options.units->top * bytes_of_unit) + " of memory; give at most " +
                            std::to_string(limit / share_of_memory / bytes_of_unit) + ", or a higher " +
                            names.name("--memory-limit"));
}

// Units are not counted by pairs, inputs and windows not by words, and windows not by UTF-8 sequences.
void check_names(const gates::formula& used, const std::string& option, const units::unit_shape& shape) {
  const auto refuse = [&](const config::reference& at, std::string_view cause) {
    throw config::usage_error(option + ": " + config::pointing_at(at.typed + std::string(cause), used.text(), at.at));
  };
  if (const config::reference* const pairs = used.needs_pairs())
    refuse(*pairs, " is a measure of pairs, which units do not have");
  if (const config::reference* const words = used.needs_words(); words != nullptr && !shape.divides_text()) {
    refuse(*words, " are counted in lines, records and parts only");
  }
  const config::reference* const utf8 = used.needs_malformed();
  if (utf8 != nullptr && shape.divides == units::unit_shape::form::windows) {
    refuse(*utf8, " is counted in lines, records, parts and inputs only");
  }
}

}  // namespace

std::shared_ptr<const units::unit_plan> resolve_units(const file_options& options, const formula_context& known) {
  if (!options.counting.units) return nullptr;
  const unit_options& asked = *options.counting.units;
  const option_names& names = known.names;
  check_combination(options, names);
  formula_context of_units = known;
  of_units.has_words = true;
  of_units.has_pairs = true;  // refused below, with another remedy
  units::unit_plan made{
      .shape = shape_of(asked, names), .each = name_of(asked), .field = field_of(options.counting, names)};
  of_units.of_windows = made.shape.divides == units::unit_shape::form::windows;
  // of inputs, --utf8 counts them; in windows, they are refused below, with another remedy
  of_units.has_malformed = known.has_malformed || made.shape.divides != units::unit_shape::form::inputs;
  if (!asked.where.empty()) {
    made.where = resolve_condition(names.where("--where"), asked.where, of_units);
    check_names(*made.where, names.where("--where"), made.shape);
  }
  if (asked.filter != unit_filter::none) {
    check_filter(options, names);
    using kept = units::filtering::kept;
    made.filter = {.units = asked.filter == unit_filter::keep ? kept::selected : kept::others,
                   .drops_unverified = options.skip_damage,
                   .spilled_to = {.path = options.counting.temporary_folder, .content = "units that are not complete"}};
    if (names.is_command()) made.filter->spilled_to.named_by = "TMPDIR";
  }
  if (asked.top > 0 || !asked.top_by.empty()) {
    constexpr unsigned max_units = 1'000'000;
    const std::string formula = names.is_command() ? names.where("--top") : "unit_options::top_by";
    check_range(names.where("--top"), asked.top, 1, max_units);
    made.top = {.number = asked.top, .by = resolve_formula(formula, asked.top_by, of_units)};
    check_names(made.top->by, formula, made.shape);
    check_memory(options.counting, names);
  }
  if (!asked.distribution_of.empty()) {
    made.distribution = resolve_formula(names.where("--distribution-of"), asked.distribution_of, of_units);
    check_names(*made.distribution, names.where("--distribution-of"), made.shape);
  }
  return std::make_shared<const units::unit_plan>(std::move(made));
}

}  // namespace gpuhist::pipeline
