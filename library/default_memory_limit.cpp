#include "library/default_memory_limit.hpp"

#include "gpu/host/process_limits.hpp"

#include <algorithm>
#include <optional>

namespace gpuhist::library {

std::uint64_t default_memory_limit(const std::filesystem::path& root) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
  constexpr std::uint64_t usual = 1024 * mib;
  constexpr std::uint64_t min_limit = 64 * mib;  // the buffers do not fit into less
  const std::optional<std::uint64_t> group = gpu::host::cgroup_memory_limit(root);
  if (!group) return usual;
  return std::clamp(*group / 4 * 3, min_limit, usual);
}

}  // namespace gpuhist::library
