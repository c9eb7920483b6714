#include "report/formats/unit_json.hpp"

#include "report/formats/report_json_parts.hpp"
#include "report/formats/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

// Follows other members.
void append_place(std::string& to, const units::unit_place& place) {
  to += R"(,"unit":)";
  append_number(to, place.number);
  if (place.line > 0) {
    to += R"(,"line":)";
    append_number(to, place.line);
  }
  to += R"(,"offset":)";
  append_number(to, place.offset);
}

// What follows the place.
void add_measured(member_writer& to, const report& frame, const units::unit_record& found) {
  to.add_flag("verified", found.verified);
  to.open("values");
  for (const gates::named_value& each : found.values) {
    each.value ? to.add_number(each.name, *each.value) : to.add_json(each.name, nullptr);
  }
  to.close();
  if (frame.ignore_case) to.add_flag("ignore_case", true);
  to.add_number("bytes", found.place.bytes);
  if (found.field && !found.field->bytes) {
    if (!found.field->cause.empty()) to.add_text("without_field", found.field->cause);
    return;
  }
  if (found.field) to.add_number("field_bytes", *found.field->bytes);
  add_counts(to, frame, found.counts);
  if (frame.measuring.asked.empty()) return;
  to.add_json("measures",
              measures_as_json(measures::take_measures(frame.measuring, measures::counts_of(found.counts))));
}

class unit_json_form final : public units::unit_renderer {
 public:
  unit_json_form(const report& frame, std::string_view run) : frame_(frame) {
    member_writer first(beginning_, member_writer::position::first);
    first.add_text("kind", "unit");
    first.add_text("schema", result_schema);
    if (!run.empty()) first.add_text("run", run);
  }

  [[nodiscard]] std::string beginning_of(const std::string& input) const override {
    std::string made = beginning_;
    member_writer to(made, member_writer::position::later);
    add_name(to, input);
    return made;
  }

  void add_place(const units::unit_place& place, std::string& to) const override { append_place(to, place); }

  void add_end(const units::unit_record& found, std::string& to) const override {
    member_writer members(to, member_writer::position::later);
    add_measured(members, frame_, found);
    to += "}\n";
  }

 private:
  const report& frame_;
  std::string beginning_{"{"};
};

json top_as_json(const report& content, const units::unit_result& found) {
  json all = json::array();
  for (const units::ranked_unit& each : found.top) {
    std::string text = "{";
    member_writer one(text, member_writer::position::first);
    one.add_number("value", each.value);
    add_name(one, *each.unit.input);
    append_place(text, each.unit.place);
    add_measured(one, content, each.unit);
    all.push_back(json::parse(text + "}"));
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

std::unique_ptr<const units::unit_renderer> unit_json_lines(const report& frame, std::string_view run) {
  return std::make_unique<const unit_json_form>(frame, run);
}

}  // namespace gpuhist::pipeline
