#include "io/open_descriptors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>

namespace gpuhist::io {
namespace {

struct close_stream {
  void operator()(DIR* open) const { ::closedir(open); }
};

std::optional<int> whole_number(std::string_view digits) {
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number < 0) return std::nullopt;
  return number;
}

std::vector<int> found_by_trying() {
  constexpr int usual_limit = 1024;
  std::vector<int> found;
  for (int fd = 0; fd < usual_limit; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) found.push_back(fd);
  }
  return found;
}

}  // namespace

open_descriptors open_descriptors::of_process() {
  open_descriptors all;
  const std::unique_ptr<DIR, close_stream> folder(::opendir("/proc/self/fd"));
  if (!folder) {
    all.numbers_ = found_by_trying();
    return all;
  }
  all.numbers_.emplace();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local
  while (const dirent* const entry = ::readdir(folder.get())) {
    const std::optional<int> fd = whole_number(entry->d_name);
    if (fd && *fd != ::dirfd(folder.get())) all.numbers_->push_back(*fd);
  }
  std::ranges::sort(*all.numbers_);
  return all;
}

bool open_descriptors::contains(int fd) const { return !numbers_ || std::ranges::binary_search(*numbers_, fd); }

std::optional<int> descriptor_named(std::string_view path) {
  if (path == "-" || path == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.starts_with(folder)) return whole_number(path.substr(folder.size()));
  }
  return std::nullopt;
}

std::string closed_descriptor_text(std::string_view path, const open_descriptors& inherited) {
  const std::optional<int> fd = descriptor_named(path);
  if (!fd || inherited.contains(*fd)) return {};
  const std::string name = *fd == STDIN_FILENO ? "standard input" : "descriptor " + std::to_string(*fd);
  return name + " was not open when gpuhist was started: " + std::system_category().message(EBADF);
}

}  // namespace gpuhist::io
