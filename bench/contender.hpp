// The interface of everything that is timed over a span of device memory: strategies of the catalogue, kernels that
// only read, and CUB.
#pragma once

#include "bench/cuda.hpp"
#include "bench/host_count.hpp"
#include "bench/kernels/catalogue.hpp"
#include "bench/measurement.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::bench {

/// Used by one thread on one stream. All members except counts() only queue work. Throws std::runtime_error.
class contender {
 public:
  contender() = default;
  contender(const contender&) = delete;
  contender& operator=(const contender&) = delete;
  virtual ~contender() = default;

  /// Clears the counters. Not timed.
  virtual void clear(const stream& on) = 0;

  /// Processes device memory that is aligned to 256 bytes once. Timed.
  virtual void run(std::span<const std::uint8_t> bytes, const stream& on) = 0;

  /// Waits for the stream. Returns the counts of the last run, which had `size` bytes; empty if the contender counts
  /// nothing.
  virtual bin_counts counts(std::uint64_t size, const stream& on) = 0;
};

struct entrant {
  std::string name;
  role kind = role::catalogue;
  std::unique_ptr<contender> implementation;
};

/// Kernels that only read, in several shapes: the fastest is the ceiling.
std::vector<entrant> read_only_entrants(const machine& device);

entrant strategy_entrant(const kernels::strategy& measured, role kind, bins counted, const machine& device,
                         unsigned coarsening);

/// CUB's DeviceHistogram: HistogramEven with 256 bins for bytes, HistogramRange for letters.
inline constexpr std::array<std::string_view, 2> cub_names{"cub_even", "cub_range"};
constexpr std::string_view cub_name(bins counted) { return counted == bins::bytes ? cub_names[0] : cub_names[1]; }
entrant cub_entrant(bins counted, std::uint64_t largest_span);

/// Occupies the stream for about this time, so that the work queued after it runs without gaps.
void hold(const stream& on, std::uint64_t nanoseconds);

}  // namespace gpuhist::bench
