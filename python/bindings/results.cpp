// Counts: results, their inputs, measures and units.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <gpuhist/results.hpp>
#include <gpuhist/units.hpp>

#include <array>

#include "bind.hpp"
#include "text.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

constexpr std::array failure_names{"",        "not_read",      "stopped",     "unreadable", "damaged",
                                   "refused", "out_of_memory", "not_counted", "unknown"};
constexpr std::array error_names{"",       "invalid_argument", "misuse",  "closed", "engine", "out_of_memory",
                                 "system", "internal",         "callback"};
constexpr std::array notice_names{"name_differs",  "unknown_compression", "no_end_marker", "trailing_data",
                                  "no_end_blocks", "replaced_characters", "unknown"};
constexpr std::array skipped_names{"link", "special", "output", "directory", "unknown"};

std::optional<std::string> failure_of(const input_result& input) {
  if (input.kind == failure::none) return std::nullopt;
  return name_of(failure_names, input.kind);
}

std::optional<std::string> error_kind_of(const results& counted) {
  const auto kind = counted.error_kind();
  if (!kind) return std::nullopt;
  return name_of(error_names, *kind);
}

results read(const nb::bytes& json, const read_options& options) {
  const std::string_view text(json.c_str(), json.size());
  const nb::gil_scoped_release released;
  return results::read(text, options);
}

results merge(const std::vector<results>& parts) {
  const nb::gil_scoped_release released;
  return results::merge(parts);
}

nb::bytes json_of(const results& counted) {
  std::string text;
  {
    const nb::gil_scoped_release released;
    text = counted.to_json();
  }
  return nb::bytes(text.data(), text.size());
}

void bind_input(nb::module_& core) {
  nb::class_<input_notice>(core, "Notice",
                           "A remark about an input that is counted all the same. `text` is for people.")
      .def_prop_ro("kind", [](const input_notice& notice) { return name_of(notice_names, notice.type); })
      .def_prop_ro("text", [](const input_notice& notice) { return as_text(notice.text); });
  nb::class_<input_result>(core, "InputResult")
      .def_prop_ro("name", [](const input_result& input) { return as_text(input.name); })
      .def_ro("format", &input_result::format)
      .def_ro("compressed_bytes", &input_result::compressed_bytes)
      .def_ro("bytes", &input_result::bytes)
      .def_ro("lines", &input_result::lines)
      .def_ro("unverified_bytes", &input_result::unverified_bytes)
      .def_ro("complete", &input_result::complete)
      .def_prop_ro("failure", failure_of)
      .def_prop_ro("error", [](const input_result& input) { return as_text(input.error); })
      .def_ro("is_failure_of_archive", &input_result::is_failure_of_archive)
      .def_ro("notices", &input_result::notices)
      .def_ro("matches", &input_result::matches);
}

void bind_values(nb::module_& core) {
  nb::class_<measurement>(core, "Measurement", "A measure: its `value` in `unit`, or None and the `reason`.")
      .def_ro("name", &measurement::name)
      .def_ro("unit", &measurement::unit)
      .def_ro("value", &measurement::value)
      .def_ro("reason", &measurement::reason);
  nb::class_<skipped_inputs>(core, "SkippedInputs", "Names that were not read, all for the same cause.")
      .def_ro("cause", &skipped_inputs::cause)
      .def_ro("count", &skipped_inputs::count)
      .def_prop_ro("first", [](const skipped_inputs& skipped) { return as_text(skipped.first); })
      .def_ro("bytes", &skipped_inputs::bytes)
      .def_prop_ro("kind", [](const skipped_inputs& skipped) { return name_of(skipped_names, skipped.kind); });
}

nb::dict quantiles_by_percent(const std::vector<quantile>& from) {
  nb::dict made;
  for (const quantile& each : from) made[nb::float_(each.percent)] = each.value;
  return made;
}

// Lines by match, key and time.
void bind_lines(nb::module_& core) {
  nb::class_<match_count>(core, "MatchCount", "Lines and bytes of lines in which an expression of `match` matches.")
      .def_ro("name", &match_count::name)
      .def_ro("lines", &match_count::lines)
      .def_ro("bytes", &match_count::bytes);
  nb::class_<value_summary>(core, "ValueSummary",
                            "The values of `distribution_of` in lines of a group. `sum` and `mean` are None if they "
                            "are not known. `quantiles`: values by their percent.")
      .def_ro("units", &value_summary::units)
      .def_ro("without_value", &value_summary::without_value)
      .def_ro("sum", &value_summary::sum)
      .def_ro("mean", &value_summary::mean)
      .def_prop_ro("quantiles", [](const value_summary& of) { return quantiles_by_percent(of.quantiles); });
  nb::class_<line_group>(core, "LineGroup",
                         "Lines with the same `key`, or with times in the same window: `start` is in nanoseconds since "
                         "1970-01-01 UTC. `counts`: for each scheme those of its buckets. `values`: a "
                         "ValueSummary, or None without `distribution_of`.")
      .def_prop_ro("key", [](const line_group& found) { return as_text(found.key); })
      .def_ro("start", &line_group::start)
      .def_ro("lines", &line_group::lines)
      .def_ro("bytes", &line_group::bytes)
      .def_ro("counts", &line_group::counts)
      .def_ro("matches", &line_group::matches)
      .def_ro("lines_by_key", &line_group::lines_by_key)
      .def_ro("values", &line_group::values)
      .def_ro("lines_at_most", &line_group::lines_at_most);
  nb::class_<line_summary>(core, "LineSummary",
                           "What was read of lines: `matches`, `groups` (most lines first; `number_of_groups` is that "
                           "of all keys) and `windows` of event time.")
      .def_ro("matches", &line_summary::matches)
      .def_ro("unmatched", &line_summary::unmatched)
      .def_ro("groups", &line_summary::groups)
      .def_ro("number_of_groups", &line_summary::number_of_groups)
      .def_ro("number_of_groups_error", &line_summary::number_of_groups_error)
      .def_ro("other_groups", &line_summary::other_groups)
      .def_ro("other_group_lines_at_most", &line_summary::other_group_lines_at_most)
      .def_ro("without_key", &line_summary::without_key)
      .def_ro("windows", &line_summary::windows)
      .def_ro("without_time", &line_summary::without_time)
      .def_ro("implausible_time", &line_summary::implausible_time)
      .def_ro("late", &line_summary::late);
}

void bind_changes(nb::module_& core) {
  nb::class_<log_difference>(core, "LogDifference",
                             "What is different in a change: `what` is \"kind\", \"level\", \"match\", \"rate\", "
                             "\"length\" or \"bytes_of_class\", `of` names it. `words` are for people.")
      .def_ro("what", &log_difference::what)
      .def_prop_ro("of", [](const log_difference& found) { return as_text(found.of); })
      .def_ro("before", &log_difference::before)
      .def_ro("inside", &log_difference::inside)
      .def_prop_ro("words", [](const log_difference& found) { return as_text(found.words); })
      .def_ro("evidence", &log_difference::evidence);
  nb::class_<log_change>(core, "LogChange",
                         "What changed in a log, from `start` to `end` (nanoseconds since 1970-01-01 UTC, or lines). "
                         "`input`, `line` and `text`: of the first line concerned.")
      .def_prop_ro("log", [](const log_change& found) { return as_text(found.log); })
      .def_ro("start", &log_change::start)
      .def_ro("end", &log_change::end)
      .def_ro("evidence", &log_change::evidence)
      .def_ro("differences", &log_change::differences)
      .def_prop_ro("input", [](const log_change& found) { return as_text(found.input); })
      .def_ro("line", &log_change::line)
      .def_prop_ro("text", [](const log_change& found) { return nb::bytes(found.text.data(), found.text.size()); });
}

nb::list texts_of(const std::vector<std::string>& texts) {
  nb::list made;
  for (const std::string& each : texts) made.append(as_text(each));
  return made;
}

void bind_units(nb::module_& core) {
  bind_lines(core);
  bind_changes(core);
  nb::class_<unit>(core, "Unit",
                   "A line, record, part, input or window. `number` is from 1, `line` too (0: unknown); `offset` and "
                   "`bytes` are in the text of the input. `values`: of each name in the condition or formula. `rules`: "
                   "names of the conditions that hold, with a filter or several conditions.")
      .def_prop_ro("input", [](const unit& found) { return as_text(found.input); })
      .def_ro("number", &unit::number)
      .def_ro("line", &unit::line)
      .def_ro("offset", &unit::offset)
      .def_ro("bytes", &unit::bytes)
      .def_ro("verified", &unit::verified)
      .def_prop_ro("values", [](const unit& found) { return values_of(found.values); })
      .def_ro("field_bytes", &unit::field_bytes)
      .def_prop_ro("without_field", [](const unit& found) { return as_text(found.without_field); })
      .def_prop_ro("rules", [](const unit& found) { return texts_of(found.rules); })
      .def_prop_ro("text", [](const unit& found) { return nb::bytes(found.text.data(), found.text.size()); });
  nb::class_<ranked_unit>(core, "RankedUnit", "A unit and its value.")
      .def_ro("value", &ranked_unit::value)
      .def_ro("unit", &ranked_unit::found);
  nb::class_<value_range>(core, "ValueRange", "`units` have values from `lower` on, below `upper`.")
      .def_ro("lower", &value_range::from)
      .def_ro("upper", &value_range::to)
      .def_ro("units", &value_range::units);
  nb::class_<rewriting_step>(core, "RewritingStep",
                             "A step of `rewrite`, and what it removed from the texts of all units.")
      .def_prop_ro("name", [](const rewriting_step& found) { return as_text(found.name); })
      .def_prop_ro("step", [](const rewriting_step& found) { return as_text(found.step); })
      .def_ro("lines", &rewriting_step::lines)
      .def_ro("bytes", &rewriting_step::bytes);
  nb::class_<unit_rule>(core, "UnitRule",
                        "A condition, the units for which it holds, and those for which it is the first that holds.")
      .def_prop_ro("name", [](const unit_rule& found) { return as_text(found.name); })
      .def_prop_ro("condition", [](const unit_rule& found) { return as_text(found.condition); })
      .def_ro("units", &unit_rule::units)
      .def_ro("bytes", &unit_rule::bytes)
      .def_ro("first_units", &unit_rule::first_units)
      .def_ro("first_bytes", &unit_rule::first_bytes);
  nb::class_<unit_summary>(
      core, "UnitSummary",
      "The units of all inputs. `selected`: those for which `where` holds; `rules`: with a filter or "
      "several conditions, a UnitRule for each. `top`: the highest "
      "value first. `distribution`: a list of ValueRange. `quantiles`: values by their percent. "
      "`lines`: a LineSummary.")
      .def_ro("seen", &unit_summary::seen)
      .def_ro("bytes", &unit_summary::bytes)
      .def_ro("selected", &unit_summary::selected)
      .def_ro("selected_bytes", &unit_summary::selected_bytes)
      .def_ro("rules", &unit_summary::rules)
      .def_ro("rewriting", &unit_summary::rewriting)
      .def_ro("top", &unit_summary::top)
      .def_ro("distribution", &unit_summary::distribution)
      .def_prop_ro("quantiles", [](const unit_summary& of) { return quantiles_by_percent(of.quantiles); })
      .def_ro("sum", &unit_summary::sum)
      .def_ro("mean", &unit_summary::mean)
      .def_ro("lines", &unit_summary::lines)
      .def_ro("changes", &unit_summary::changes)
      .def_ro("without_value", &unit_summary::without_value)
      .def_ro("without_field", &unit_summary::without_field)
      .def_ro("unverified", &unit_summary::unverified)
      .def_ro("unverified_bytes", &unit_summary::unverified_bytes)
      .def_ro("distinct", &unit_summary::distinct)
      .def_ro("distinct_bytes", &unit_summary::distinct_bytes)
      .def_ro("duplicates", &unit_summary::duplicates)
      .def_ro("duplicate_bytes", &unit_summary::duplicate_bytes);
}

void bind_members(nb::class_<results>& type) {
  using of_input = std::vector<std::uint64_t> (results::*)(std::string_view, std::size_t) const;
  using of_totals = std::vector<std::uint64_t> (results::*)(std::string_view) const;
  type.def("counts", static_cast<of_totals>(&results::counts))
      .def("counts", static_cast<of_input>(&results::counts))
      .def("pairs", static_cast<of_totals>(&results::pairs))
      .def("pairs", static_cast<of_input>(&results::pairs))
      .def("measure", static_cast<measurement (results::*)(std::string_view) const>(&results::measure))
      .def("measure", static_cast<measurement (results::*)(std::string_view, std::size_t) const>(&results::measure))
      .def("buckets", &results::buckets)
      .def("input", &results::input)
      .def("units", &results::units)
      .def("skipped", &results::skipped);
}

}  // namespace

void bind_results(nb::module_& core) {
  bind_input(core);
  bind_values(core);
  bind_units(core);
  nb::class_<results> type(core, "Results");
  type.def_prop_ro("complete", &results::complete)
      .def_prop_ro("is_snapshot", [](const results& counted) { return counted.type() == results::kind::snapshot; })
      .def_prop_ro("bytes", &results::bytes)
      .def_prop_ro("lines", &results::lines)
      .def_prop_ro("unverified_bytes", &results::unverified_bytes)
      .def_prop_ro("error", [](const results& counted) { return as_text(counted.error()); })
      .def_prop_ro("error_kind", error_kind_of)
      .def_prop_ro("elapsed", [](const results& counted) { return counted.elapsed().count(); })
      .def_prop_ro("schemes", &results::schemes)
      .def_prop_ro("inputs", &results::inputs)
      .def_prop_ro("has_pairs", &results::has_pairs)
      .def_prop_ro("has_byte_counts", &results::has_byte_counts);
  bind_members(type);
  core.def("json_of", json_of);  // not a member: the type of its result is hidden by the member `bytes`
  core.def("read_results", read);
  core.def("merge_results", merge);
}

}  // namespace gpuhist::python
