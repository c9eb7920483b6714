#include "bench/link.hpp"

#include "bench/cuda.hpp"
#include "bench/schedule.hpp"
#include "bench/table.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace gpuhist::bench {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20U;
constexpr std::size_t gib = std::size_t{1} << 30U;
constexpr std::size_t ring_bytes = 256 * mib;  // more than any cache of the host
constexpr std::size_t total_bytes = 16 * gib;
constexpr int repetitions = 5;
constexpr std::size_t page = 4096;
constexpr std::array chunks{1 * mib, 4 * mib, 8 * mib, 16 * mib};
constexpr std::array<std::size_t, 2> stream_counts{2, 3};

// Page-locked after the first write to every page, as the pipeline does with its slots.
class pinned_ring {
 public:
  pinned_ring() {
    std::memset(memory_.get(), 'e', ring_bytes);
    check(cudaHostRegister(memory_.get(), ring_bytes, cudaHostRegisterPortable));
  }
  pinned_ring(const pinned_ring&) = delete;
  pinned_ring& operator=(const pinned_ring&) = delete;
  ~pinned_ring() { cudaHostUnregister(memory_.get()); }
  [[nodiscard]] const std::byte* at(std::size_t offset) const { return memory_.get() + offset; }

 private:
  struct release {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{page}); }
  };
  std::unique_ptr<std::byte, release> memory_{
      static_cast<std::byte*>(::operator new(ring_bytes, std::align_val_t{page}))};
};

// Seconds for total_bytes in chunks, which are assigned to the streams in turn; measured by events on the first stream.
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

double median_rate(const pinned_ring& ring, std::size_t chunk, std::size_t lanes) {
  std::vector<std::unique_ptr<stream>> streams(lanes);
  for (auto& each : streams) each = std::make_unique<stream>();
  const device_bytes target(lanes * chunk);
  std::vector<double> seconds(repetitions);
  for (double& each : seconds) each = copy_all(ring, target, chunk, streams);
  return static_cast<double>(total_bytes) / median(seconds);
}

void print_heading(output_format format, const machine& on) {
  if (format == output_format::csv) std::puts("device,chunk_bytes,streams,bytes_per_second");
  if (format != output_format::table) return;
  std::printf("%s: pinned host to device, %zu GiB each, median of %d\n\n%12s%10s%10s\n", on.device.c_str(),
              total_bytes / gib, repetitions, "chunk MiB", "streams", "GB/s");
}

void print_row(output_format format, const machine& on, std::size_t chunk, std::size_t lanes, double rate) {
  switch (format) {
    case output_format::table:
      std::printf("%12zu%10zu%10s\n", chunk / mib, lanes, fixed(rate * 1e-9, 1).c_str());
      break;
    case output_format::json: {
      const nlohmann::ordered_json row = {
          {"device", on.device}, {"chunk_bytes", chunk}, {"streams", lanes}, {"bytes_per_second", rate}};
      std::printf("%s\n", row.dump().c_str());
      break;
    }
    case output_format::csv:
      std::printf("%s,%zu,%zu,%.0f\n", on.device.c_str(), chunk, lanes, rate);
      break;
  }
  std::fflush(stdout);
}

}  // namespace

void measure_link(const link_options& options, const machine& on) {
  const pinned_ring ring;
  print_heading(options.format, on);
  for (const std::size_t chunk : chunks) {
    for (const std::size_t lanes : stream_counts) {
      print_row(options.format, on, chunk, lanes, median_rate(ring, chunk, lanes));
    }
  }
}

}  // namespace gpuhist::bench
