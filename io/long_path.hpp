// Opens paths of any length: the kernel accepts at most PATH_MAX bytes at once. States why a path cannot be
// opened.
#pragma once

#include "io/descriptor.hpp"

#include <string>
#include <string_view>

namespace gpuhist::io {

/// open(2) with O_CLOEXEC and O_NOCTTY added. Returns an empty descriptor and sets errno if it fails. Thread-safe.
descriptor open_path(const std::string& path, int flags);

/// openat(2) with the same flags and result.
descriptor open_below(const descriptor& folder, const char* name, int flags);

/// Why a path cannot be opened, by errno. A URL that is no path gets the remedy.
std::string open_error_text(std::string_view path, int error);

}  // namespace gpuhist::io
