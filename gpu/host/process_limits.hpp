// What the system permits this process to use of the machine. A batch system or a container gives a process some of the
// cores and some of the memory; std::thread::hardware_concurrency() counts those of the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gpuhist::gpu::host {

/// The cores that this process may use: those that it may be scheduled on (sched_setaffinity, cpuset), or fewer if the
/// control groups of the process limit its processor time (cpu.max of version 2, cpu.cfs_quota_us of version 1); parts
/// of a core count as one. At least 1. `root`: the directory that contains /proc/self/cgroup and /sys/fs/cgroup.
unsigned available_cores(const std::filesystem::path& root = "/");

/// The lowest memory limit, in bytes, of the control groups of this process: memory.max of version 2 and
/// memory.limit_in_bytes of version 1. Nothing if there is no limit or it cannot be read. `root`: as above.
std::optional<std::uint64_t> cgroup_memory_limit(const std::filesystem::path& root = "/");

/// The memory of the machine in bytes, or the limit above if that is less. Nothing if /proc/meminfo does not state it.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace gpuhist::gpu::host
