#include "io/synchronize.hpp"

#include "io/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace gpuhist::io {

bool synchronize(int file) {
  int result = 0;
  do result = ::fsync(file);
  while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

bool synchronize_folder(const std::filesystem::path& folder) {
  int opened = 0;
  do opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (opened < 0 && errno == EINTR);
  if (opened < 0) return errno == EACCES;
  const descriptor owner(opened);
  return synchronize(opened);
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace gpuhist::io
