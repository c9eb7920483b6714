// A CUDA runtime whose own memory and threads are spared by failing_resource, wrapped around another. Only for programs
// that failing_resources.cpp is part of.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <memory>

namespace gpuhist::test {

/// The runtimes of tests need memory and threads of their own, which CUDA's calls never fail for by an exception.
std::unique_ptr<gpu::cuda::runtime> make_sparing_runtime(std::unique_ptr<gpu::cuda::runtime> inner);

}  // namespace gpuhist::test
