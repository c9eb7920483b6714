// The peer for samples: DeviceHistogram of CUB, in the version of the CUDA toolkit. Its call clears the counters.
#include "bench/samples.hpp"

#include <cub/device/device_histogram.cuh>

#include <algorithm>
#include <array>
#include <vector>

namespace gpuhist::bench {
namespace {

using counter = unsigned;

struct call {
  void* temporary;
  std::size_t& temporary_bytes;
  const void* samples;
  int frames;
  cudaStream_t on;
};

struct arguments {
  sample_shape shape;
  sample_range range;
  counter* counters;
  const float* edges;
};

template <class Sample>
cudaError_t even(const arguments& in, const call& with) {
  return cub::DeviceHistogram::HistogramEven(with.temporary, with.temporary_bytes,
                                             static_cast<const Sample*>(with.samples), in.counters,
                                             static_cast<int>(in.shape.bins) + 1, static_cast<Sample>(in.range.lower),
                                             static_cast<Sample>(in.range.upper), with.frames, with.on);
}

cudaError_t range(const arguments& in, const call& with) {
  return cub::DeviceHistogram::HistogramRange(with.temporary, with.temporary_bytes,
                                              static_cast<const float*>(with.samples), in.counters,
                                              static_cast<int>(in.shape.bins) + 1, in.edges, with.frames, with.on);
}

cudaError_t four_channels(const arguments& in, const call& with) {
  std::array<counter*, 4> counters{};
  std::array<int, 4> levels{};
  std::array<float, 4> lower{};
  std::array<float, 4> upper{};
  for (std::size_t channel = 0; channel < 4; ++channel) counters[channel] = in.counters + channel * in.shape.bins;
  levels.fill(static_cast<int>(in.shape.bins) + 1);
  lower.fill(static_cast<float>(in.range.lower));
  upper.fill(static_cast<float>(in.range.upper));
  return cub::DeviceHistogram::MultiHistogramEven<4, 4>(
      with.temporary, with.temporary_bytes, static_cast<const float*>(with.samples), counters.data(), levels.data(),
      lower.data(), upper.data(), with.frames, with.on);
}

using histogram = cudaError_t (*)(const arguments&, const call&);

histogram histogram_of(const sample_shape& shape) {
  if (shape.weighted || shape.y_bins != 0) return nullptr;
  if (shape.channels == 4) return four_channels;
  if (shape.edges) return range;
  return shape.type == sample_type::int32 ? even<std::int32_t> : even<float>;
}

class cub_contender final : public contender {
 public:
  cub_contender(const sample_shape& shape, const sample_range& range, std::uint64_t bytes)
      : shape_(shape),
        counters_(std::size_t{shape.bins} * shape.channels * sizeof(counter)),
        edges_((std::size_t{shape.bins} + 1) * sizeof(float)),
        arguments_{
            .shape = shape, .range = range, .counters = counters_.as<counter>(), .edges = edges_.as<const float>()} {
    const std::vector<float> edges = uneven_edges(shape.bins, range);
    check(cudaMemcpy(edges_.as(), edges.data(), edges.size() * sizeof(float), cudaMemcpyHostToDevice));
    check(histogram_of(shape_)(arguments_, with(nullptr, bytes, nullptr)));
    temporary_ = std::make_unique<device_bytes>(std::max<std::size_t>(temporary_bytes_, 1));
  }

  void clear(const stream&) override {}
  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    call made = with(bytes.data(), bytes.size(), on.get());
    made.temporary = temporary_->as<void>();
    check(histogram_of(shape_)(arguments_, made));
  }
  bin_counts counts(std::uint64_t, const stream&) override { return {}; }

 private:
  call with(const void* samples, std::uint64_t bytes, cudaStream_t on) {
    return {.temporary = nullptr,
            .temporary_bytes = temporary_bytes_,
            .samples = samples,
            .frames = static_cast<int>(bytes / sizeof(float) / shape_.channels),
            .on = on};
  }

  sample_shape shape_;
  device_bytes counters_;
  device_bytes edges_;
  arguments arguments_;
  std::size_t temporary_bytes_ = 0;
  std::unique_ptr<device_bytes> temporary_;
};

}  // namespace

std::unique_ptr<contender> cub_samples(const sample_shape& shape, const sample_range& range, std::uint64_t bytes) {
  if (histogram_of(shape) == nullptr) return nullptr;
  return std::make_unique<cub_contender>(shape, range, bytes);
}

}  // namespace gpuhist::bench
