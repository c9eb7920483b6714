// The zstd decoder of a CUDA engine: lanes of all devices, which take groups of frames from one queue. While one lane
// copies, another decodes.
#pragma once

#include "gpu/cuda/frames/frame_batch.hpp"
#include "gpu/cuda/frames/stepped_frame.hpp"
#include "gpu/cuda/handles.hpp"
#include "gpu/cuda/job_queue.hpp"
#include "gpu/frame_decoder.hpp"

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist::gpu::cuda::frames {

/// A device that frames are decoded on.
struct frame_device {
  runtime& api;  ///< of this device only; makes no calls after the device has failed
  int number = 0;
  std::string label{};  ///< the name in error messages
  int multiprocessors = 1;
};

/// Sums over all lanes. Thread-safe.
struct frame_tallies {
  std::atomic<std::uint64_t> groups{0};
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> compressed_bytes{0};
  std::atomic<std::uint64_t> text_bytes{0};
  std::atomic<std::uint64_t> rejected_groups{0};
  std::atomic<std::uint64_t> busy_nanoseconds{0};
};

/// One host thread and one CUDA stream with memory for one batch.
class frame_lane {
 public:
  /// The device is current on the calling thread. Throws engine_error.
  frame_lane(const frame_device& device, const frame_decoder::limits& limits, const partition& counted,
             frame_queue& queue, frame_tallies& tallies, device_fault& fault);

  /// Starts the thread, which takes jobs until the device fails or the lane is destroyed. Throws std::system_error.
  void start();

 private:
  void run(const std::stop_token& stop) noexcept;
  void fill(frame_job* first) noexcept;
  [[nodiscard]] std::exception_ptr decode() noexcept;
  [[nodiscard]] std::exception_ptr copy_rows() noexcept;
  [[nodiscard]] std::exception_ptr await_device() noexcept;
  template <class Work>
  [[nodiscard]] std::exception_ptr attempt(Work work) noexcept;
  void drain() noexcept;
  std::exception_ptr lose_device(const std::exception_ptr& why) noexcept;
  void complete(std::size_t end, const std::exception_ptr& failure) noexcept;
  void add_to_tallies(const frame_job& done) noexcept;

  const frame_device device_;
  const partition& counted_;
  frame_queue& queue_;
  frame_tallies& tallies_;
  device_fault& fault_;
  frame_batch batch_;  // before the stream, whose work uses it
  stepped_frame steps_;
  std::size_t completed_ = 0;  // jobs of the batch, which must not be used any more
  stream stream_;
  event done_;
  std::jthread thread_;  // last: it uses all of the above
};

class frame_lanes final : public frame_decoder {
 public:
  /// `memory`: bytes on each device; 0: half of the smallest device, at most 70 GiB. If less is free, the batches are
  /// smaller. Throws engine_error; memory_shortage if a device lacks memory even for small ones.
  frame_lanes(std::span<const frame_device> devices, std::uint64_t memory, const partition& counted);
  ~frame_lanes() override;

  [[nodiscard]] limits max_job() const override { return limits_; }
  void submit(frame_job& job) override { queue_.push(job); }
  [[nodiscard]] frame_decoder_stats stats() const override;

 private:
  struct started_device {
    frame_device device;
    device_fault fault;
    std::vector<std::unique_ptr<frame_lane>> lanes;
  };

  void make_all_lanes(std::uint64_t memory);
  void make_lanes(started_device& on);
  void release_lanes() noexcept;

  unsigned lanes_of_device_ = 0;
  limits limits_;
  const partition counted_;
  frame_queue queue_;
  frame_tallies tallies_;
  std::vector<std::unique_ptr<started_device>> devices_;
};

}  // namespace gpuhist::gpu::cuda::frames
