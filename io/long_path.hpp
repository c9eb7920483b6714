// Opening by paths of any length: the kernel takes no more than PATH_MAX bytes at once.
#pragma once

#include "io/descriptor.hpp"

#include <string>

namespace gpuhist::io {

/// open(2) with O_CLOEXEC and O_NOCTTY added. An empty descriptor where it fails: errno says why. Thread-safe.
descriptor open_path(const std::string& path, int flags);

/// openat(2), likewise.
descriptor open_below(const descriptor& folder, const char* name, int flags);

}  // namespace gpuhist::io
