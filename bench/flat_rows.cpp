#include "bench/flat_rows.hpp"

#include <vector>

namespace gpuhist::bench {
namespace {

std::string csv_cell(const flat_row& value) {
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

std::string json_line(const flat_row& row) {
  return row.dump(-1, ' ', false, flat_row::error_handler_t::replace) + "\n";
}

std::string csv_names(const flat_row& row) {
  std::vector<std::string> names;
  for (const auto& [name, value] : row.items()) names.push_back(name);
  return csv_line(names);
}

std::string csv_values(const flat_row& row) {
  std::vector<std::string> cells;
  for (const flat_row& value : row) cells.push_back(csv_cell(value));
  return csv_line(cells);
}

}  // namespace gpuhist::bench
