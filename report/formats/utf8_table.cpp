#include "report/formats/utf8_table.hpp"

#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint64_t shown_from = 1000;  // one of so many code points

std::vector<std::pair<std::uint64_t, std::string_view>> frequent_scripts(const gpu::host::utf8_counts& counts) {
  std::vector<std::pair<std::uint64_t, std::string_view>> found;
  for (std::size_t i = 0; i < counts.scripts.size(); ++i) {
    const std::uint64_t number = counts.scripts[i];
    if (number > 0 && number >= (counts.code_points + shown_from - 1) / shown_from)
      found.emplace_back(number, gpu::host::script_names()[i]);
  }
  std::ranges::sort(
      found, [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  return found;
}

// "first malformed: a.log, line 3, offset 17"
std::string place_of_first(const report& content) {
  for (const input_report& each : content.inputs) {
    if (!each.utf8 || !each.utf8->first_malformed) continue;
    return "first malformed: " + printable(each.name) + ", line " +
           grouped(each.utf8->first_malformed_line.value_or(1)) + ", offset " + grouped(*each.utf8->first_malformed) +
           "\n";
  }
  return "";
}

}  // namespace

std::string utf8_lines(const report& content, const render_target& target) {
  if (!content.utf8) return "";
  const gpu::host::utf8_counts& counts = content.utf8->counts;
  std::vector<table_row> rows = {{"malformed sequences", grouped(counts.malformed), ""},
                                 {"code points", grouped(counts.code_points), ""}};
  for (const auto& [number, name] : frequent_scripts(counts)) {
    rows.push_back({std::string(name), grouped(number), share_of(number, counts.code_points)});
  }
  const text_table table({{"utf-8", false}, {"count"}, {"share", true, 1}}, rows, target.width);
  std::string text = painted(table.heading(), ink::heading, target.color) + "\n";
  for (const table_row& each : rows) text += table.line(each) + "\n";
  if (counts.malformed > 0) text += place_of_first(content);
  return text + "\n";
}

}  // namespace gpuhist::pipeline
