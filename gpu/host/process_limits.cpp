#include "gpu/host/process_limits.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace gpuhist::gpu::host {
namespace fs = std::filesystem;
namespace {

using optional_number = std::optional<std::uint64_t>;

// Takes the first number of `text`, and the space after it.
optional_number take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return number;
}

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string text;
  std::getline(in, text);
  return text;
}

// No limit is "max" in version 2, and the largest multiple of the page size in version 1.
optional_number memory_limit_in(const std::string& file) {
  constexpr std::uint64_t no_limit = std::uint64_t{1} << 62U;
  const std::string line = first_line(file);
  std::string_view text = line;
  const optional_number bytes = take_number(text);
  return bytes && text.empty() && *bytes < no_limit ? bytes : std::nullopt;
}

// The quota and the period in microseconds; no limit is "max" in version 2, and -1 in version 1.
optional_number cores_in(const std::string& quota_and_period) {
  std::string_view text = quota_and_period;
  const optional_number quota = take_number(text);
  const optional_number period = take_number(text);
  if (!quota || !period || *period == 0) return std::nullopt;
  return std::max<std::uint64_t>(1, (*quota + *period - 1) / *period);
}

// Limits in the folder of one control group.
using limit_reader = std::function<optional_number(const std::string&)>;

struct controller {
  std::string name;
  limit_reader version_2;
  limit_reader version_1;
};

// The lowest limit of the group and of all groups above it. In a container some of these paths may not be mounted.
// Paths are joined as text: with GCC 12, libstdc++ frees memory twice if an allocation of path::operator/= fails.
void take_limits_of(const std::string& mount, std::string group, const limit_reader& read, optional_number& lowest) {
  while (group.starts_with("/..")) group.erase(0, 3);  // groups outside of the container
  for (;; group.erase(group.rfind('/'))) {
    const optional_number limit = read(mount + group);
    if (limit && (!lowest || *limit < *lowest)) lowest = limit;
    if (!group.starts_with('/')) break;
  }
}

bool holds(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    const std::size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == name) return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

optional_number lowest_limit(const fs::path& root, const controller& of) {
  const std::string mounts = root.native() + "/sys/fs/cgroup";
  optional_number lowest;
  std::ifstream groups(root.native() + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path", "4:memory,cpu:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (controllers.empty()) {
      take_limits_of(mounts, group, of.version_2, lowest);
      take_limits_of(mounts + "/unified", group, of.version_2, lowest);
    } else if (holds(controllers, of.name)) {
      take_limits_of(mounts + "/" + controllers, group, of.version_1, lowest);
      if (controllers != of.name) take_limits_of(mounts + "/" + of.name, group, of.version_1, lowest);
    }
  }
  return lowest;
}

unsigned scheduled_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return static_cast<unsigned>(CPU_COUNT(&cores));
  return std::max(1U, std::thread::hardware_concurrency());  // the machine has more cores than the set
}

}  // namespace

unsigned available_cores(const fs::path& root) {
  const controller processor{
      .name = "cpu",
      .version_2 = [](const std::string& group) { return cores_in(first_line(group + "/cpu.max")); },
      .version_1 =
          [](const std::string& group) {
            return cores_in(first_line(group + "/cpu.cfs_quota_us") + " " + first_line(group + "/cpu.cfs_period_us"));
          }};
  const unsigned scheduled = scheduled_cores();
  return static_cast<unsigned>(std::min<std::uint64_t>(scheduled, lowest_limit(root, processor).value_or(scheduled)));
}

optional_number cgroup_memory_limit(const fs::path& root) {
  return lowest_limit(
      root, {.name = "memory",
             .version_2 = [](const std::string& group) { return memory_limit_in(group + "/memory.max"); },
             .version_1 = [](const std::string& group) { return memory_limit_in(group + "/memory.limit_in_bytes"); }});
}

// "MemTotal:       24684084 kB"
optional_number available_memory(const fs::path& root) {
  constexpr std::string_view key = "MemTotal:";
  const std::string line = first_line(root.native() + "/proc/meminfo");
  if (!line.starts_with(key)) return std::nullopt;
  std::string_view text = line;
  text.remove_prefix(std::min(text.find_first_not_of(' ', key.size()), text.size()));
  const optional_number kib = take_number(text);
  if (!kib || text != "kB") return std::nullopt;
  return std::min(*kib << 10U, cgroup_memory_limit(root).value_or(std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace gpuhist::gpu::host
