#include "pipeline/reports/report_alert.hpp"

#include "pipeline/reports/report_json_parts.hpp"
#include "pipeline/reports/text.hpp"

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
  json values = json::object();
  for (const gates::named_value& each : what.values) {
    values[each.name] = each.value ? json_number(*each.value) : json(nullptr);
  }
  out["values"] = std::move(values);
  return as_line(out);
}

}  // namespace gpuhist::pipeline
