// The table of host kernels. Each counts the classes of a span of bytes on the calling thread.
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

/// One comparison of the kernel `ranges`. Every byte that passes it moves from class `from` to class `to`: a byte >=
/// `value` from the class below the boundary to the class above it; a byte == `value` from the surrounding class to its
/// own class.
struct probe {
  std::uint8_t value = 0;
  std::uint8_t from = 0;
  std::uint8_t to = 0;
};

/// One entry per byte value: bit j is set if the value belongs to the j-th of the eight classes of the table.
using one_hot_table = std::array<std::uint8_t, 256>;

/// A partition, prepared once per engine for all kernels.
struct prepared_partition {
  partition counted;
  std::uint8_t lowest_class =
      0;                        ///< the class of all bytes before the probes move them: the class below all boundaries
  std::vector<probe> at_least;  ///< one for each boundary between neighbouring values of different classes
  std::vector<probe> equal;     ///< one for each single value inside another class
  std::vector<one_hot_table> one_hot;  ///< one for each eight classes; without the last class, which is the remainder
};

prepared_partition prepare(const partition& counted);

/// One row of the table.
struct kernel {
  std::string_view name;
  std::string_view description;

  /// Whether the kernel can count this partition.
  bool (*applies)(const prepared_partition&);

  /// Approximate cycles per byte with the instruction set of this machine, to compare kernels: measured on Zen 4, in
  /// cache (docs/tuning.md).
  double (*cost)(const prepared_partition&);

  /// Writes (does not add) the count of every class of `bytes` (under 4 GiB) to row[0 .. classes). Thread-safe.
  void (*count)(std::span<const std::byte> bytes, const prepared_partition&, std::uint32_t* row);

  /// The instruction set that is used on this machine ("AVX2"); empty if there is only one.
  std::string_view (*instruction_set)();

  /// "ranges/AVX2".
  [[nodiscard]] std::string full_name() const;
};

/// All kernels. The last one applies to every partition on every machine.
std::span<const kernel> kernels();

/// The kernel with the lowest cost among those that apply.
const kernel& best_kernel(const prepared_partition& prepared);

// The functions of the rows. Each kernel is defined in its own file.
bool lookup_applies(const prepared_partition& prepared);
double lookup_cost(const prepared_partition& prepared);
void count_lookup(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row);
std::string_view lookup_instruction_set();

bool ranges_applies(const prepared_partition& prepared);
double ranges_cost(const prepared_partition& prepared);
void count_ranges(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row);
std::string_view ranges_instruction_set();

double planes_cost(const prepared_partition& prepared);
void count_planes(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row);
std::string_view planes_instruction_set();

double tables_cost(const prepared_partition& prepared);
void count_tables(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row);

double scalar_cost(const prepared_partition& prepared);
void count_scalar(std::span<const std::byte> bytes, const prepared_partition& prepared, std::uint32_t* row);

}  // namespace gpuhist::gpu::host
