#include "pipeline/report/formats/unit_json.hpp"

#include "pipeline/report/formats/report_json_parts.hpp"
#include "pipeline/report/formats/text.hpp"

#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

void add_unit(json& to, const report& frame, const units::unit_record& found) {
  to["name"] = *found.input;
  if (!is_utf8(*found.input)) to["name_base64"] = base64(*found.input);
  to["unit"] = found.place.number;
  if (found.place.line > 0) to["line"] = found.place.line;
  to["offset"] = found.place.offset;
  to["verified"] = found.verified;
  json values = json::object();
  for (const gates::named_value& each : found.values) {
    values[each.name] = each.value ? json_number(*each.value) : json(nullptr);
  }
  to["values"] = std::move(values);
  if (frame.ignore_case) to["ignore_case"] = true;
  to["bytes"] = found.place.bytes;
  if (found.field && !found.field->bytes) {
    if (!found.field->cause.empty()) to["without_field"] = found.field->cause;
    return;
  }
  if (found.field) to["field_bytes"] = *found.field->bytes;
  add_counts(to, frame, found.counts);
  if (frame.measuring.asked.empty()) return;
  to["measures"] = measures_as_json(measures::take_measures(frame.measuring, measures::counts_of(found.counts)));
}

json top_as_json(const report& content, const units::unit_result& found) {
  json all = json::array();
  for (const units::ranked_unit& each : found.top) {
    json one = {{"value", json_number(each.value)}};
    add_unit(one, content, each.unit);
    all.push_back(std::move(one));
  }
  return all;
}

json distribution_as_json(const units::distribution& values) {
  json bins = json::array();
  for (const units::distribution_bin& each : values.bins()) {
    bins.push_back({{"from", json_number(each.from)}, {"to", json_number(each.to)}, {"units", each.units}});
  }
  json out = {{"units", values.known()}, {"without_value", values.unknown()}};
  if (values.known() > 0) {
    out["lowest"] = json_number(values.lowest());
    out["highest"] = json_number(values.highest());
  }
  out["bins"] = std::move(bins);
  return out;
}

}  // namespace

json units_as_json(const report& content, const units::unit_result& found) {
  json out = {{"each", found.each}, {"seen", found.totals.seen}, {"bytes", found.totals.bytes}};
  if (found.field) {
    out["jsonl_field"] = *found.field;
    out["without_field"] = found.totals.without_field;
  }
  if (found.where) {
    out["where"] = *found.where;
    out["selected"] = found.totals.selected;
    out["selected_bytes"] = found.totals.selected_bytes;
  }
  if (found.drops_unverified) {
    out["unverified"] = found.totals.unverified;
    out["unverified_bytes"] = found.totals.unverified_bytes;
  }
  if (found.ranked_by) {
    out["top_by"] = *found.ranked_by;
    out["top"] = top_as_json(content, found);
  }
  if (found.distribution_of) {
    out["distribution_of"] = *found.distribution_of;
    out["distribution"] = distribution_as_json(found.values);
  }
  return out;
}

std::string unit_json_line(const report& frame, std::string_view run, const units::unit_record& found) {
  json out = beginning_of("unit", run);
  add_unit(out, frame, found);
  return as_line(out);
}

}  // namespace gpuhist::pipeline
