// Measurements as rows for programs: JSON lines and CSV with the same columns.
#include "bench/flat_rows.hpp"
#include "bench/table.hpp"

namespace gpuhist::bench {
namespace {

using row = flat_row;

row value_of(const std::optional<double>& value) { return value ? row(*value) : row(nullptr); }

row time_of(const measurement& measured, double seconds) { return measured.has_rate() ? row(seconds) : row(nullptr); }

row row_of(const measured_group& group, const measurement& measured, const machine& on) {
  const figures derived = figures_of(group, measured);
  return {{"device", on.device},
          {"data", group.data},
          {"bytes", group.bytes},
          {"bins", name_of(group.counted)},
          {"kernel", measured.kernel},
          {"role", name_of(measured.kind)},
          {"runs", measured.runs},
          {"median_seconds", time_of(measured, measured.median)},
          {"least_seconds", time_of(measured, measured.least)},
          {"most_seconds", time_of(measured, measured.most)},
          {"bytes_per_second", value_of(derived.bytes_per_second)},
          {"of_ceiling", value_of(derived.of_ceiling)},
          {"over_sequential_loop", value_of(derived.over_loop)},
          {"over_global_atomic", value_of(derived.over_global_atomic)},
          {"counts", measured.counts == verdict::uncounted ? row(nullptr) : row(name_of(measured.counts))}};
}

}  // namespace

std::string json_rows(const measured_group& group, const machine& on) {
  std::string text;
  for (const measurement& each : group.rows) text += json_line(row_of(group, each, on));
  return text;
}

std::string csv_heading() { return csv_names(row_of({}, {}, {})); }

std::string csv_rows(const measured_group& group, const machine& on) {
  std::string text;
  for (const measurement& each : group.rows) text += csv_values(row_of(group, each, on));
  return text;
}

}  // namespace gpuhist::bench
