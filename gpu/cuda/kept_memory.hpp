// Host memory that a device may still touch and that nobody can ask it about: kept until the process ends.
#pragma once

#include <memory>

namespace gpuhist::gpu::cuda {

/// Never lets go of what `owner` owns. For memory that could not be unregistered: a device that failed may have copies
/// under way to it, so it must not come to hold anything else. Thread-safe. Without memory for a pointer it
/// is leaked.
void keep_for_good(std::shared_ptr<const void> owner) noexcept;

}  // namespace gpuhist::gpu::cuda
