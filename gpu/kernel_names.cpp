#include "gpu/kernel_names.hpp"

#include "gpu/cuda/cuda_engine.hpp"
#include "gpu/host/kernel.hpp"

namespace gpuhist::gpu {

std::vector<std::string_view> host_kernel_names() {
  std::vector<std::string_view> names;
  for (const host::kernel& each : host::kernels()) names.push_back(each.name);
  return names;
}

std::vector<std::string_view> host_kernel_names_for(const partition& counted) {
  const host::prepared_partition prepared = host::prepare(counted);
  std::vector<std::string_view> names;
  for (const host::kernel& each : host::kernels()) {
    if (each.applies(prepared)) names.push_back(each.name);
  }
  return names;
}

std::vector<std::string_view> cuda_kernel_names() { return {cuda::kernel_name}; }

}  // namespace gpuhist::gpu
