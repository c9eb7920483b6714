// The CUDA engine: one device or several, the lanes of all of them pulling chunks from one queue, and the memory
// registered with them.
#pragma once

#include "gpu/cuda/device_lanes.hpp"
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

inline constexpr unsigned default_lanes = 3;  // a device
inline constexpr std::string_view kernel_name = "lane_private";

/// A chunk goes to whichever lane of whichever device is free first, so faster devices and wider links count more of
/// them. A device that fails answers the chunks it has with its error, which names it, and is not called any more; the
/// others go on. Once none is left, every job fails with the error of the last.
class cuda_engine final : public engine {
 public:
  /// Takes the devices of request.forecast where there is one, else chooses as the request says; all of them are made
  /// ready at the same time. Throws engine_error; lost_device where one of them failed so that it must not be called.
  cuda_engine(std::unique_ptr<runtime> api, const engine_request& request);
  ~cuda_engine() override;

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] const partition& row_partition() const override { return counted_; }
  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override;
  void submit(counting_job& job) override;
  [[nodiscard]] engine_stats stats() const override;
  [[nodiscard]] bool can_count() const override { return queue_.has_devices(); }

 private:
  struct registration {
    void* memory = nullptr;
    std::shared_ptr<const void> owner;
    bool is_locked = false;  // else only known here
  };

  void start_devices(const engine_request& request);
  void take_started(std::vector<std::future<std::unique_ptr<device_lanes>>> starting);
  [[nodiscard]] bool all_well() const;

  std::unique_ptr<runtime> api_;
  partition counted_;
  std::vector<cuda_device> devices_;
  std::vector<std::unique_ptr<fused_runtime>> fuses_;  // one a device, in their order
  job_queue queue_;
  std::vector<std::unique_ptr<device_lanes>> started_;  // likewise
  double startup_seconds_ = 0;
  mutable std::mutex registered_mutex_;
  std::vector<registration> registered_;
};

}  // namespace gpuhist::gpu::cuda
