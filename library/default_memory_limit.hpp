// The default of --memory-limit.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gpuhist::library {

/// 1 GiB, or three quarters of the control group's limit if that is less; at least 64 MiB. `root`: as that of
/// cgroup_memory_limit().
std::uint64_t default_memory_limit(const std::filesystem::path& root = "/");

}  // namespace gpuhist::library
