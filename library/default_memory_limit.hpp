// The default of --memory-limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gpuhist::library {

/// The lowest memory limit, in bytes, of the control groups of this process: memory.max of version 2 and
/// memory.limit_in_bytes of version 1. Nothing if there is no limit or it cannot be read. `root`: the directory that
/// contains /proc/self/cgroup and /sys/fs/cgroup.
std::optional<std::uint64_t> cgroup_memory_limit(const std::filesystem::path& root = "/");

/// 1 GiB, or three quarters of the control group's limit if that is less; at least 64 MiB.
std::uint64_t default_memory_limit(const std::filesystem::path& root = "/");

}  // namespace gpuhist::library
