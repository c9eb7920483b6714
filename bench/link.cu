// How fast pinned memory crosses to the device, in the chunks and streams that lanes use.
#include "bench/bench.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace gpuhist::bench {
namespace {

constexpr std::size_t ring_bytes = 256 * mib;  // more than any cache of the host
constexpr std::size_t total_bytes = 16 * gib;
constexpr int repetitions = 5;
constexpr std::size_t page = 4096;

// Registered as the pipeline registers its slots: touched first, then page-locked.
class pinned_ring {
 public:
  pinned_ring() : memory_(std::aligned_alloc(page, ring_bytes)) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_, 'e', ring_bytes);
    if (const cudaError_t code = cudaHostRegister(memory_, ring_bytes, cudaHostRegisterPortable); code != cudaSuccess) {
      std::free(memory_);
      check(code);
    }
  }
  pinned_ring(const pinned_ring&) = delete;
  pinned_ring& operator=(const pinned_ring&) = delete;
  ~pinned_ring() {
    cudaHostUnregister(memory_);
    std::free(memory_);
  }
  [[nodiscard]] const std::byte* at(std::size_t offset) const {
    return static_cast<const std::byte*>(memory_) + offset;
  }

 private:
  void* memory_;
};

// Seconds for total_bytes in chunks, dealt to the streams in turn, by events on the first stream.
double copy_all(const pinned_ring& ring, const device_bytes& target, std::size_t chunk,
                const std::vector<std::unique_ptr<stream>>& streams) {
  event begin;
  event end;
  std::vector<event> ends(streams.size());
  begin.record(*streams[0]);
  for (const auto& each : streams) check(cudaStreamWaitEvent(each->get(), begin.get()));
  for (std::size_t i = 0; i < total_bytes / chunk; ++i) {
    const std::size_t lane = i % streams.size();
    check(cudaMemcpyAsync(target.as() + lane * chunk, ring.at(i * chunk % ring_bytes), chunk, cudaMemcpyHostToDevice,
                          streams[lane]->get()));
  }
  for (std::size_t lane = 0; lane < streams.size(); ++lane) {
    ends[lane].record(*streams[lane]);
    check(cudaStreamWaitEvent(streams[0]->get(), ends[lane].get()));
  }
  end.record(*streams[0]);
  return end.seconds_since(begin);
}

}  // namespace

void measure_link() {
  const pinned_ring ring;
  std::printf("pinned host to device, %zu GiB each, median of %d\n\n%12s%10s%10s\n", total_bytes / gib, repetitions,
              "chunk MiB", "streams", "GB/s");
  for (const std::size_t chunk : {1 * mib, 4 * mib, 8 * mib, 16 * mib}) {
    for (const std::size_t lanes : {2U, 3U}) {
      std::vector<std::unique_ptr<stream>> streams(lanes);
      for (auto& each : streams) each = std::make_unique<stream>();
      const device_bytes target(lanes * chunk);
      std::vector<double> seconds(repetitions);
      for (double& each : seconds) each = copy_all(ring, target, chunk, streams);
      std::printf("%12zu%10zu%10.1f\n", chunk / mib, lanes, gigabytes_per_second(total_bytes, median(seconds)));
    }
  }
}

}  // namespace gpuhist::bench
