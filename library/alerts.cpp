#include "library/alerts.hpp"

#include <array>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using gates::firing;
using gates::gate;
using gates::unit;

constexpr std::array<std::pair<unit::kind, alert::unit>, 3> units = {{{unit::kind::total, alert::unit::totals},
                                                                      {unit::kind::input, alert::unit::input},
                                                                      {unit::kind::window, alert::unit::window}}};

}  // namespace

alert alert_of(const firing& fired) {
  alert made{.fails = fired.effect == gate::kind::fail,
             .condition = fired.condition,
             .of = {},
             .input = fired.source,
             .window = fired.window,
             .first_offset = fired.begin,
             .end_offset = fired.end};
  for (const auto& [kind, named] : units) {
    if (kind == fired.type) made.of = named;
  }
  if (fired.lines) made.lines = {.first = fired.lines->first, .last = fired.lines->last};
  for (const gates::named_value& each : fired.values) made.values.push_back({.name = each.name, .value = each.value});
  return made;
}

firing firing_of(const alert& reported) {
  firing made{.effect = reported.fails ? gate::kind::fail : gate::kind::alert,
              .condition = reported.condition,
              .type = {},
              .source = reported.input,
              .window = reported.window,
              .begin = reported.first_offset,
              .end = reported.end_offset,
              .values = {}};
  for (const auto& [kind, named] : units) {
    if (named == reported.of) made.type = kind;
  }
  if (reported.lines) made.lines = {.first = reported.lines->first, .last = reported.lines->last};
  for (const alert::named_value& each : reported.values)
    made.values.push_back({.name = each.name, .value = each.value});
  return made;
}

}  // namespace gpuhist::pipeline
