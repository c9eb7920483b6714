#include "report/formats/report_alert.hpp"

#include "report/formats/report_groups.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace gpuhist::report {
namespace {

using json = nlohmann::ordered_json;
using gates::subject;

std::string_view name_of(subject::kind type) {
  switch (type) {
    case subject::kind::total:
      return "total";
    case subject::kind::input:
      return "input";
    case subject::kind::window:
      return "window";
    case subject::kind::event_window:
      return "event_window";
  }
  return "";
}

/// ", line 12" or ", lines 12 to 40", or nothing.
std::string lines_text(const std::optional<pipeline::line_range>& lines) {
  if (!lines) return "";
  const std::string first = std::to_string(lines->first);
  return lines->first == lines->last ? ", line " + first : ", lines " + first + " to " + std::to_string(lines->last);
}

void add_raw(member_writer& to, const std::string& name, const std::string& raw) {
  to.add_text(name, raw);
  if (!is_utf8(raw)) to.add_text(name + "_base64", base64(raw));
}

void add_line(member_writer& to, const pipeline::observed_line& shown) {
  to.open("line");
  add_raw(to, "input", *shown.input);
  to.add_number("line", shown.line);
  to.add_number("offset", shown.offset);
  add_raw(to, "text", shown.text);
  to.close();
}

}  // namespace

std::string alert_line(const gates::firing& fired, std::string_view run) {
  object_text line;
  member_writer& out = line.members;
  add_beginning(out, "alert", run);
  out.add_text("option", fired.effect == gates::gate::kind::fail ? "--fail-if" : "--alert-if");
  out.add_text("condition", fired.condition);
  out.add_text("of", name_of(fired.type));
  if (fired.type == subject::kind::input || fired.type == subject::kind::window) add_name(out, fired.source);
  if (fired.type == subject::kind::event_window) out.add_text("event_start", utc_text(fired.event_start));
  if (fired.type == subject::kind::window) out.add_number("window", fired.window);
  out.add_number("begin", fired.begin);
  out.add_number("end", fired.end);
  if (fired.lines) {
    out.add_number("first_line", fired.lines->first);
    out.add_number("end_line", fired.lines->last);
  }
  json values = json::object();
  for (const gates::named_value& each : fired.values) {
    values[each.name] = each.value ? json_number(*each.value) : json(nullptr);
  }
  out.add_json("values", values);
  if (fired.line) add_line(out, *fired.line);
  return line.take() + "\n";
}

std::string place_of(const gates::firing& fired) {
  if (fired.type == subject::kind::event_window) {
    return "the event window " + utc_text(fired.event_start) + ", " + number_of(fired.end, "byte");
  }
  std::string text = fired.type == subject::kind::total ? "the totals" : printable(fired.source);
  if (fired.type == subject::kind::window) text += ", window " + std::to_string(fired.window);
  if (fired.type == subject::kind::total) return text + ", " + number_of(fired.end, "byte");
  return text + ", bytes " + std::to_string(fired.begin) + " to " + std::to_string(fired.end) + lines_text(fired.lines);
}

std::string firing_for_people(const gates::firing& fired, std::size_t width) {
  std::string text = std::string(fired.effect == gates::gate::kind::fail ? "--fail-if" : "--alert-if") + " '" +
                     printable(fired.condition) + "' holds for " + place_of(fired);
  std::string_view before = ": ";
  for (const gates::named_value& each : fired.values) {
    text += std::string(before) + printable(each.name) + " = " + (each.value ? measure_text(*each.value) : "unknown");
    before = ", ";
  }
  if (!fired.line) return text;
  const std::string place = "    " + printable(*fired.line->input) + ", line " + std::to_string(fired.line->line);
  return text + "\n" + cut_end(place + ": " + printable(fired.line->text), width);
}

}  // namespace gpuhist::report
