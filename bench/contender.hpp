// Whatever is timed over a span of device memory: strategies of the catalogue, kernels that only read, CUB.
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

/// Used by one thread, on one stream. Everything but counts() only queues work. Throws std::runtime_error.
class contender {
 public:
  contender() = default;
  contender(const contender&) = delete;
  contender& operator=(const contender&) = delete;
  virtual ~contender() = default;

  /// Clears the counters that are added to. Not timed.
  virtual void clear(const stream& on) = 0;

  /// Goes once over device memory that is aligned to 256 bytes. Timed.
  virtual void run(std::span<const std::uint8_t> bytes, const stream& on) = 0;

  /// Waits for the stream: the counts of `size` bytes, the last run's; empty where nothing is counted.
  virtual bin_counts counts(std::uint64_t size, const stream& on) = 0;
};

struct entrant {
  std::string name;
  role kind = role::catalogue;
  std::unique_ptr<contender> what;
};

/// Kernels that only read, in several shapes: the fastest is the ceiling.
std::vector<entrant> read_only_entrants(const machine& on);

entrant strategy_entrant(const kernels::strategy& of, role kind, bins what, const machine& on, unsigned coarsening);

/// CUB's DeviceHistogram: HistogramEven with 256 bins for bytes, HistogramRange for letters.
inline constexpr std::array<std::string_view, 2> cub_names{"cub_even", "cub_range"};
constexpr std::string_view cub_name(bins what) { return what == bins::bytes ? cub_names[0] : cub_names[1]; }
entrant cub_entrant(bins what, std::uint64_t largest_span);

/// Keeps the stream busy for about so long, so that what is queued behind it runs without gaps.
void hold(const stream& on, std::uint64_t nanoseconds);

}  // namespace gpuhist::bench
