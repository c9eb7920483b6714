// Host memory that a failed device may still access: it is kept until the process ends.
#pragma once

#include <memory>

namespace gpuhist::gpu::cuda {

/// Keeps the memory that `owner` owns until the process ends. For memory that could not be unregistered: a failed
/// device may still copy to it, so it must not be reused. Thread-safe. If no memory is left for a pointer, the memory
/// is leaked.
void keep_for_good(std::shared_ptr<const void> owner) noexcept;

}  // namespace gpuhist::gpu::cuda
