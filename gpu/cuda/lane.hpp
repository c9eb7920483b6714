// A lane: one host thread and one CUDA stream with two sets of device buffers, so that the next chunks are queued on
// the device while the previous ones are in flight. Copies overlap the kernels of other lanes.
#pragma once

#include "gpu/cuda/batch.hpp"
#include "gpu/cuda/handles.hpp"
#include "gpu/cuda/job_queue.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/timeline.hpp"
#include "gpu/engine.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist::gpu::cuda {

/// State that the lanes of a device share. Outlives them.
struct lane_environment {
  runtime& api;              ///< of this device only; makes no calls after the device has failed
  const row_layout& layout;  ///< of the rows of jobs
  job_queue& queue;          ///< shared by all devices of the engine
  int device = 0;
  std::string label{};  ///< the name of the device in error messages, "device 1 (NVIDIA H200)"
  int multiprocessors = 1;
  std::uint32_t max_chunk = 0;     ///< maximum bytes of a job
  std::uint32_t max_extents = 0;   ///< maximum extents of a job
  std::uint32_t max_copy = 0;      ///< maximum bytes of a copy, which holds one or several jobs; at least max_chunk
  std::uint32_t copy_extents = 0;  ///< maximum extents of a copy; at least max_extents
};

/// Sums over the lanes of a device, and the error if the device failed. Thread-safe.
struct lane_tallies {
  timeline times;
  std::atomic<std::uint64_t> jobs{0};
  std::atomic<std::uint64_t> bytes{0};
  device_fault fault;
};

/// The exception that is being handled, with the name of the device in its message if there is memory for that. Call it
/// in a handler.
std::exception_ptr failure_of(const lane_environment& shared) noexcept;

class lane {
 public:
  /// Allocates device memory, a stream and events; the device is current on the calling thread. Times are measured from
  /// `base`, which has been reached. Counts and times are added to `tallies`. Throws engine_error.
  lane(lane_environment& shared, lane_tallies& tallies, const event& base);

  /// Starts the thread. It takes jobs until the device fails, or until the lane is destroyed and the queue is empty.
  /// Jobs in flight on a device that fails are completed with its error. Throws std::system_error if no thread can be
  /// started.
  void start();

 private:
  // The buffers of the jobs in flight. Work and events in the order of the stream:
  //
  //     copy_begin | bytes, extents -> device | copy_end | rows = 0, kernel | kernel_end | rows -> host | counted
  struct buffers {
    batch jobs;
    device_memory bytes;
    device_memory extents;
    std::vector<device_copy> copies;     // of `bytes` and `extents`
    std::vector<extent> copied_extents;  // few, which are in `extents`; empty: others are
    device_memory rows;
    event copy_begin;
    event copy_end;
    event kernel_end;
    event counted;

    explicit buffers(const lane_environment& shared);
  };

  void run(const std::stop_token& stop) noexcept;
  void fill(buffers& set, counting_job* first) noexcept;
  void add(buffers& set, counting_job& job) noexcept;
  void begin(buffers& set) noexcept;
  void enqueue(buffers& set);
  void copy_to_device(buffers& set);
  static void add_extents(buffers& set);
  void count_pairs(const buffers& set, const kernel_launch& counts);
  void finish(buffers& set) noexcept;
  static void complete(buffers& set, const std::exception_ptr& failure) noexcept;
  void record_times(buffers& set);
  [[nodiscard]] std::exception_ptr error_in(const counting_job& job) const noexcept;
  std::exception_ptr try_enqueue(buffers& set) noexcept;
  std::exception_ptr lose_device(const std::exception_ptr& why) noexcept;
  void check_fits(const counting_job& job) const;
  void drain(buffers& set) noexcept;

  lane_environment& shared_;
  lane_tallies& tallies_;
  std::array<buffers, 2> sets_;
  stream stream_;
  event anchor_;               // times are measured from this event
  double anchor_seconds_ = 0;  // time of anchor_ since the base event of the device
  std::jthread thread_;        // last: it uses all of the above
};

}  // namespace gpuhist::gpu::cuda
