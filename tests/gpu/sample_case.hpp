// A histogram to make, as test_samples_numpy.py writes it, and its result.
#pragma once

#include <gpuhist/samples.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpuhist::test {

inline constexpr std::uint32_t no_weights = 255;

/// Rules of an axis: those of even_rule, then these.
inline constexpr std::uint32_t given_edges = 3;
inline constexpr std::uint32_t integer_bins = 4;

struct axis_head {
  std::uint32_t type;
  std::uint32_t rule;
  std::uint32_t bins;
  std::uint32_t edges;  ///< that follow
  double lower;
  double upper;
  std::int64_t stride;
  std::uint64_t offset;  ///< of the first frame in the memory that follows the edges
  std::uint64_t memory_bytes;
};

struct sample_axis {
  axis_head head{};
  std::vector<double> edges;
  std::vector<std::byte> memory;

  [[nodiscard]] sample_bins bins() const;
  [[nodiscard]] sample_view view(std::uint64_t frames, unsigned channels) const {
    return {.data = memory.data() + head.offset, .frames = frames, .channels = channels, .stride = head.stride};
  }
};

struct case_head {
  std::uint64_t frames;
  std::uint32_t channels;
  std::uint32_t joint;  ///< 1: x and y follow
  std::uint32_t weight;
  std::uint32_t weight_channels;
  std::uint32_t threads;
  std::uint32_t unused;
  std::int64_t weight_stride;
  std::uint64_t weight_offset;
  std::uint64_t weight_bytes;
};

struct sample_case {
  case_head head{};
  sample_axis x;
  sample_axis y;
  std::vector<std::byte> weights;

  [[nodiscard]] std::optional<weight_view> weighting() const {
    if (head.weight == no_weights) return std::nullopt;
    return weight_view{.data = weights.data() + head.weight_offset,
                       .type = static_cast<weight_type>(head.weight),
                       .channels = head.weight_channels,
                       .stride = head.weight_stride};
  }
};

/// Counts or sums, then the edges of x.
struct case_result {
  bool refused = false;
  std::vector<std::uint64_t> counts;
  std::vector<double> sums;
  std::vector<double> edges;
};

case_result run_on_host(const sample_case& each);

/// In builds without CUDA there is no device.
bool has_device();
case_result run_on_device(const sample_case& each);

}  // namespace gpuhist::test
