#include "io/long_path.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <system_error>

namespace gpuhist::io {
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
  return text + ": URLs are not read; pipe the content (" + std::string(reader->command) +
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
