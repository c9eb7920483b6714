// Measurements as values: the measurement loop makes them; tables, rows and the summary read them.
#pragma once

#include "bench/host_count.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::bench {

/// The role of a measured kernel.
enum class role {
  ceiling,    ///< reads and counts nothing
  catalogue,  ///< a strategy of the catalogue
  variant,    ///< lane_private with another tuning
  peer,       ///< of another library
  host,       ///< the sequential loop, on the host
};

/// "ceiling", "catalogue", ...
std::string_view name_of(role value);

enum class verdict {
  right,
  wrong,      ///< in at least one run; no rate is derived from it
  uncounted,  ///< nothing to compare: the kernel counts nothing, or did not run
};

/// "right", "wrong"; "" for uncounted.
std::string_view name_of(verdict value);

struct measurement {
  std::string kernel;
  role kind = role::catalogue;
  unsigned runs = 0;  ///< 0: not run, because a run would take too long; `median` is then its estimated time
  double median = 0;  ///< in seconds, as the next two
  double least = 0;
  double most = 0;
  verdict counts = verdict::uncounted;

  [[nodiscard]] bool has_rate() const { return runs > 0 && counts != verdict::wrong; }
};

/// The measurements of one loop, in which kernels run in turn: one data set, one size, one kind of bins.
struct measured_group {
  std::string data;
  std::uint64_t bytes = 0;
  bins counted = bins::bytes;
  std::vector<measurement> rows;

  /// The fastest kernel that only reads; null if there is none.
  [[nodiscard]] const measurement* ceiling() const;
  [[nodiscard]] const measurement* find(std::string_view kernel) const;
};

/// Figures that are derived from a measurement and others of its group; absent if one of them has no rate.
struct figures {
  std::optional<double> bytes_per_second;
  std::optional<double> of_ceiling;          ///< 1: as fast as reading
  std::optional<double> over_loop;           ///< speed-up over the sequential loop on the host
  std::optional<double> over_global_atomic;  ///< speed-up over that strategy
};

figures figures_of(const measured_group& group, const measurement& measured);

/// The ratio of the rate of `measured` to that of `reference`; absent if one of them is null or has no rate.
std::optional<double> speed_up(const measurement* measured, const measurement* reference);

/// The machine of the measurements.
struct machine {
  std::string device;
  int multiprocessors = 0;
  std::uint64_t l2_bytes = 0;
};

inline constexpr std::string_view sequential_loop = "sequential_loop";

}  // namespace gpuhist::bench
