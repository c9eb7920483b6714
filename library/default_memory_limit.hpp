// The default of --memory-limit.
#pragma once

#include <gpuhist/options.hpp>

#include <cstdint>
#include <filesystem>

namespace gpuhist::library {

/// 1 GiB, or three quarters of the control group's limit if that is less; at least 64 MiB. `root`: as that of
/// cgroup_memory_limit().
std::uint64_t default_memory_limit(const std::filesystem::path& root = "/");

/// The limit of the options, or the default.
std::uint64_t memory_limit_of(const counting_options& options);

/// In addition, for compressed bytes on their way to devices, if no limit is given: a 16th of the memory of the machine
/// or of the control group, at most 3.5 GiB. `root`: as above.
std::uint64_t default_device_memory(const std::filesystem::path& root = "/");

}  // namespace gpuhist::library
