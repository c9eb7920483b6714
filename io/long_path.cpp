#include "io/long_path.hpp"

#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <cstddef>

namespace gpuhist::io {
namespace {

descriptor open_at(int folder, const char* name, int flags) {
  for (;;) {
    descriptor opened(::openat(folder, name, flags | O_CLOEXEC | O_NOCTTY));
    if (opened || errno != EINTR) return opened;
  }
}

}  // namespace

descriptor open_below(const descriptor& folder, const char* name, int flags) {
  return open_at(folder.get(), name, flags);
}

// A longer path is opened part by part.
descriptor open_path(const std::string& path, int flags) {
  descriptor folder;
  std::size_t begin = 0;
  while (path.size() - begin >= PATH_MAX) {
    const std::size_t slash = path.rfind('/', begin + PATH_MAX - 2);
    if (slash == std::string::npos || slash <= begin) {
      errno = ENAMETOOLONG;
      return {};
    }
    const std::string part = path.substr(begin, slash - begin);
    folder = open_at(folder ? folder.get() : AT_FDCWD, part.c_str(), O_PATH | O_DIRECTORY);
    if (!folder) return {};
    begin = path.find_first_not_of('/', slash);
    if (begin == std::string::npos) begin = path.size();
  }
  const char* const rest = begin == path.size() ? "." : path.c_str() + begin;
  return open_at(folder ? folder.get() : AT_FDCWD, rest, flags);
}

}  // namespace gpuhist::io
