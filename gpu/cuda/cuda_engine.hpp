// The CUDA engine: one device, several lanes pulling chunks from one queue, and the memory registered with the device.
#pragma once

#include "gpu/cuda/lane.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/engine.hpp"
#include "gpu/engines.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {

inline constexpr unsigned default_lanes = 3;

/// A usable device, or why there is none.
struct device_choice {
  std::optional<int> device;
  device_properties properties;
  std::string why;  ///< one clause: "NVIDIA H200, 132 multiprocessors", "no CUDA device: cudaErrorNoDevice: ..."
};

/// The first device of compute capability 7.5 or more. Throws nothing: what the runtime says is in `why`.
device_choice choose_device(runtime& api);

class cuda_engine final : public engine {
 public:
  /// Takes the first usable device, and on it, for each lane, twice the memory of the largest chunk, its extents and
  /// rows. Throws engine_error.
  cuda_engine(std::unique_ptr<runtime> api, const engine_request& request);
  ~cuda_engine() override;

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] const partition& row_partition() const override { return identity_; }
  void register_memory(std::span<std::byte> memory) override;
  void submit(counting_job& job) override;
  [[nodiscard]] engine_stats stats() const override;

 private:
  void start_lanes(unsigned count);

  std::unique_ptr<runtime> api_;
  partition identity_ = partition::identity();
  device_properties properties_;
  std::unique_ptr<lane_environment> shared_;
  std::vector<std::unique_ptr<lane>> lanes_;
  double startup_seconds_ = 0;
  std::mutex registered_mutex_;
  std::vector<void*> registered_;
};

}  // namespace gpuhist::gpu::cuda
