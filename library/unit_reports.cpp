#include "library/unit_reports.hpp"

#include "gpuhist/errors.hpp"
#include "report/formats/report_changes.hpp"

#include <string>
#include <utility>

namespace gpuhist::library {

unit_reports::unit_reports(const counting_plan& planned, const report::units::unit_run::report_units& on_selected,
                           const report::units::unit_run::report_faults& on_faults,
                           report::units::kept_outlets* outlets, report::units::unit_line_output output,
                           std::optional<report::units::units_by_input> by_input,
                           report::units::closed_window_output closed)
    : meter_(*planned.units, planned.partition, planned.measuring.baseline.get()),
      run_(meter_, planned.units->lists_selected() ? on_selected : nullptr, on_faults, outlets,
           planned.units->lists_selected() ? std::move(output) : report::units::unit_line_output(), std::move(by_input),
           std::move(closed)),
      baselines_(planned.measuring.previous_windows, planned.windows && planned.windows->per_input) {}

void unit_reports::connect(pipeline::run_hooks& to) {
  using form = report::units::unit_shape::form;
  switch (meter_.plan().shape.divides) {
    case form::text:
    case form::values:
      to.observer = &run_;
      return;
    case form::inputs:
      to.input_finished = [this, next = std::move(to.input_finished)](const pipeline::input_report& input) {
        judge(input);
        return next && next(input);
      };
      return;
    case form::windows:
      to.window = [this, next = std::move(to.window)](const pipeline::closed_window& closed) {
        judge(closed);
        return next && next(closed);
      };
      return;
  }
}

void unit_reports::judge(const pipeline::input_report& input) {
  run_.judge_whole({.name = input.name,
                    .place = {.number = ++inputs_, .line = 1, .offset = 0, .bytes = input.verified.bytes()},
                    .verified = input.complete,
                    .counts = input.verified,
                    .malformed = pipeline::malformed_in(input.utf8)});
  run_.publish();
}

void unit_reports::judge(const pipeline::closed_window& window) {
  const pipeline::window_head& head = window.head;
  run_.judge_whole({.name = head.source ? *head.source : std::string(),
                    .place = {.number = head.index,
                              .line = window.lines ? window.lines->first : 0,
                              .offset = head.first_offset,
                              .bytes = window.counts.bytes()},
                    .verified = head.verified,
                    .counts = window.counts,
                    .baseline = baselines_.before(window),
                    .input = window.stream});
  baselines_.close(window);
  run_.publish();
}

gpuhist::unit unit_of(const report::units::unit_record& found, std::shared_ptr<const report::run_report> frame) {
  gpuhist::unit made{.input = *found.input,
                     .number = found.place.number,
                     .line = found.place.line,
                     .offset = found.place.offset,
                     .bytes = found.place.bytes,
                     .verified = found.verified};
  made.rules = found.rules.value_or(std::vector<std::string>());
  made.text = found.text.value_or("");
  if (found.field) {
    made.field_bytes = found.field->bytes;
    made.without_field = found.field->cause;
  }
  for (const report::gates::named_value& each : found.values)
    made.values.push_back({.name = each.name, .value = each.value});
  made.shared =
      std::make_shared<const gpuhist::unit::state>(gpuhist::unit::state{.frame = std::move(frame), .found = found});
  return made;
}

std::vector<gpuhist::match_count> matches_of(const report::units::group_counts& from) {
  std::vector<gpuhist::match_count> made;
  for (const report::units::match_count& each : from.matches)
    made.push_back({.name = each.name, .lines = each.lines, .bytes = each.bytes});
  return made;
}

namespace {

std::vector<gpuhist::quantile> quantiles_of(const std::vector<report::units::distribution_quantile>& from) {
  std::vector<gpuhist::quantile> made;
  for (const report::units::distribution_quantile& each : from) {
    made.push_back({.percent = each.percent, .value = each.value});
  }
  return made;
}

log_change change_of(const report::run_report& frame, const report::units::change_result& found, std::size_t index) {
  const report::units::found_change& from = found.found[index];
  log_change made{.log = from.stream, .start = from.start, .end = from.end, .evidence = from.evidence};
  for (std::size_t i = 0; i < from.differences.size(); ++i) {
    const report::changes::difference& of = from.differences[i].of;
    made.differences.push_back({.what = std::string(report::series_name(of.of)),
                                .of = report::subject_of(frame, from.differences[i]),
                                .before = of.before,
                                .inside = of.inside,
                                .words = report::words_of(frame, found, index, i, report::any_width),
                                .evidence = of.evidence});
  }
  if (!from.line) return made;
  made.input = from.line->input;
  made.line = from.line->place.line;
  made.text = from.line->text;
  return made;
}

line_group group_of(const report::units::group_counts& from, const report::units::group_result& within,
                    const report::run_report& frame) {
  line_group made{.lines = from.lines, .bytes = from.bytes, .matches = matches_of(from)};
  for (const pipeline::scheme_view& each : frame.schemes) made.counts.push_back(each.fold(from.counts));
  if (const report::units::value_summary* const values = within.distribution_in(from)) {
    made.values = {.units = values->units,
                   .without_value = values->without_value,
                   .sum = values->total(),
                   .mean = values->mean(),
                   .quantiles = quantiles_of(values->quantiles)};
  }
  return made;
}

}  // namespace

line_summary lines_of(const report::units::group_result& found, const report::run_report& frame) {
  const auto group_if = [&](const std::optional<report::units::group_counts>& from) {
    return from ? group_of(*from, found, frame) : line_group();
  };
  line_summary made{.matches = matches_of(found.all),
                    .unmatched = {.name = "", .lines = found.all.unmatched, .bytes = found.all.unmatched_bytes},
                    .number_of_groups = found.number_of_groups,
                    .number_of_groups_error = found.number_error,
                    .other_groups = group_if(found.other_groups),
                    .other_group_lines_at_most = found.other_group_at_most,
                    .without_key = group_if(found.without_key),
                    .without_time = group_if(found.without_time),
                    .implausible_time = group_if(found.implausible_time),
                    .late = group_if(found.late)};
  for (const report::units::keyed_group& each : found.groups) {
    made.groups.push_back(group_of(each.of, found, frame));
    made.groups.back().key = each.key;
    made.groups.back().lines_at_most = each.lines_at_most;
  }
  for (const report::units::event_window& each : found.windows) {
    made.windows.push_back(group_of(each.of, found, frame));
    made.windows.back().start = each.start;
    made.windows.back().lines_by_key = each.lines_by_key;
  }
  return made;
}

unit_summary summary_of(const report::units::unit_result& found,
                        const std::shared_ptr<const report::run_report>& frame) {
  unit_summary made{.seen = found.totals.seen,
                    .bytes = found.totals.bytes,
                    .selected = found.totals.selected,
                    .selected_bytes = found.totals.selected_bytes,
                    .without_value = found.values.unknown(),
                    .without_field = found.totals.without_field,
                    .unverified = found.totals.unverified,
                    .unverified_bytes = found.totals.unverified_bytes,
                    .distinct = found.totals.distinct,
                    .distinct_bytes = found.totals.distinct_bytes,
                    .duplicates = found.totals.duplicates,
                    .duplicate_bytes = found.totals.duplicate_bytes};
  for (const report::units::rule_result& each : found.rules) {
    made.rules.push_back({.name = each.name,
                          .condition = each.condition,
                          .units = each.found.units,
                          .bytes = each.found.bytes,
                          .first_units = each.found.first_units,
                          .first_bytes = each.found.first_bytes});
  }
  for (const report::units::rule_result& each : found.steps) {
    made.rewriting.push_back(
        {.name = each.name, .step = each.condition, .lines = each.found.units, .bytes = each.found.bytes});
  }
  for (const report::units::ranked_unit& each : found.top)
    made.top.push_back({.value = each.value, .found = unit_of(each.unit, frame)});
  for (const report::units::distribution_bin& each : found.values.bins()) {
    made.distribution.push_back({.from = each.from, .to = each.to, .units = each.units});
  }
  made.quantiles = quantiles_of(found.quantiles);
  const report::units::value_summary values = found.values.summary({});
  made.sum = values.total();
  made.mean = values.mean();
  if (found.groups) made.lines = lines_of(*found.groups, *frame);
  for (std::size_t i = 0; found.changes && i < found.changes->found.size(); ++i) {
    made.changes.push_back(change_of(*frame, *found.changes, i));
  }
  return made;
}

}  // namespace gpuhist::library

namespace gpuhist {

std::string unit::to_json() const {
  if (!shared) throw error(errc::invalid_argument, "unit::to_json: the unit was not made by the library");
  const auto lines = report::unit_json_lines(*shared->frame, {});
  std::string text = lines->beginning_of(input);
  lines->add_place(shared->found.place, text);
  lines->add_end(shared->found, text);
  return text;
}

}  // namespace gpuhist
