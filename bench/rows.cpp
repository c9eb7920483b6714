// Measurements as rows for programs: JSON lines and CSV have the same columns.
#include "bench/table.hpp"

#include <nlohmann/json.hpp>

namespace gpuhist::bench {
namespace {

using row = nlohmann::ordered_json;

row value_of(const std::optional<double>& value) { return value ? row(*value) : row(nullptr); }

row time_of(const measurement& one, double seconds) { return one.has_rate() ? row(seconds) : row(nullptr); }

row row_of(const measured_group& group, const measurement& one, const machine& on) {
  const figures of = figures_of(group, one);
  return {{"device", on.device},
          {"data", group.data},
          {"bytes", group.bytes},
          {"bins", name_of(group.what)},
          {"kernel", one.kernel},
          {"role", name_of(one.kind)},
          {"runs", one.runs},
          {"median_seconds", time_of(one, one.median)},
          {"least_seconds", time_of(one, one.least)},
          {"most_seconds", time_of(one, one.most)},
          {"bytes_per_second", value_of(of.bytes_per_second)},
          {"of_ceiling", value_of(of.of_ceiling)},
          {"over_sequential_loop", value_of(of.over_loop)},
          {"over_global_atomic", value_of(of.over_global_atomic)},
          {"counts", one.counts == verdict::uncounted ? row(nullptr) : row(name_of(one.counts))}};
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
