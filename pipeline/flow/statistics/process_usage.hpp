// Memory and disk use of this process, as the system reports it.
#pragma once

#include <cstdint>

namespace gpuhist::pipeline {

/// Peak resident bytes of this program; 0 if /proc does not report it. From VmHWM, because getrusage also counts the
/// program that ran in this process before its exec.
std::uint64_t peak_resident_bytes();

/// Bytes that were read from disks for this process, and from network filesystems that report it.
std::uint64_t disk_bytes_read();

}  // namespace gpuhist::pipeline
