#include "gpu/cuda/kept_memory.hpp"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace gpuhist::gpu::cuda {

namespace {

// Never destroys its member.
union leaked {
  std::shared_ptr<const void> owner;

  explicit leaked(std::shared_ptr<const void> kept) : owner(std::move(kept)) {}
  leaked(const leaked&) = delete;
  leaked& operator=(const leaked&) = delete;
  ~leaked() {}  // NOLINT(modernize-use-equals-default): that would be deleted
};

void leak(std::shared_ptr<const void> owner) noexcept { const leaked never_released(std::move(owner)); }

}  // namespace

// No static destructor releases the memory. It stays reachable, so leak checkers do not report it.
void keep_for_good(std::shared_ptr<const void> owner) noexcept {
  static std::mutex mutex;
  static auto* const kept = new (std::nothrow) std::vector<std::shared_ptr<const void>>;
  if (kept == nullptr) return leak(std::move(owner));
  const std::lock_guard lock(mutex);
  try {
    kept->push_back(std::move(owner));
  } catch (...) {
    leak(std::move(owner));
  }
}

}  // namespace gpuhist::gpu::cuda
