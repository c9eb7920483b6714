// Measurements as rows for programs: JSON lines and CSV with the same columns.
#include "bench/table.hpp"

#include <nlohmann/json.hpp>

namespace gpuhist::bench {
namespace {

using row = nlohmann::ordered_json;

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

std::string csv_cell(const row& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char each : text) quoted.append(each == '"' ? 2 : 1, each);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& each : cells) line += each + ",";
  line.back() = '\n';
  return line;
}

}  // namespace

std::string json_rows(const measured_group& group, const machine& on) {
  std::string text;
  for (const measurement& each : group.rows) {
    text += row_of(group, each, on).dump(-1, ' ', false, row::error_handler_t::replace) + "\n";
  }
  return text;
}

std::string csv_heading() {
  std::vector<std::string> names;
  const row any = row_of({}, {}, {});
  for (const auto& [name, value] : any.items()) names.push_back(name);
  return csv_line(names);
}

std::string csv_rows(const measured_group& group, const machine& on) {
  std::string text;
  for (const measurement& each : group.rows) {
    std::vector<std::string> cells;
    for (const row& value : row_of(group, each, on)) cells.push_back(csv_cell(value));
    text += csv_line(cells);
  }
  return text;
}

}  // namespace gpuhist::bench
