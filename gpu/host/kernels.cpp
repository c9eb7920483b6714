// The table of host kernels, and what they need to know of a partition.
#include "gpu/host/kernel.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::gpu::host {
namespace {

bool always(const prepared_partition&) { return true; }
std::string_view no_instruction_set() { return {}; }

constexpr std::array<kernel, 3> table{{
    {.name = "ranges",
     .description = "SIMD comparisons with the boundaries between classes, up to 24 of them",
     .applies = ranges_applies,
     .count = count_ranges,
     .instruction_set = ranges_instruction_set},
    {.name = "tables",
     .description = "four independent tables of 256 counters, folded to classes at the end",
     .applies = always,
     .count = count_tables,
     .instruction_set = no_instruction_set},
    {.name = "scalar",
     .description = "the obvious loop: the reference",
     .applies = always,
     .count = count_scalar,
     .instruction_set = no_instruction_set},
}};

}  // namespace

prepared_partition prepare(const partition& counted) {
  prepared_partition result{.counted = counted, .lowest_class = counted.class_of[0], .at_least = {}, .equal = {}};
  // `outline` is the class map with the single values inside another class painted over: an equality finds those with
  // one comparison where boundaries would need two.
  auto outline = counted.class_of;
  for (std::size_t value = 1; value < 255; ++value) {
    const std::uint8_t around = outline[value - 1];
    if (outline[value] == around || counted.class_of[value + 1] != around) continue;
    result.equal.push_back({.value = static_cast<std::uint8_t>(value), .from = around, .to = outline[value]});
    outline[value] = around;
  }
  for (std::size_t value = 1; value < 256; ++value) {
    if (outline[value] == outline[value - 1]) continue;
    result.at_least.push_back(
        {.value = static_cast<std::uint8_t>(value), .from = outline[value - 1], .to = outline[value]});
  }
  return result;
}

std::string kernel::full_name() const {
  std::string result(name);
  if (const auto set = instruction_set(); !set.empty()) result.append("/").append(set);
  return result;
}

std::span<const kernel> kernels() { return table; }

const kernel& best_kernel(const prepared_partition& what) {
  return *std::find_if(table.begin(), table.end(), [&](const kernel& row) { return row.applies(what); });
}

}  // namespace gpuhist::gpu::host
