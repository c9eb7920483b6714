// The output of `gpuhist devices`: the inventory of engines and devices, for people and for programs.
#pragma once

#include "gpu/inventory.hpp"
#include "report/formats/report.hpp"

#include <string>
#include <vector>

namespace gpuhist::report {

/// The host kernels for a built-in scheme.
struct scheme_kernel {
  std::string scheme;
  std::string kernel;               ///< the one that is used on this machine: "ranges/AVX2"
  std::vector<std::string> able{};  ///< all kernels that --kernel may name for the scheme
};

struct devices_report {
  gpu::inventory found;
  std::vector<scheme_kernel> schemes;
  bool verbose = false;  ///< adds the properties that the tuning depends on, and all kernels of a scheme
};

/// Lines of a key and its value, wrapped at the width of the target.
std::string render_devices_table(const devices_report& listed, const render_target& target);

/// One line, schema gpuhist.devices/1. Properties that the system does not report are null. `auto_takes` names engines
/// in the order in which `auto` uses them.
std::string render_devices_json(const devices_report& listed);

}  // namespace gpuhist::report
