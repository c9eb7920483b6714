#include "gpu/cuda/fused_runtime.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::gpu::cuda {
namespace {

// runtime_device.cu holds them against CUDA's names.
constexpr std::array<result, 9> of_the_call_alone{
    success,
    1,              // cudaErrorInvalidValue
    out_of_memory,  //
    9,              // cudaErrorInvalidConfiguration
    101,            // cudaErrorInvalidDevice
    400,            // cudaErrorInvalidResourceHandle
    701,            // cudaErrorLaunchOutOfResources
    712,            // cudaErrorHostMemoryAlreadyRegistered
    713             // cudaErrorHostMemoryNotRegistered
};

}  // namespace

bool leaves_the_device_well(result code) {
  return std::ranges::find(of_the_call_alone, code) != of_the_call_alone.end();
}

}  // namespace gpuhist::gpu::cuda
