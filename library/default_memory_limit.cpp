#include "library/default_memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace gpuhist::library {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// No limit is "max" in version 2, and the largest multiple of the page size in version 1.
std::optional<std::uint64_t> limit_in(const std::string& file) {
  constexpr std::uint64_t no_limit = std::uint64_t{1} << 62U;
  std::ifstream in(file);
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  std::uint64_t bytes = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc{} || rest != text.data() + text.size() || bytes >= no_limit) return std::nullopt;
  return bytes;
}

void take_lower(std::optional<std::uint64_t>& lowest, std::optional<std::uint64_t> other) {
  if (other && (!lowest || *other < *lowest)) lowest = other;
}

// Takes the limits of the group and of all groups above it. In a container some of these paths may not be mounted.
// Paths are joined as text: with GCC 12, libstdc++ frees memory twice if an allocation of path::operator/= fails.
void take_limits_of(const std::string& mount, std::string group, const char* file,
                    std::optional<std::uint64_t>& lowest) {
  while (group.starts_with("/..")) group.erase(0, 3);  // groups outside of the container
  for (;; group.erase(group.rfind('/'))) {
    take_lower(lowest, limit_in(mount + group + "/" + file));
    if (!group.starts_with('/')) break;
  }
}

bool names_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "memory") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> cgroup_memory_limit(const fs::path& root) {
  const std::string mounts = root.native() + "/sys/fs/cgroup";
  std::optional<std::uint64_t> lowest;
  std::ifstream groups(root.native() + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path", "4:memory,cpu:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (controllers.empty()) {
      take_limits_of(mounts, group, "memory.max", lowest);
      take_limits_of(mounts + "/unified", group, "memory.max", lowest);
    } else if (names_memory(controllers)) {
      take_limits_of(mounts + "/memory", group, "memory.limit_in_bytes", lowest);
    }
  }
  return lowest;
}

std::uint64_t default_memory_limit(const fs::path& root) {
  constexpr std::uint64_t usual = 1024 * mib;
  constexpr std::uint64_t min_limit = 64 * mib;  // the buffers do not fit into less
  const std::optional<std::uint64_t> group = cgroup_memory_limit(root);
  if (!group) return usual;
  return std::clamp(*group / 4 * 3, min_limit, usual);
}

}  // namespace gpuhist::library
