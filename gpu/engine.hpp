// The contract of everything that counts: (bytes, extents) -> rows of 32-bit counters, one row an extent.
// CUDA lanes and host kernels stand behind the same interface and give the same rows to the last digit.
#pragma once

#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::gpu {

/// A stretch of a chunk that gets a row of its own: bytes [begin, end). Extents of a job are sorted and disjoint;
/// bytes between them are gaps, counted by nobody. Empty extents are allowed and give a row of zeros.
struct extent {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] std::uint32_t size() const { return end - begin; }
  bool operator==(const extent&) const = default;
};

/// One chunk to count. The submitter owns the memory behind the spans and keeps it valid and unchanged from submit()
/// until `done` was called. For CUDA all three lie in memory given to engine::register_memory.
struct counting_job {
  std::span<const std::byte> bytes;  ///< the chunk, under 4 GiB
  std::span<const extent> extents;   ///< offsets into `bytes`
  std::span<std::uint32_t> rows;     ///< extents.size() x row_partition().classes counters, row-major; written whole

  /// A hint: all cores are at work, and the bytes are still in the cache of the one that submits them. What
  /// engine::counts_here() then counts it within submit().
  bool count_here = false;

  /// Called exactly once for every submitted job, on a thread of the engine, of its executor or of submit(), with
  /// nothing where the rows are written, or with what went wrong, in which case the rows mean nothing. Must not throw.
  std::function<void(counting_job&, std::exception_ptr)> done;
};

/// What the copies and kernels of a device did, by the device's own clock. Devices have no clock in common, so that of
/// several is the sum of each one's: two devices that copied all through a second have copied for two seconds of two.
struct device_timeline {
  double span_seconds = 0;         ///< from the start of the first copy to the end of the last
  double copy_busy_seconds = 0;    ///< of it, with at least one copy in flight
  double kernel_busy_seconds = 0;  ///< of it, with at least one kernel running
  double overlap_seconds = 0;      ///< of it, with both
  unsigned devices = 1;            ///< of how many devices the above are sums
};

/// What an engine tells about itself after (or during) a run.
struct engine_stats {
  std::string kernel;          ///< the strategy or SIMD target that ran, e.g. "lane_private", "ranges/AVX3"
  std::string device;          ///< the device's name, or "2 x NVIDIA H200"; empty for the host
  unsigned workers = 0;        ///< lanes of all devices, or threads of the executor
  double startup_seconds = 0;  ///< from the first call of a device's runtime to readiness
  std::uint64_t jobs = 0;
  std::uint64_t bytes = 0;
  double busy_seconds = 0;                  ///< counting, summed over workers (CUDA: kernel time)
  std::optional<device_timeline> timeline;  ///< CUDA only
  std::string note{};                       ///< who counted and why, and what memory did not suffice for, in clauses
  std::string warning{};                    ///< what people must know: a device that failed, and what was done about it
  std::uint64_t device_bytes = 0;           ///< of `bytes`, counted on devices
  bool still_waking = false;                ///< a device is being made ready that is not needed any more
  bool device_lost =
      false;  ///< a device failed so that it must not be called any more, at the end of the process either
};

/// Something that counts chunks. All members but the destructor may be called from any thread.
class engine {
 public:
  engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Every submitted job has been answered before this is called.
  virtual ~engine() = default;

  /// "host" or "cuda".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// What the columns of a row mean: the requested partition. (A device counts all 256 values; its engine folds them.)
  [[nodiscard]] virtual const partition& row_partition() const = 0;

  /// Makes memory that jobs will lie in known to the device (page-locks it). Called before the first submit. `owner` is
  /// kept for as long as a device may know the memory; null where the memory outlives the engine anyway. Does nothing
  /// on the host. Throws engine_error; memory_shortage where less of it might do.
  virtual void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) = 0;

  /// Takes a job. Either throws, and has not taken it: `done` is not called. Or takes it, and `done` is called exactly
  /// once with what comes of it, within this call where the job is counted here or nothing is left that counts. Does
  /// not wait for other jobs.
  virtual void submit(counting_job& job) = 0;

  /// Whether jobs that ask for it (counting_job::count_here) are counted within submit() at present. Small chunks are
  /// best then, for they stay in a cache, else large ones, for fewer are handed over. Thread-safe.
  [[nodiscard]] virtual bool counts_here() const { return false; }

  [[nodiscard]] virtual engine_stats stats() const = 0;

  /// Whether anything is left that counts: false once all of its devices have failed. Thread-safe.
  [[nodiscard]] virtual bool can_count() const { return true; }
};

}  // namespace gpuhist::gpu
