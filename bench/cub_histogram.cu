// The peer: CUB's DeviceHistogram, as the toolkit that built this program has it. Its call clears its counters itself,
// so that clearing is in its time.
#include "bench/contender.hpp"

#include <cub/device/device_histogram.cuh>

#include <algorithm>
#include <numeric>

namespace gpuhist::bench {
namespace {

using gpu::cuda::kernels::count_of;
using gpu::cuda::kernels::other_bucket;

// Counters of 32 bits are what CUB is tuned for, and offsets of 32 bits are its faster ones: longer spans are counted
// in pieces, each into counters of its own, which are added on the host.
using counter = unsigned;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30U;

std::uint64_t pieces_of(std::uint64_t size) { return (size + max_bytes - 1) / max_bytes; }

// A histogram of bytes as CUB's calls take it: where temporary memory is null, they only say how much they want.
struct call {
  void* temporary;
  std::size_t& temporary_bytes;
  const std::uint8_t* bytes;
  counter* counters;
  int size;
  cudaStream_t on;
};

struct even_bytes {
  static constexpr bins what = bins::bytes;
  static constexpr std::size_t counters = 256;

  [[nodiscard]] cudaError_t operator()(const call& of) const {
    return cub::DeviceHistogram::HistogramEven(of.temporary, of.temporary_bytes, of.bytes, of.counters,
                                               static_cast<int>(counters) + 1, 0, 256, of.size, of.on);
  }
};

class letter_ranges {
 public:
  static constexpr bins what = bins::letters;
  static constexpr std::size_t counters = 7;

  letter_ranges() {
    constexpr std::array<int, counters + 1> levels{'a', 'e', 'i', 'm', 'q', 'u', 'y', 'z' + 1};
    check(cudaMemcpy(levels_.as(), levels.data(), sizeof levels, cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // a copy of pageable memory may still be under way when the call returns
  }

  [[nodiscard]] cudaError_t operator()(const call& of) const {
    return cub::DeviceHistogram::HistogramRange(of.temporary, of.temporary_bytes, of.bytes, of.counters,
                                                static_cast<int>(counters) + 1, levels_.as<const int>(), of.size,
                                                of.on);
  }

 private:
  device_bytes levels_{(counters + 1) * sizeof(int)};
};

template <class Histogram>
class cub_contender final : public contender {
 public:
  explicit cub_contender(std::uint64_t largest_span)
      : counters_(pieces_of(largest_span) * Histogram::counters * sizeof(counter)),
        temporary_bytes_(wanted_bytes(largest_span)),
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
    bin_counts sums(count_of(Histogram::what));
    for (std::size_t i = 0; i < host.size(); ++i) sums[i % Histogram::counters] += host[i];
    // what lies in no range is in no counter of CUB's: the rest of the bytes
    if constexpr (Histogram::what == bins::letters) {
      sums[other_bucket] = size - std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }
    return sums;
  }

 private:
  std::size_t wanted_bytes(std::uint64_t largest_span) const {
    std::size_t wanted = 0;
    check(histogram_({.temporary = nullptr,
                      .temporary_bytes = wanted,
                      .bytes = nullptr,
                      .counters = nullptr,
                      .size = static_cast<int>(std::min(largest_span, max_bytes)),
                      .on = nullptr}));
    return wanted;
  }

  Histogram histogram_;
  device_bytes counters_;
  std::size_t temporary_bytes_;
  device_bytes temporary_;
};

}  // namespace

entrant cub_entrant(bins what, std::uint64_t largest_span) {
  entrant made{.name = std::string(cub_name(what)), .kind = role::peer, .what = nullptr};
  if (what == bins::bytes) {
    made.what = std::make_unique<cub_contender<even_bytes>>(largest_span);
  } else {
    made.what = std::make_unique<cub_contender<letter_ranges>>(largest_span);
  }
  return made;
}

}  // namespace gpuhist::bench
