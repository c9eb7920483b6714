// What the system says of this process: the memory it took, what it had read from disks.
#pragma once

#include <cstdint>

namespace gpuhist::pipeline {

/// Bytes resident at the most, of this program alone (VmHWM: what getrusage says is also that of the process this one
/// was before its exec); 0 where /proc does not say.
std::uint64_t peak_resident_bytes();

/// Bytes that were read from a disk (or from a network file system that counts) on behalf of this process.
std::uint64_t disk_bytes_read();

}  // namespace gpuhist::pipeline
