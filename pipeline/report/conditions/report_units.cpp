#include "pipeline/report/conditions/report_units.hpp"

namespace gpuhist::pipeline::gates {

unit unit_of(const input_report& input) {
  return {.what = unit::kind::input, .source = input.name, .end = input.verified.bytes(), .counts = input.verified};
}

bool watch_totals(const run_counts& result, const watch_list& what, watcher& by) {
  if (result.inputs.size() == 1 && what.covers(unit::kind::input)) return false;
  return by.watch({.what = unit::kind::total, .source = {}, .end = result.verified.bytes(), .counts = result.verified});
}

bool watch_so_far(const run_counts& snapshot, const watch_list& what, watcher& by) {
  bool ends = false;
  for (const input_report& each : snapshot.inputs) ends = by.watch(unit_of(each)) || ends;
  return watch_totals(snapshot, what, by) || ends;
}

}  // namespace gpuhist::pipeline::gates
