// The table of host kernels, and the preparation of a partition for them.
#include "gpu/host/kernel.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace gpuhist::gpu::host {
namespace {

bool always(const prepared_partition&) { return true; }
std::string_view no_instruction_set() { return {}; }

constexpr std::array<kernel, 5> table{{
    {.name = "lookup",
     .description = "AVX-512: one table look-up for each eight classes, bits summed by full adders",
     .applies = lookup_applies,
     .cost = lookup_cost,
     .count = count_lookup,
     .instruction_set = lookup_instruction_set},
    {.name = "ranges",
     .description = "SIMD comparisons with the boundaries between classes, up to 64 of them",
     .applies = ranges_applies,
     .cost = ranges_cost,
     .count = count_ranges,
     .instruction_set = ranges_instruction_set},
    {.name = "planes",
     .description = "planes of bits for all 256 values, interleaved with tables of counters",
     .applies = always,
     .cost = planes_cost,
     .count = count_planes,
     .instruction_set = planes_instruction_set},
    {.name = "tables",
     .description = "four independent tables of 256 counters, folded to classes at the end",
     .applies = always,
     .cost = tables_cost,
     .count = count_tables,
     .instruction_set = no_instruction_set},
    {.name = "scalar",
     .description = "the obvious loop: the reference",
     .applies = always,
     .cost = scalar_cost,
     .count = count_scalar,
     .instruction_set = no_instruction_set},
}};

std::vector<one_hot_table> one_hot_tables(const partition& counted) {
  std::vector<one_hot_table> tables((counted.classes + std::size_t{6}) / 8);
  for (std::size_t value = 0; value < 256; ++value) {
    const std::size_t class_number = counted.class_of[value];
    if (class_number + 1U < counted.classes)
      tables[class_number / 8][value] = static_cast<std::uint8_t>(1U << class_number % 8);
  }
  return tables;
}

}  // namespace

prepared_partition prepare(const partition& counted) {
  prepared_partition result{.counted = counted,
                            .lowest_class = counted.class_of[0],
                            .at_least = {},
                            .equal = {},
                            .one_hot = one_hot_tables(counted)};
  // `outline` is the class map without the single values inside another class. An equality finds such a value with one
  // comparison; boundaries would need two.
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

const kernel& best_kernel(const prepared_partition& prepared) {
  const auto cost = [&](const kernel& row) {
    return row.applies(prepared) ? row.cost(prepared) : std::numeric_limits<double>::infinity();
  };
  return *std::ranges::min_element(table, {}, cost);
}

}  // namespace gpuhist::gpu::host
