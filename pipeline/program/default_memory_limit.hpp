// How much memory the process may take where nobody says it: --memory-limit by default.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gpuhist::pipeline {

/// The least memory limit of the control groups that this process is in, of version 2 (memory.max) and of version 1
/// (memory.limit_in_bytes), in bytes; nothing where there is none, or where it cannot be read. `root`: the directory
/// below which /proc/self/cgroup and /sys/fs/cgroup are looked for.
std::optional<std::uint64_t> cgroup_memory_limit(const std::filesystem::path& root = "/");

/// 1 GiB, or three quarters of the control group's limit where that is less, but no less than 64 MiB.
std::uint64_t default_memory_limit(const std::filesystem::path& root = "/");

}  // namespace gpuhist::pipeline
