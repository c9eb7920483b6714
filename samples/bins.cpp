// The public sample_bins: from a rule to thresholds to tables.
#include "gpuhist/errors.hpp"
#include "samples/numpy_bins.hpp"
#include "samples/tables.hpp"
#include "samples/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

namespace gpuhist {
namespace {

using namespace gpu::samples;

bool is_integer(sample_type type) { return type < sample_type::float16; }

template <class Carrier, class Reached>
any_tables tables_by(sample_type type, const std::vector<double>& edges, const Reached& reached) {
  return make_tables<Carrier>(type, edges, find_thresholds<Carrier>(type, edges, reached));
}

template <class Reached>
std::shared_ptr<const sample_bins::state> make_state(sample_type type, std::vector<double> edges,
                                                     const Reached& reached) {
  const auto made = [&]() -> any_tables {
    switch (type) {
      case sample_type::float16:
      case sample_type::bfloat16:
      case sample_type::float32:
        return tables_by<float>(type, edges, reached);
      case sample_type::float64:
        return tables_by<double>(type, edges, reached);
      case sample_type::int64:
        return tables_by<std::uint64_t>(type, edges, reached);
      default:
        return tables_by<std::uint32_t>(type, edges, reached);
    }
  };
  any_tables tables = made();
  const auto bins = static_cast<std::uint32_t>(edges.size() - 1);
  return std::make_shared<const sample_bins::state>(
      sample_bins::state{.type = type, .bins = bins, .edges = std::move(edges), .tables = std::move(tables)});
}

void check_number(std::size_t bins) {
  if (bins == 0 || bins > sample_bins::max_bins)
    throw error(errc::invalid_argument, "bins of samples: " + std::to_string(bins) + " bins; 1 to " +
                                            std::to_string(sample_bins::max_bins) + " are possible");
}

void check_edges(std::span<const double> edges) {
  check_number(edges.empty() ? 0 : edges.size() - 1);
  if (std::ranges::any_of(edges, [](double edge) { return std::isnan(edge); }))
    throw error(errc::invalid_argument, "bins of samples: an edge is NaN");
  if (std::ranges::adjacent_find(edges, std::greater{}) != edges.end())
    throw error(errc::invalid_argument, "bins of samples: edges decrease");
}

// A bin is reached at its lower edge. The last edge belongs to the last bin.
std::shared_ptr<const sample_bins::state> state_of_edges(sample_type type, std::vector<double> edges) {
  const std::vector<double> reference = edges;
  return make_state(type, std::move(edges), [&](std::size_t bin, double value) {
    return bin + 1 == reference.size() ? value > reference[bin] : value >= reference[bin];
  });
}

}  // namespace

std::size_t size_of(sample_type type) noexcept {
  switch (type) {
    case sample_type::uint8:
    case sample_type::int8:
      return 1;
    case sample_type::uint16:
    case sample_type::float16:
    case sample_type::bfloat16:
      return 2;
    case sample_type::int64:
    case sample_type::float64:
      return 8;
    default:
      return 4;
  }
}

std::size_t size_of(weight_type type) noexcept { return type == weight_type::float64 ? 8 : 4; }

sample_bins sample_bins::even(sample_type type, std::uint32_t bins, double lower, double upper, even_rule rule) {
  check_number(bins);
  const bool exact = rule == even_rule::linspace;
  // for linspace, as for integers: in float64
  const numpy_even even(exact ? sample_type::float64 : type, bins, lower, upper, rule == even_rule::numpy_typed);
  if (exact) return sample_bins(state_of_edges(type, even.edges()));
  return sample_bins(make_state(type, even.edges(), [&](std::size_t bin, double value) {
    return even.bin_of(value) >= static_cast<std::int64_t>(bin);
  }));
}

sample_bins sample_bins::edges(sample_type type, std::span<const double> edges) {
  check_edges(edges);
  return sample_bins(state_of_edges(type, {edges.begin(), edges.end()}));
}

sample_bins sample_bins::integers(sample_type type, std::uint32_t bins) {
  check_number(bins);
  if (!is_integer(type)) throw error(errc::invalid_argument, "bins of samples: integer bins of a floating-point type");
  std::vector<double> edges(std::size_t{bins} + 1);
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = static_cast<double>(i);
  return sample_bins(make_state(type, std::move(edges),
                                [](std::size_t bin, double value) { return value >= static_cast<double>(bin); }));
}

sample_type sample_bins::type() const noexcept { return state_->type; }
std::uint32_t sample_bins::bins() const noexcept { return state_->bins; }
const std::vector<double>& sample_bins::bin_edges() const noexcept { return state_->edges; }

}  // namespace gpuhist
