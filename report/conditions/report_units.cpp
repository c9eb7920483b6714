#include "report/conditions/report_units.hpp"

namespace gpuhist::pipeline::gates {

unit unit_of(const input_report& input) {
  return {.type = unit::kind::input,
          .source = input.name,
          .end = input.verified.bytes(),
          .counts = input.verified,
          .malformed = malformed_in(input.utf8)};
}

bool watch_totals(const run_counts& result, const watch_list& list, watcher& checker) {
  if (result.inputs.size() == 1 && list.covers(unit::kind::input)) return false;
  return checker.watch({.type = unit::kind::total,
                        .source = {},
                        .end = result.verified.bytes(),
                        .counts = result.verified,
                        .malformed = malformed_in(result.utf8)});
}

bool watch_so_far(const run_counts& snapshot, const watch_list& list, watcher& checker) {
  bool ends = false;
  for (const input_report& each : snapshot.inputs) ends = checker.watch(unit_of(each)) || ends;
  return watch_totals(snapshot, list, checker) || ends;
}

}  // namespace gpuhist::pipeline::gates
