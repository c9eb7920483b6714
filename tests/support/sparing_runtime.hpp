// A CUDA runtime that wraps another one and keeps failing_resource from counting the other's own memory and threads.
// For programs that are built with failing_resources.cpp.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <memory>

namespace gpuhist::test {

/// The runtimes of tests need memory and threads of their own. CUDA's calls do not throw for lack of these.
std::unique_ptr<gpu::cuda::runtime> make_sparing_runtime(std::unique_ptr<gpu::cuda::runtime> inner);

}  // namespace gpuhist::test
