// Which CUDA devices there are, whether each can be used, and which of them an engine takes. Nothing here makes a
// context: a device that is only looked at keeps its memory and its sleep.
#pragma once

#include "gpu/cuda/runtime.hpp"
#include "gpu/engines.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {

/// A device as the runtime numbers it.
struct found_device {
  int number = 0;
  device_properties properties;
  std::string unusable;  ///< why it cannot be used; empty where it can
};

struct found_devices {
  std::vector<found_device> all;
  std::string none;  ///< why `all` is empty: "no CUDA device: cudaErrorNoDevice: ... (cudaGetDeviceCount)"
};

/// Throws nothing of the runtime's: what it says is in the values.
found_devices find_devices(runtime& api);

struct device_choice {
  std::vector<cuda_device> taken;  ///< empty: none is usable
  std::string why;  ///< one clause: "NVIDIA H200, 132 multiprocessors", "2 x NVIDIA H200", what is missing
};

/// request.devices, or all usable ones where request.all_devices, else the first usable one. Throws engine_error for a
/// number that does not exist or is unusable, saying what there is.
device_choice choose_devices(const found_devices& found, const engine_request& request);

/// Whether it is worth looking for devices: gpuhist was built with CUDA and a driver is loaded. Costs a system call,
/// where asking CUDA costs tenths of a second.
bool may_have_devices();

/// Why not, in one clause.
std::string why_no_devices();

/// "NVIDIA H200", "2 x NVIDIA H200", "NVIDIA H200, 2 x NVIDIA A100".
std::string names_of(std::span<const cuda_device> devices);

}  // namespace gpuhist::gpu::cuda
