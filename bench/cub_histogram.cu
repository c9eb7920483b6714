// The peer: DeviceHistogram of CUB, in the version of the CUDA toolkit. Its call clears the counters, so its time
// includes clearing.
#include "bench/contender.hpp"

#include <cub/device/device_histogram.cuh>

#include <algorithm>
#include <numeric>

namespace gpuhist::bench {
namespace {

using gpu::cuda::kernels::count_of;
using gpu::cuda::kernels::other_bucket;

// CUB is tuned for 32-bit counters and is faster with 32-bit offsets. Longer spans are counted in pieces with separate
// counters, which are added on the host.
using counter = unsigned;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30U;

std::uint64_t pieces_of(std::uint64_t size) { return (size + max_bytes - 1) / max_bytes; }

// The arguments of a call of CUB. If `temporary` is null, the call only writes the size that it needs.
struct call {
  void* temporary;
  std::size_t& temporary_bytes;
  const std::uint8_t* bytes;
  counter* counters;
  int size;
  cudaStream_t on;
};

struct even_bytes {
  static constexpr bins counted = bins::bytes;
  static constexpr std::size_t counters = 256;

  [[nodiscard]] cudaError_t operator()(const call& arguments) const {
    return cub::DeviceHistogram::HistogramEven(arguments.temporary, arguments.temporary_bytes, arguments.bytes,
                                               arguments.counters, static_cast<int>(counters) + 1, 0, 256,
                                               arguments.size, arguments.on);
  }
};

class letter_ranges {
 public:
  static constexpr bins counted = bins::letters;
  static constexpr std::size_t counters = 7;

  letter_ranges() {
    constexpr std::array<int, counters + 1> levels{'a', 'e', 'i', 'm', 'q', 'u', 'y', 'z' + 1};
    check(cudaMemcpy(levels_.as(), levels.data(), sizeof levels, cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // a copy of pageable memory may still be in flight when the call returns
  }

  [[nodiscard]] cudaError_t operator()(const call& arguments) const {
    return cub::DeviceHistogram::HistogramRange(arguments.temporary, arguments.temporary_bytes, arguments.bytes,
                                                arguments.counters, static_cast<int>(counters) + 1,
                                                levels_.as<const int>(), arguments.size, arguments.on);
  }

 private:
  device_bytes levels_{(counters + 1) * sizeof(int)};
};

template <class Histogram>
class cub_contender final : public contender {
 public:
  explicit cub_contender(std::uint64_t largest_span)
      : counters_(pieces_of(largest_span) * Histogram::counters * sizeof(counter)),
        temporary_bytes_(required_bytes(largest_span)),
        temporary_(std::max<std::size_t>(temporary_bytes_, 1)) {}

  void clear(const stream&) override {}

  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    for (std::uint64_t piece = 0; piece < pieces_of(bytes.size()); ++piece) {
      const auto part = bytes.subspan(piece * max_bytes);
      check(histogram_({.temporary = temporary_.as<void>(),
                        .temporary_bytes = temporary_bytes_,
                        .bytes = part.data(),
                        .counters = counters_.as<counter>() + piece * Histogram::counters,
                        .size = static_cast<int>(std::min<std::uint64_t>(part.size(), max_bytes)),
                        .on = on.get()}));
    }
  }

  bin_counts counts(std::uint64_t size, const stream& on) override {
    std::vector<counter> host(pieces_of(size) * Histogram::counters);
    check(
        cudaMemcpyAsync(host.data(), counters_.as(), host.size() * sizeof(counter), cudaMemcpyDeviceToHost, on.get()));
    on.wait();
    bin_counts sums(count_of(Histogram::counted));
    for (std::size_t i = 0; i < host.size(); ++i) sums[i % Histogram::counters] += host[i];
    // CUB does not count bytes outside all ranges: they are the rest
    if constexpr (Histogram::counted == bins::letters) {
      sums[other_bucket] = size - std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }
    return sums;
  }

 private:
  std::size_t required_bytes(std::uint64_t largest_span) const {
    std::size_t required = 0;
    check(histogram_({.temporary = nullptr,
                      .temporary_bytes = required,
                      .bytes = nullptr,
                      .counters = nullptr,
                      .size = static_cast<int>(std::min(largest_span, max_bytes)),
                      .on = nullptr}));
    return required;
  }

  Histogram histogram_;
  device_bytes counters_;
  std::size_t temporary_bytes_;
  device_bytes temporary_;
};

}  // namespace

entrant cub_entrant(bins counted, std::uint64_t largest_span) {
  entrant made{.name = std::string(cub_name(counted)), .kind = role::peer, .implementation = nullptr};
  if (counted == bins::bytes) {
    made.implementation = std::make_unique<cub_contender<even_bytes>>(largest_span);
  } else {
    made.implementation = std::make_unique<cub_contender<letter_ranges>>(largest_span);
  }
  return made;
}

}  // namespace gpuhist::bench
