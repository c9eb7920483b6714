// The tables of the bins of an axis on the host, with the estimate that fits them best.
#pragma once

#include "gpuhist/samples.hpp"
#include "samples/quick_binning.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace gpuhist::gpu::samples {

/// A direct estimate with a larger tolerance would need a look-up for almost every sample.
inline constexpr float largest_tolerance = 0.45F;

template <class Carrier>
struct tables {
  std::vector<key_of_carrier<Carrier>> thresholds;
  std::vector<std::uint32_t> guide;  ///< of `guided`
  binning<Carrier> direct;           ///< without pointers, as the others
  binning<Carrier> guided;
  quick_binning<Carrier> quick;  ///< on devices

  // On devices where `quick` cannot be used: cells by quick positions, and their guide. If they cannot be used either:
  // `guided`.
  quick_binning<Carrier> quick_cells;
  std::vector<std::uint32_t> quick_guide;

  [[nodiscard]] bool is_direct() const { return direct.tolerance <= largest_tolerance; }

  /// On devices.
  [[nodiscard]] const quick_binning<Carrier>& device_quick() const { return quick.usable ? quick : quick_cells; }
  [[nodiscard]] const binning<Carrier>& device_binning() const { return quick.usable ? direct : guided; }

  /// Empty with a quick estimate of bins.
  [[nodiscard]] const std::vector<std::uint32_t>& device_guide() const {
    return quick_cells.usable ? quick_guide : guide;
  }

  /// For the host.
  [[nodiscard]] binning<Carrier> view() const {
    binning<Carrier> made = is_direct() ? direct : guided;
    made.tables = {.thresholds = thresholds.data(), .guide = is_direct() ? nullptr : guide.data()};
    return made;
  }
};

using any_tables = std::variant<tables<std::uint32_t>, tables<float>, tables<std::uint64_t>, tables<double>>;

/// Chooses an estimate for thresholds of `edges.size() - 1` bins. `edges` are the values of the thresholds, or near
/// them.
template <class Carrier>
tables<Carrier> make_tables(sample_type type, const std::vector<double>& edges,
                            std::vector<key_of_carrier<Carrier>> thresholds);

extern template tables<std::uint32_t> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint32_t>);
extern template tables<float> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint32_t>);
extern template tables<std::uint64_t> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint64_t>);
extern template tables<double> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint64_t>);

}  // namespace gpuhist::gpu::samples

namespace gpuhist {

struct sample_bins::state {
  sample_type type;
  std::uint32_t bins;
  std::vector<double> edges;
  gpu::samples::any_tables tables;
};

}  // namespace gpuhist
