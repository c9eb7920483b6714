// The CUDA engine: one or several devices, whose lanes take chunks from one queue, and the memory that is registered
// with the devices.
#pragma once

#include "gpu/cuda/device_lanes.hpp"
#include "gpu/cuda/frames/frame_lanes.hpp"
#include "gpu/cuda/fused_runtime.hpp"
#include "gpu/cuda/job_queue.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/engine.hpp"
#include "gpu/engines.hpp"

#include <future>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace gpuhist::gpu::cuda {

inline constexpr unsigned default_lanes = 3;  // per device
inline constexpr std::string_view kernel_name = "lane_private";

/// The first free lane of any device takes the next chunk, so a faster device or link counts more chunks. If a device
/// fails, its chunks fail with an error that names the device, and the device is not called again; the other devices
/// continue. Once all devices have failed, every job fails with the error of the last one.
class cuda_engine final : public engine {
 public:
  /// Uses the devices of request.forecast if it is set, otherwise chooses devices by the request. All devices are
  /// initialized at the same time. Throws engine_error; lost_device if a device failed and must not be called again.
  cuda_engine(std::unique_ptr<runtime> api, const engine_request& request);
  ~cuda_engine() override;

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] const row_layout& layout() const override { return layout_; }
  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override;
  void submit(counting_job& job) override;
  [[nodiscard]] frame_decoder* decoder() override;
  [[nodiscard]] engine_stats stats() const override;
  [[nodiscard]] bool can_count() const override { return queue_.has_devices(); }

 private:
  struct registration {
    void* memory = nullptr;
    std::shared_ptr<const void> owner;
    bool is_locked = false;  // false: only recorded here
  };

  void start_devices(const engine_request& request);
  void take_started(std::vector<std::future<std::unique_ptr<device_lanes>>> starting);
  [[nodiscard]] bool are_all_usable() const;

  std::unique_ptr<runtime> api_;
  row_layout layout_;
  std::vector<cuda_device> devices_;
  std::vector<std::unique_ptr<fused_runtime>> fuses_;  // one per device, in the order of devices_
  job_queue queue_;
  std::vector<std::unique_ptr<device_lanes>> started_;  // in the order of devices_
  std::uint64_t decoder_memory_;                        // bytes; 0: half of each device
  mutable std::mutex decoder_mutex_;
  std::unique_ptr<frames::frame_lanes> decoder_;  // null: not made yet
  double startup_seconds_ = 0;
  mutable std::mutex registered_mutex_;
  std::vector<registration> registered_;
};

}  // namespace gpuhist::gpu::cuda
