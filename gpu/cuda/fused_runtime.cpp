#include "gpu/cuda/fused_runtime.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::gpu::cuda {
namespace {

// runtime_device.cu checks these numbers against the names of CUDA.
constexpr std::array<result, 9> errors_of_the_call{
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
  return std::ranges::find(errors_of_the_call, code) != errors_of_the_call.end();
}

}  // namespace gpuhist::gpu::cuda
