// Enumerates CUDA devices, checks whether each is usable, and chooses those that an engine uses. Nothing here creates a
// context: a device that is only enumerated is not woken and loses no memory.
#pragma once

#include "gpu/cuda/runtime.hpp"
#include "gpu/engines.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {

/// A device with its number in the CUDA runtime.
struct found_device {
  int number = 0;
  device_properties properties;
  std::string unusable;  ///< why it cannot be used; empty if it can
};

struct found_devices {
  std::vector<found_device> all;
  std::string none;  ///< why `all` is empty: "no CUDA device: cudaErrorNoDevice: ... (cudaGetDeviceCount)"
};

/// Errors of the runtime are not thrown: they are in the result.
found_devices find_devices(runtime& api);

struct device_choice {
  std::vector<cuda_device> taken;  ///< empty: none is usable
  std::string why;  ///< one clause: "NVIDIA H200, 132 multiprocessors", "2 x NVIDIA H200", or what is missing
};

/// Chooses request.devices, or all usable devices if request.all_devices, otherwise the first usable device. Throws
/// engine_error for a number that does not exist or is unusable; the message lists the existing devices.
device_choice choose_devices(const found_devices& found, const engine_request& request);

/// Whether gpuhist was built with CUDA and a driver is loaded. Costs a few system calls; a query of CUDA takes tenths
/// of a second.
bool may_have_devices();

/// Why may_have_devices() is false, in one clause.
std::string why_no_devices();

/// "NVIDIA H200", "2 x NVIDIA H200", "NVIDIA H200, 2 x NVIDIA A100".
std::string names_of(std::span<const cuda_device> devices);

}  // namespace gpuhist::gpu::cuda
