#include "gpu/cuda/kept_memory.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace gpuhist::gpu::cuda {

// Not even let go of by the destructors of statics, and reachable, so that no checker takes it for a leak.
void keep_for_good(std::shared_ptr<const void> owner) noexcept {
  static std::mutex mutex;
  static auto* const kept = std::make_unique<std::vector<std::shared_ptr<const void>>>().release();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(owner));
}

}  // namespace gpuhist::gpu::cuda
