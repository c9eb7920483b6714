#include "pipeline/report/formats/report_alert.hpp"

#include "pipeline/report/formats/report_json_parts.hpp"
#include "pipeline/report/formats/report_measures.hpp"
#include "pipeline/report/formats/text.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;
using gates::unit;

std::string_view name_of(unit::kind what) {
  switch (what) {
    case unit::kind::total:
      return "total";
    case unit::kind::input:
      return "input";
    case unit::kind::window:
      return "window";
  }
  return "";
}

/// ", line 12" or ", lines 12 to 40", or nothing.
std::string lines_text(const std::optional<line_range>& lines) {
  if (!lines) return "";
  const std::string first = std::to_string(lines->first);
  return lines->first == lines->last ? ", line " + first : ", lines " + first + " to " + std::to_string(lines->last);
}

}  // namespace

std::string alert_line(const gates::firing& what, std::string_view run) {
  json out = beginning_of("alert", run);
  out["option"] = what.by == gates::gate::kind::fail ? "--fail-if" : "--alert-if";
  out["condition"] = what.condition;
  out["of"] = name_of(what.what);
  if (what.what != unit::kind::total) {
    out["name"] = what.source;
    if (!is_utf8(what.source)) out["name_base64"] = base64(what.source);
  }
  if (what.what == unit::kind::window) out["window"] = what.window;
  out["begin"] = what.begin;
  out["end"] = what.end;
  if (what.lines) {
    out["first_line"] = what.lines->first;
    out["end_line"] = what.lines->last;
  }
  json values = json::object();
  for (const gates::named_value& each : what.values) {
    values[each.name] = each.value ? json_number(*each.value) : json(nullptr);
  }
  out["values"] = std::move(values);
  return as_line(out);
}

std::string place_of(const gates::firing& what) {
  std::string text = what.what == unit::kind::total ? "the totals" : printable(what.source);
  if (what.what == unit::kind::window) text += ", window " + std::to_string(what.window);
  if (what.what == unit::kind::total) return text + ", " + std::to_string(what.end) + " bytes";
  return text + ", bytes " + std::to_string(what.begin) + " to " + std::to_string(what.end) + lines_text(what.lines);
}

std::string firing_for_people(const gates::firing& what) {
  std::string text = std::string(what.by == gates::gate::kind::fail ? "--fail-if" : "--alert-if") + " '" +
                     printable(what.condition) + "' holds for " + place_of(what);
  std::string_view before = ": ";
  for (const gates::named_value& each : what.values) {
    text += std::string(before) + printable(each.name) + " = " + (each.value ? measure_text(*each.value) : "unknown");
    before = ", ";
  }
  return text;
}

}  // namespace gpuhist::pipeline
