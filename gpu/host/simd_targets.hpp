// The instruction sets that SIMD kernels are compiled for and that this machine supports.
#pragma once

#include <string>
#include <vector>

namespace gpuhist::gpu::host {

/// Names of Highway, best first; kernels use the first. "EMU128" and "SCALAR" use no SIMD instructions.
std::vector<std::string> simd_targets();

}  // namespace gpuhist::gpu::host
