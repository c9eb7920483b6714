#include "library/default_memory_limit.hpp"

#include "gpu/host/process_limits.hpp"

#include <algorithm>
#include <optional>

namespace gpuhist::library {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

}  // namespace

std::uint64_t default_memory_limit(const std::filesystem::path& root) {
  constexpr std::uint64_t usual = 1024 * mib;
  constexpr std::uint64_t min_limit = 64 * mib;  // the buffers do not fit into less
  const std::optional<std::uint64_t> group = gpu::host::cgroup_memory_limit(root);
  if (!group) return usual;
  return std::clamp(*group / 4 * 3, min_limit, usual);
}

std::uint64_t memory_limit_of(const counting_options& options) {
  return options.memory_limit > 0 ? options.memory_limit : default_memory_limit();
}

// docs/tuning.md, "Archives that a device decodes": with 1 GiB for the whole process, devices decode half as much.
std::uint64_t default_device_memory(const std::filesystem::path& root) {
  constexpr std::uint64_t share = 16;
  constexpr std::uint64_t most = 3584 * mib;
  return std::min(gpu::host::available_memory(root).value_or(0) / share, most);
}

}  // namespace gpuhist::library
