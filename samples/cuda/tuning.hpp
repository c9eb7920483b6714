// How samples are counted on a device, as data: a table for each amount of shared memory, and a pure function that
// chooses a row. docs/samples.md has the measurements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuhist::gpu::cuda::samples {

enum class placement : std::uint8_t {
  shared,  ///< `copies` copies of 32-bit counters per block; a lane adds to copy lane % copies
  packed,  ///< one copy per block, two 16-bit counters in a word; 2^12 of them at a time move to the row
  global,  ///< the rows themselves; lanes of a warp with equal bins add once
};

struct sample_tuning {
  placement where = placement::global;
  unsigned copies = 1;
  unsigned passes = 1;  ///< packed: each pass reads all samples and counts those in its part of the bins

  bool operator==(const sample_tuning&) const = default;
};

/// In order of preference. With 32 copies, lanes of a warp add in different banks whatever the samples are. A pass
/// takes four times as long as reading; with more than three, global memory was faster on an H200 (10 passes: 0.03 of
/// the rate of reading, global: 0.09 for uniform samples).
inline constexpr std::array<sample_tuning, 10> count_tunings{{
    {.where = placement::shared, .copies = 32},
    {.where = placement::shared, .copies = 16},
    {.where = placement::shared, .copies = 8},
    {.where = placement::shared, .copies = 4},
    {.where = placement::shared, .copies = 2},
    {.where = placement::shared, .copies = 1},
    {.where = placement::packed, .copies = 1},
    {.where = placement::packed, .copies = 1, .passes = 2},
    {.where = placement::packed, .copies = 1, .passes = 3},
    {.where = placement::global, .copies = 1},
}};

inline constexpr unsigned block_threads = 1024;

/// Shared memory that a block may use on a compute capability. Devices of an unknown one get the smallest.
std::size_t shared_bytes_of(int compute_major, int compute_minor);

/// The values that a pass counts, an even number; the last pass may have fewer.
constexpr std::size_t values_of_pass(const sample_tuning& tuning, std::size_t values) {
  return ((values + tuning.passes - 1) / tuning.passes + 1) / 2 * 2;
}

/// Bytes of counters of a block. A weighted histogram has two words for a sum, and no packed counters.
std::size_t counter_bytes(const sample_tuning& tuning, std::size_t values, bool weighted);

/// The first tuning whose counters fit in `shared_bytes` together with `table_bytes` of tables.
sample_tuning tuning_for(std::size_t values, bool weighted, std::size_t table_bytes, std::size_t shared_bytes);

std::string describe(const sample_tuning& tuning, std::size_t values, bool weighted);

}  // namespace gpuhist::gpu::cuda::samples
