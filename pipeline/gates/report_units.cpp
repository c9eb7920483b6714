#include "pipeline/gates/report_units.hpp"

namespace gpuhist::pipeline::gates {

unit unit_of(const input_report& input) {
  return {.what = unit::kind::input, .source = input.name, .end = input.verified.bytes(), .counts = input.verified};
}

void watch_totals(const report& result, const watch_list& what, watcher& by) {
  if (result.inputs.size() == 1 && what.covers(unit::kind::input)) return;
  by.watch({.what = unit::kind::total, .source = {}, .end = result.verified.bytes(), .counts = result.verified});
}

}  // namespace gpuhist::pipeline::gates
