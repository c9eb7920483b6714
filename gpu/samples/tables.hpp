// The tables of the bins of an axis on the host, with the estimate that fits them best.
#pragma once

#include "gpu/samples/binning.hpp"
#include "gpuhist/samples.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace gpuhist::gpu::samples {

template <class Carrier>
struct tables {
  std::vector<key_of_carrier<Carrier>> thresholds;
  std::vector<std::uint32_t> guide;  ///< empty: direct
  binning<Carrier> parameters;       ///< without pointers

  /// For the host.
  [[nodiscard]] binning<Carrier> view() const {
    binning<Carrier> made = parameters;
    made.tables = {.thresholds = thresholds.data(), .guide = guide.empty() ? nullptr : guide.data()};
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
