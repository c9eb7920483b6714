#include "io/file_access.hpp"

#include "io/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gpuhist::io {

bool synchronize(int file) {
  int result = 0;
  do result = ::fsync(file);
  while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

bool synchronize_data(int file) {
  int result = 0;
  do result = ::fdatasync(file);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

bool append_at(int file, std::string_view bytes, std::uint64_t end) {
  if (write_at(file, bytes, end)) return true;
  const int error = errno;
  [[maybe_unused]] const int ignored = ::ftruncate(file, static_cast<off_t>(end));
  errno = error;
  return false;
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

namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view mark = ".gpuhist-";
constexpr std::size_t letters_of_name = 6;
constexpr std::size_t end_bytes = mark.size() + letters_of_name;
constexpr unsigned number_of_names = 1'000'000;  // as many as the digits permit
constexpr std::size_t longest = 255;             // of a name, in every filesystem of Linux

}  // namespace

std::string temporary_name(std::string last, unsigned number) {
  if (last.size() > longest - 1 - end_bytes) last.resize(longest - 1 - end_bytes);
  const std::string digits = std::to_string(number % number_of_names);
  return "." + last + std::string(mark) + std::string(letters_of_name - digits.size(), '0') + digits;
}

bool is_temporary_name(std::string_view last) {
  if (!last.starts_with('.') || last.size() < 1 + end_bytes) return false;
  const std::string_view end = last.substr(last.size() - letters_of_name);
  last.remove_suffix(letters_of_name);
  return last.ends_with(mark) && end.find_first_not_of(letters) == std::string_view::npos;
}

std::string_view name_of_replaced(std::string_view last) { return last.substr(1, last.size() - 1 - end_bytes); }

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

namespace {

descriptor open_at(int folder, const char* name, int flags) {
  for (;;) {
    descriptor opened(::openat(folder, name, flags | O_CLOEXEC | O_NOCTTY));
    if (opened || errno != EINTR) return opened;
  }
}

struct url_reader {
  std::string_view scheme;
  std::string_view command;  // writes the content to standard output
};

constexpr std::array url_readers = {
    url_reader{"http://", "curl -sSfL URL"},       url_reader{"https://", "curl -sSfL URL"},
    url_reader{"ftp://", "curl -sSf URL"},         url_reader{"s3://", "aws s3 cp URL -"},
    url_reader{"gs://", "gcloud storage cat URL"}, url_reader{"hdfs://", "hdfs dfs -cat URL"},
};

}  // namespace

std::string open_error_text(std::string_view path, int error) {
  std::string text = std::system_category().message(error);
  if (error != ENOENT) return text;
  const auto* const reader =
      std::ranges::find_if(url_readers, [&](const url_reader& each) { return path.starts_with(each.scheme); });
  if (reader == url_readers.end()) return text;
  return text + ": URLs are not read here; pipe the content (" + std::string(reader->command) +
         " | gpuhist), or download it";
}

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
