// What `gpuhist devices` prints: the inventory of engines and devices, for people and for programs.
#pragma once

#include "gpu/inventory.hpp"
#include "pipeline/report/formats/report.hpp"

#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// The host kernels for a built-in scheme.
struct scheme_kernel {
  std::string scheme;
  std::string kernel;               ///< that would count it here: "ranges/AVX2"
  std::vector<std::string> able{};  ///< all that --kernel could name for it
};

struct devices_report {
  gpu::inventory found;
  std::vector<scheme_kernel> schemes;
  bool verbose = false;  ///< with what the shape of the kernel depends on, and all kernels of a scheme
};

/// Lines of a key and its value, wrapped at the width of the target.
std::string render_devices_table(const devices_report& what, const render_target& target);

/// One line, schema gpuhist.devices/1. What the system does not report is null. `auto_takes` names engines in the order
/// in which `auto` would turn to them.
std::string render_devices_json(const devices_report& what);

}  // namespace gpuhist::pipeline
