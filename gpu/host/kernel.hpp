// The table of host kernels: each counts the classes of a stretch of bytes on the calling thread, best first.
#pragma once

#include "gpu/tally.hpp"

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

/// A partition made ready for every kernel, once an engine.
struct prepared_partition {
  partition counted;
  std::uint8_t lowest_class = 0;  ///< where all bytes are before the probes move them: the class below all boundaries
  std::vector<probe> at_least;    ///< one a boundary between neighbouring values of different classes
  std::vector<probe> equal;       ///< one a single value that stands inside another class
};

prepared_partition prepare(const partition& counted);

/// One row of the table.
struct kernel {
  std::string_view name;
  std::string_view description;

  /// Whether the kernel can count this partition.
  bool (*applies)(const prepared_partition&);

  /// Writes (does not add) the count of every class of `bytes` (under 4 GiB) to row[0 .. classes). Thread-safe.
  void (*count)(std::span<const std::byte> bytes, const prepared_partition&, std::uint32_t* row);

  /// The instruction set that runs on this machine ("AVX2"); empty where there is only one.
  std::string_view (*instruction_set)();

  /// "ranges/AVX2".
  [[nodiscard]] std::string full_name() const;
};

/// In order of preference; the last one applies to every partition.
std::span<const kernel> kernels();

/// The first of the table that applies.
const kernel& best_kernel(const prepared_partition& what);

// The rows, defined in one file each.
bool ranges_applies(const prepared_partition& what);
void count_ranges(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);
std::string_view ranges_instruction_set();
void count_tables(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);
void count_scalar(std::span<const std::byte> bytes, const prepared_partition& what, std::uint32_t* row);

}  // namespace gpuhist::gpu::host
