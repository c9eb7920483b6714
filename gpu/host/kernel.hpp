// The table of host kernels: each counts the classes of a stretch of bytes on the calling thread.
#pragma once

#include "gpu/tally.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::gpu::host {

/// One comparison of the ranges kernel. Every byte that passes it moves from one class to another: a byte >= `value`
/// from the class below the boundary to the one above it, a byte == `value` from the class around it to its own.
struct probe {
  std::uint8_t value = 0;
  std::uint8_t from = 0;
  std::uint8_t to = 0;
};

/// An entry a byte value: bit j is set where the value is of the j-th class of the eight that the table is for.
using one_hot_table = std::array<std::uint8_t, 256>;

/// A partition made ready for every kernel, once an engine.
struct prepared_partition {
  partition counted;
  std::uint8_t lowest_class = 0;  ///< where all bytes are before the probes move them: the class below all boundaries
  std::vector<probe> at_least;    ///< one a boundary between neighbouring values of different classes
  std::vector<probe> equal;       ///< one a single value that stands inside another class
  std::vector<one_hot_table> one_hot;  ///< one for each eight classes, without the last class: it is what is left over
};

prepared_partition prepare(const partition& counted);

/// One row of the table.
struct kernel {
  std::string_view name;
  std::string_view description;

  /// Whether the kernel can count this partition.
  bool (*applies)(const prepared_partition&);

  /// About how many cycles a byte it takes on this machine's instruction set, to compare kernels: measured on Zen 4,
  /// in cache (docs/tuning.md).
  double (*cost)(const prepared_partition&);

  /// Writes (does not add) the count of every class of `bytes` (under 4 GiB) to row[0 .. classes). Thread-safe.
  void (*count)(std::span<const std::byte> bytes, const prepared_partition&, std::uint32_t* row);

  /// The instruction set that runs on this machine ("AVX2"); empty where there is only one.
  std::string_view (*instruction_set)();

  /// "ranges/AVX2".
  [[nodiscard]] std::string full_name() const;
};

/// The last one applies to every partition, on every machine.
std::span<const kernel> kernels();

/// Of those that apply, the one that costs least.
const kernel& best_kernel(const prepared_partition& what);

// The rows, defined in one file each.
bool lookup_applies(const prepared_partition& what);
double lookup_cost(const prepared_partition& what);
void count_lookup(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);
std::string_view lookup_instruction_set();

bool ranges_applies(const prepared_partition& what);
double ranges_cost(const prepared_partition& what);
void count_ranges(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);
std::string_view ranges_instruction_set();

double planes_cost(const prepared_partition& what);
void count_planes(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);
std::string_view planes_instruction_set();

double tables_cost(const prepared_partition& what);
void count_tables(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);

double scalar_cost(const prepared_partition& what);
void count_scalar(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);

}  // namespace gpuhist::gpu::host
