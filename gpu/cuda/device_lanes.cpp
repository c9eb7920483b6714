#include "gpu/cuda/device_lanes.hpp"

#include "gpu/cuda/error.hpp"
#include "gpu/cuda/handles.hpp"

#include <utility>

namespace gpuhist::gpu::cuda {

device_lanes::device_lanes(lane_environment shared, unsigned lanes) : shared_(std::move(shared)) {
  runtime& api = shared_.api;
  check(api, api.use_device(shared_.device), "choosing the device (cudaSetDevice)");
  const stream first(api);
  event base(api);
  base.record(first);
  base.wait();
  for (unsigned i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<lane>(shared_, done_, base));
  for (const auto& each : lanes_) each->start();
}

// Without a choice, what is given back on a fresh thread would wake device 0, which may be none of ours.
device_lanes::~device_lanes() {
  static_cast<void>(shared_.api.use_device(shared_.device));
  lanes_.clear();
}

}  // namespace gpuhist::gpu::cuda
