// What was measured, as values: made by the loop, read by tables, rows and the summary.
#pragma once

#include "bench/host_count.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::bench {

/// What a measurement stands for.
enum class role {
  ceiling,    ///< reads and counts nothing
  catalogue,  ///< a strategy of the catalogue
  variant,    ///< lane_private with another tuning
  peer,       ///< another library's
  host,       ///< the sequential loop, on the host
};

/// "ceiling", "catalogue", ...
std::string_view name_of(role what);

enum class verdict {
  right,
  wrong,      ///< in one run or more; no rate is derived from it
  uncounted,  ///< there was nothing to compare: it counts nothing, or did not run
};

/// "right", "wrong"; nothing to say is "".
std::string_view name_of(verdict what);

struct measurement {
  std::string kernel;
  role kind = role::catalogue;
  unsigned runs = 0;  ///< 0: not run, because one would take too long: `median` is what it would take
  double median = 0;  ///< seconds, as the others
  double least = 0;
  double most = 0;
  verdict counts = verdict::uncounted;

  [[nodiscard]] bool has_rate() const { return runs > 0 && counts != verdict::wrong; }
};

/// All that was measured alternately, in one loop: one data set, one size, one kind of bins.
struct measured_group {
  std::string data;
  std::uint64_t bytes = 0;
  bins what = bins::bytes;
  std::vector<measurement> rows;

  /// The fastest of the kernels that only read; null where there is none.
  [[nodiscard]] const measurement* ceiling() const;
  [[nodiscard]] const measurement* find(std::string_view kernel) const;
};

/// What follows from a measurement and its neighbours; nothing where one of them has no rate.
struct figures {
  std::optional<double> bytes_per_second;
  std::optional<double> of_ceiling;          ///< 1: as fast as reading
  std::optional<double> over_loop;           ///< speed-up over the sequential loop on the host
  std::optional<double> over_global_atomic;  ///< speed-up over that strategy
};

figures figures_of(const measured_group& group, const measurement& one);

/// How many times as fast as `other` `one` is; nothing where one of them is missing or has no rate.
std::optional<double> speed_up(const measurement* one, const measurement* other);

/// The machine, for whoever reads the figures elsewhere.
struct machine {
  std::string device;
  int multiprocessors = 0;
  std::uint64_t l2_bytes = 0;
};

inline constexpr std::string_view sequential_loop = "sequential_loop";

}  // namespace gpuhist::bench
