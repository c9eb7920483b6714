// The interface of every engine: (bytes, extents) -> rows of 32-bit counters, one row per extent. All engines give the
// same rows for the same bytes.
#pragma once

#include "gpu/frame_decoder.hpp"
#include "gpu/row_layout.hpp"

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

/// The bytes [begin, end) of a chunk; each extent has a row of its own. Extents of a job are sorted and disjoint. Bytes
/// between them are gaps, which no engine counts. An empty extent gives a row of zeros.
struct extent {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] std::uint32_t size() const { return end - begin; }
  bool operator==(const extent&) const = default;
};

/// One chunk to count. The submitter owns the memory of the spans and keeps it valid and unchanged from submit() until
/// `on_complete` is called. For CUDA, all three spans lie in memory that was passed to engine::register_memory.
struct counting_job {
  std::span<const std::byte> bytes;  ///< the chunk, under 4 GiB
  std::span<const extent> extents;   ///< offsets into `bytes`
  std::span<std::uint32_t> rows;     ///< extents.size() x layout().columns(), row-major; all are written

  /// A hint: all cores are busy, and the bytes are still in the cache of the submitting thread. If
  /// engine::counts_here(), submit() counts such a job before it returns.
  bool count_here = false;

  /// `bytes` are outside the registered memory. submit() counts such a job before it returns. Precondition:
  /// engine::counts_lent_bytes().
  bool bytes_are_lent = false;

  /// Called exactly once for every submitted job: on a thread of the engine, on a thread of its executor, or within
  /// submit(). The exception is null if the rows were written; otherwise it is the error, and the rows are undefined.
  /// Must not throw.
  std::function<void(counting_job&, std::exception_ptr)> on_complete;
};

/// Times of the copies and kernels of a device, by the clock of the device. Devices have no common clock, so the times
/// of several devices are added: two devices that copy during one whole second have a span of two seconds and two
/// seconds of copies.
struct device_timeline {
  double span_seconds = 0;         ///< from the start of the first copy to the end of the last
  double copy_busy_seconds = 0;    ///< part of the span with at least one copy in flight
  double kernel_busy_seconds = 0;  ///< part of the span with at least one kernel running
  double overlap_seconds = 0;      ///< part of the span with both
  unsigned devices = 1;            ///< number of devices that the times are summed over
};

/// Statistics of an engine, after or during a run.
struct engine_stats {
  std::string kernel;          ///< the strategy or SIMD target that ran, e.g. "lane_private", "ranges/AVX3"
  std::string device;          ///< the device's name, or "2 x NVIDIA H200"; empty for the host
  unsigned workers = 0;        ///< lanes of all devices, or threads of the executor
  double startup_seconds = 0;  ///< from the first call of a device's runtime to readiness
  std::uint64_t jobs = 0;
  std::uint64_t bytes = 0;
  double busy_seconds = 0;                  ///< counting, summed over workers (CUDA: kernel time)
  std::optional<device_timeline> timeline;  ///< CUDA only
  std::string note{};              ///< which engine counted and why, and what was reduced for lack of memory; clauses
  std::string warning{};           ///< for the user: a device that failed, and how its chunks were counted
  std::uint64_t device_bytes = 0;  ///< part of `bytes` that devices counted
  frame_decoder_stats decoded{};   ///< on devices
  bool still_waking = false;       ///< a device is still being initialized although it is not needed
  bool device_lost = false;        ///< a device failed and must not be called again, not even at the end of the process
};

/// Counts chunks. All members except the destructor may be called from any thread.
class engine {
 public:
  engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Precondition: every submitted job is completed.
  virtual ~engine() = default;

  /// "host" or "cuda".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// The columns of a row: the requested ones. (A device counts all 256 values; its engine folds them.)
  [[nodiscard]] virtual const row_layout& layout() const = 0;

  /// Page-locks memory for the device; jobs lie in it. Thread-safe. The engine keeps `owner` while a device may access
  /// the memory; null if the memory outlives the engine. Does nothing on the host. Throws engine_error; memory_shortage
  /// if a smaller amount may succeed.
  virtual void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) = 0;

  /// Accepts a job. If it throws, the job is not accepted and `on_complete` is not called. Otherwise `on_complete` is
  /// called exactly once; within this call if the job is counted here or all devices have failed. Does not wait for
  /// other jobs.
  virtual void submit(counting_job& job) = 0;

  /// Whether submit() counts jobs with counting_job::count_here itself at present. If so, small chunks are best: they
  /// stay in a cache. Otherwise large chunks are best: fewer are passed between threads. Thread-safe.
  [[nodiscard]] virtual bool counts_here() const { return false; }

  /// Whether a device is being made ready in the background, which uses time of the cores. Thread-safe.
  [[nodiscard]] virtual bool is_waking() const { return false; }

  /// Whether submit() accepts jobs whose bytes are outside the registered memory, and counts them itself. Constant.
  [[nodiscard]] virtual bool counts_lent_bytes() const { return false; }

  /// What decodes frames on the devices of the engine; owned by the engine, which makes it at the first call. Null: it
  /// has no device, or pairs are counted. Throws engine_error; memory_shortage if the devices lack memory for it.
  /// Thread-safe.
  [[nodiscard]] virtual frame_decoder* decoder() { return nullptr; }

  /// Whether a device that must be woken first, or is awake, decodes one frame of so much text sooner than the host.
  /// True: it is awake or being woken; `then` will be called once, when no device is waking, here or on another thread.
  /// It must not throw. Thread-safe. Throws std::bad_alloc.
  [[nodiscard]] virtual bool await_decoder(std::uint64_t text_of_frame, const std::function<void()>& then);

  [[nodiscard]] virtual engine_stats stats() const = 0;

  /// Whether the engine can still count: false once all of its devices have failed. Thread-safe.
  [[nodiscard]] virtual bool can_count() const { return true; }
};

inline bool engine::await_decoder(std::uint64_t, const std::function<void()>&) { return false; }

}  // namespace gpuhist::gpu
