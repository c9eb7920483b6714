#include "samples/cuda/tuning.hpp"

#include <algorithm>

namespace gpuhist::gpu::cuda::samples {
namespace {

struct shared_row {
  int major;
  int minor;
  std::size_t kibibytes;
};

// Maximum shared memory per block (opt-in), CUDA C++ programming guide.
constexpr std::array<shared_row, 9> shared_table{{
    {7, 5, 64},
    {8, 0, 163},
    {8, 6, 99},
    {8, 7, 163},
    {8, 9, 99},
    {9, 0, 227},
    {10, 0, 227},
    {10, 3, 227},
    {12, 0, 99},
}};

constexpr std::size_t kibibyte = 1024;

}  // namespace

std::size_t shared_bytes_of(int compute_major, int compute_minor) {
  const auto* const row = std::ranges::find_if(
      shared_table, [&](const shared_row& each) { return each.major == compute_major && each.minor == compute_minor; });
  return (row == shared_table.end() ? 64 : row->kibibytes) * kibibyte;
}

std::size_t counter_bytes(const sample_tuning& tuning, std::size_t values, bool weighted) {
  switch (tuning.where) {
    case placement::shared:
      return values * tuning.copies * sizeof(std::uint32_t) * (weighted ? 2 : 1);
    case placement::packed:
      return values_of_pass(tuning, values) / 2 * sizeof(std::uint32_t);
    case placement::global:
      return 0;
  }
  return 0;
}

sample_tuning tuning_for(std::size_t values, bool weighted, std::size_t table_bytes, std::size_t shared_bytes) {
  for (const sample_tuning& each : count_tunings) {
    if (weighted && each.where == placement::packed) continue;
    if (counter_bytes(each, values, weighted) + table_bytes <= shared_bytes) return each;
  }
  return count_tunings.back();
}

std::string describe(const sample_tuning& tuning, std::size_t values, bool weighted) {
  const std::string size = std::to_string(counter_bytes(tuning, values, weighted) / kibibyte) + " KiB";
  switch (tuning.where) {
    case placement::shared:
      return std::to_string(tuning.copies) + (tuning.copies == 1 ? " copy" : " copies") +
             " of the counters in shared memory, " + size;
    case placement::packed:
      return "16-bit counters in shared memory, " + size +
             (tuning.passes == 1 ? "" : ", " + std::to_string(tuning.passes) + " passes");
    case placement::global:
      return "counters in global memory";
  }
  return {};
}

}  // namespace gpuhist::gpu::cuda::samples
