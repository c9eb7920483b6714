#include "io/own_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <stdexcept>
#include <string>

namespace gpuhist::io {
namespace {

const char* name_of_kind(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISREG(mode)) return "a file";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

[[noreturn]] void refuse(const std::filesystem::path& path, mode_t mode, const std::string& expected) {
  throw std::runtime_error(path.string() + ": is " + name_of_kind(mode) + " instead of " + expected +
                           "; remove it, or give another name");
}

descriptor open_folder(int in, const char* name) {
  for (;;) {
    descriptor opened(::openat(in, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (opened || errno != EINTR) return opened;
  }
}

}  // namespace

void require_regular(const std::filesystem::path& file, links how) {
  struct stat found{};
  const int result = how == links::followed ? ::stat(file.c_str(), &found) : ::lstat(file.c_str(), &found);
  if (result == 0 && !S_ISREG(found.st_mode)) refuse(file, found.st_mode, "a regular file");
}

void require_folder(const std::filesystem::path& folder) {
  struct stat found{};
  if (::lstat(folder.c_str(), &found) == 0 && !S_ISDIR(found.st_mode)) refuse(folder, found.st_mode, "a folder");
}

descriptor create_folders(const descriptor& root, const std::filesystem::path& below) {
  descriptor folder = open_folder(root.get(), ".");
  for (const std::filesystem::path& each : below) {
    if (!folder || each.empty() || each == ".") continue;
    if (each == ".." || each.is_absolute()) {
      errno = EXDEV;
      return {};
    }
    constexpr mode_t permissions = 0777;
    if (::mkdirat(folder.get(), each.c_str(), permissions) != 0 && errno != EEXIST) return {};
    folder = open_folder(folder.get(), each.c_str());
  }
  return folder;
}

}  // namespace gpuhist::io
