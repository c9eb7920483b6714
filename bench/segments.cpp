#include "bench/segments.hpp"

#include "gpu/engines.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::bench {
namespace {

constexpr std::uint32_t kib = 1U << 10U;
constexpr std::uint32_t mib = 1U << 20U;
constexpr std::uint32_t max_segments = 1024;  // of a chunk, as in the pipeline
constexpr std::size_t slots = 32;
constexpr std::uint64_t bytes_per_run = std::uint64_t{8} << 30U;
constexpr int runs = 5;
constexpr std::size_t page = 4096;
constexpr std::array segment_sizes{8 * mib, mib, 64 * kib, 16 * kib, 4 * kib, kib, 256U};

// Seven ranges of letters, the newline and the rest: the partition of the command for `letters`.
gpu::partition letters() {
  gpu::partition result;
  result.class_of.fill(0);
  for (std::uint8_t letter = 0; letter < 26; ++letter) {
    result.class_of[std::size_t{'a'} + letter] = static_cast<std::uint8_t>(1 + std::min(letter / 4, 6));
  }
  result.class_of['\n'] = 8;
  result.classes = 9;
  return result;
}

// Adjacent chunks, as in the ring: text, then extents, then rows, in one allocation that can be registered.
class chunks {
 public:
  chunks(std::uint32_t chunk_bytes, std::uint32_t segment_bytes, std::size_t classes)
      : segments_(std::max(1U, chunk_bytes / segment_bytes)),
        rows_at_(slots * chunk_bytes + slots * segments_ * sizeof(gpu::extent)),
        bytes_(rows_at_ + slots * segments_ * classes * sizeof(std::uint32_t)),
        memory_(static_cast<std::byte*>(::operator new(bytes_, std::align_val_t{page}))) {
    std::memset(memory_.get(), 'e', bytes_);
    auto* extents = reinterpret_cast<gpu::extent*>(memory_.get() + slots * chunk_bytes);
    auto* rows = reinterpret_cast<std::uint32_t*>(memory_.get() + rows_at_);
    for (std::size_t i = 0; i < slots; ++i, extents += segments_, rows += segments_ * classes) {
      for (std::uint32_t k = 0; k < segments_; ++k) {
        extents[k] = {.begin = k * segment_bytes, .end = (k + 1) * segment_bytes};
      }
      jobs_[i].bytes = {memory_.get() + i * chunk_bytes, chunk_bytes};
      jobs_[i].extents = {extents, segments_};
      jobs_[i].rows = {rows, segments_ * classes};
    }
  }

  [[nodiscard]] std::span<std::byte> all() const { return {memory_.get(), bytes_}; }
  [[nodiscard]] std::array<gpu::counting_job, slots>& jobs() { return jobs_; }

 private:
  struct release {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{page}); }
  };
  std::size_t segments_;
  std::size_t rows_at_;
  std::size_t bytes_;
  std::unique_ptr<std::byte, release> memory_;
  std::array<gpu::counting_job, slots> jobs_;
};

// Submits every chunk again as soon as it is completed, until all bytes of a run are counted.
class run_of_chunks {
 public:
  run_of_chunks(gpu::engine& engine, chunks& memory)
      : engine_(engine), remaining_(bytes_per_run / memory.jobs()[0].bytes.size()) {
    const std::scoped_lock lock(mutex_);
    for (gpu::counting_job& job : memory.jobs()) {
      job.on_complete = [this](gpu::counting_job& completed, std::exception_ptr error) {
        answered(completed, std::move(error));
      };
      if (remaining_ == 0) break;
      --remaining_;
      ++in_flight_;
    }
  }

  double seconds(chunks& memory) {
    const auto began = std::chrono::steady_clock::now();
    const std::size_t first = in_flight_;
    for (std::size_t i = 0; i < first; ++i) engine_.submit(memory.jobs()[i]);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return in_flight_ == 0; });
    if (error_) std::rethrow_exception(error_);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

 private:
  void answered(gpu::counting_job& job, std::exception_ptr error) {
    bool again = false;
    {
      const std::scoped_lock lock(mutex_);
      if (error && !error_) error_ = std::move(error);
      again = remaining_ > 0 && !error_;
      if (again) {
        --remaining_;
      } else if (--in_flight_ == 0) {
        ended_.notify_all();
      }
    }
    if (again) engine_.submit(job);
  }

  gpu::engine& engine_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint64_t remaining_;
  std::size_t in_flight_ = 0;
  std::exception_ptr error_;
};

void check_counts(chunks& memory) {
  for (const gpu::counting_job& job : memory.jobs()) {
    const std::uint64_t sum = std::accumulate(job.rows.begin(), job.rows.end(), std::uint64_t{0});
    if (sum != job.bytes.size()) throw std::runtime_error("a chunk of segments was counted wrongly");
  }
}

// GB/s, the median of some runs.
double rate(const std::string& engine, const gpu::partition& counted, std::uint32_t chunk_bytes,
            std::uint32_t segment) {
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  boost::asio::thread_pool pool(threads);
  chunks memory(chunk_bytes, segment, counted.classes);
  auto made = gpu::make_engine(
      engine, {.counted = counted,
               .run = [&pool](std::function<void()> task) { boost::asio::post(pool, std::move(task)); },
               .threads = threads,
               .max_chunk = chunk_bytes,
               .max_extents = max_segments,
               .max_copy = 8 * mib});
  made.taken->register_memory(memory.all(), nullptr);
  std::array<double, runs> rates{};
  for (double& each : rates) {
    each = static_cast<double>(bytes_per_run) / run_of_chunks(*made.taken, memory).seconds(memory) * 1e-9;
  }
  check_counts(memory);
  made.taken.reset();
  pool.join();
  std::ranges::sort(rates);
  return rates[runs / 2];
}

void measure_engine(const std::string& engine, std::uint32_t chunk_bytes) {
  std::printf("\n%s, chunks of at most %u KiB and %u segments\n%12s %10s %14s %14s\n", engine.c_str(),
              chunk_bytes / kib, max_segments, "segment", "chunk", "letters GB/s", "bytes GB/s");
  for (const std::uint32_t segment : segment_sizes) {
    if (segment > chunk_bytes) continue;
    const auto chunk =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_bytes, std::uint64_t{max_segments} * segment));
    std::printf("%12u %10u", segment, chunk);
    for (const gpu::partition& counted : {letters(), gpu::partition::identity()}) {
      std::printf(" %14.1f", rate(engine, counted, chunk, segment));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

}  // namespace

void measure_segments() {
  const bool device = gpu::forecast_engine("cuda", {.counted = letters(), .run = {}}).cuda;
  measure_engine("host", mib);
  if (device) measure_engine("cuda", 8 * mib);
}

}  // namespace gpuhist::bench
