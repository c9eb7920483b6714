#include "gpu/host/simd_targets.hpp"

#include <hwy/highway.h>

namespace gpuhist::gpu::host {

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

}  // namespace gpuhist::gpu::host
