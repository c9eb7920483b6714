// The instruction sets that SIMD kernels were compiled for and that this machine has.
#pragma once

#include <string>
#include <vector>

namespace gpuhist::gpu::host {

/// Highway's names, best first; the first is the one that kernels run with. "EMU128", "SCALAR": none of the machine's.
std::vector<std::string> simd_targets();

}  // namespace gpuhist::gpu::host
