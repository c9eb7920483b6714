// A lane: one host thread and one CUDA stream with two sets of device buffers, so that the next chunks are queued on
// the device while the ones before them are still worked on. Copies overlap the kernels of other lanes.
#pragma once

#include "gpu/cuda/batch.hpp"
#include "gpu/cuda/device_fault.hpp"
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

namespace gpuhist::gpu::cuda {

/// What the lanes of a device share. Outlives them.
struct lane_environment {
  runtime& api;              ///< the device's own: no call gets past it once the device has failed
  const partition& counted;  ///< what rows are folded to
  job_queue& queue;          ///< the engine's, of all its devices
  int device = 0;
  std::string label{};  ///< what errors call the device, "device 1 (NVIDIA H200)"
  int multiprocessors = 1;
  std::uint32_t max_chunk = 0;     ///< bytes of a job at the most
  std::uint32_t max_extents = 0;   ///< extents of a job at the most
  std::uint32_t max_copy = 0;      ///< bytes that cross at once, of one or several jobs; max_chunk or more
  std::uint32_t copy_extents = 0;  ///< extents that cross at once; max_extents or more
};

/// What the lanes of a device did, together, until it failed, if it did. Thread-safe.
struct lane_tallies {
  timeline times;
  std::atomic<std::uint64_t> jobs{0};
  std::atomic<std::uint64_t> bytes{0};
  device_fault fault;
};

/// The exception that is being handled, saying which device it is of, where there is memory for that. To be called in a
/// handler.
std::exception_ptr failure_of(const lane_environment& shared) noexcept;

class lane {
 public:
  /// Takes the device memory and makes stream and events; the device is current on the calling thread. `base` was
  /// reached. What the lane does is added to `done`. Throws engine_error.
  lane(lane_environment& shared, lane_tallies& done, const event& base);

  /// Starts the thread, which pulls jobs until the device fails, or the lane is destroyed and the queue is empty. Jobs
  /// that are with the device when it fails are answered with what it failed with. Throws std::system_error where no
  /// thread can be had.
  void start();

 private:
  // Where jobs are while the device has them. What is recorded when, on the lane's stream:
  //
  //     copy_begin | bytes, extents -> device | copy_end | rows = 0, kernel | kernel_end | rows -> host | counted
  struct buffers {
    batch jobs;
    device_memory bytes;
    device_memory extents;
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
  void finish(buffers& set) noexcept;
  static void answer(buffers& set, const std::exception_ptr& failure) noexcept;
  void record_times(buffers& set);
  [[nodiscard]] std::exception_ptr fault_of(const counting_job& job) const noexcept;
  std::exception_ptr try_enqueue(buffers& set) noexcept;
  std::exception_ptr lose_device(const std::exception_ptr& why) noexcept;
  void check_fits(const counting_job& job) const;
  void drain(buffers& set) noexcept;

  lane_environment& shared_;
  lane_tallies& done_;
  std::array<buffers, 2> sets_;
  stream stream_;
  event anchor_;               // what times are measured from ...
  double anchor_seconds_ = 0;  // ... and when that was, since the device's base event
  std::jthread thread_;        // last: it uses all of the above
};

}  // namespace gpuhist::gpu::cuda
