// Opens a source: decides its kind, and reports the error of the system if it cannot be opened.
#include "io/file_access.hpp"
#include "io/open_descriptors.hpp"
#include "io/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace gpuhist::io {
namespace {

[[noreturn]] void throw_errno() { throw input_error(std::system_category().message(errno), 0, kind_of_errno(errno)); }

/// A pipe or socket that is already open is borrowed: opening it again fails for a socket, and never ends for a FIFO
/// whose last writer has closed it.
std::optional<descriptor> borrow(const std::string& path) {
  if (path == "-") return descriptor::borrowed(STDIN_FILENO);
  const std::optional<int> fd = descriptor_named(path);
  struct stat status{};
  if (!fd || ::fstat(*fd, &status) != 0) return std::nullopt;
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) return std::nullopt;
  return descriptor::borrowed(*fd);
}

descriptor open_by_name(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    const int error = errno;
    throw input_error(open_error_text(path, error), 0, kind_of_errno(error));
  }
  if (S_ISDIR(status.st_mode)) throw input_error("is a directory", 0);
  if (S_ISSOCK(status.st_mode)) {
    throw input_error(
        "is a socket, which cannot be opened as a file; connect to it: socat -u UNIX-CONNECT:FILE - | gpuhist", 0);
  }
  int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
  // open() waits for the writer of a FIFO, and for the carrier of a serial line
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) flags |= O_NONBLOCK;
  for (;;) {
    descriptor fd(::open(path.c_str(), flags));
    if (fd) return fd;
    if (errno != EINTR) throw_errno();
  }
}

/// Where reading begins, or nothing if the file has no offsets (some files of /proc and /sys are streams).
std::optional<std::uint64_t> current_offset(int fd) {
  const off_t offset = ::lseek(fd, 0, SEEK_CUR);
  if (offset < 0) return std::nullopt;
  return static_cast<std::uint64_t>(offset);
}

std::uint64_t end_of(int fd, const struct stat& status, std::uint64_t start) {
  if (!S_ISBLK(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  const off_t end = ::lseek(fd, 0, SEEK_END);  // a block device has no st_size
  ::lseek(fd, static_cast<off_t>(start), SEEK_SET);
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

}  // namespace

source open_source(const std::string& path, const boost::asio::any_io_executor& executor, std::size_t pipe_bytes) {
  std::optional<descriptor> borrowed = borrow(path);
  descriptor fd = borrowed ? std::move(*borrowed) : open_by_name(path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    if (errno == EBADF && path == "-") throw input_error("standard input is closed", 0);
    throw_errno();
  }
  if (S_ISDIR(status.st_mode)) throw input_error("is a directory", 0);
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) {
    if (const std::optional<std::uint64_t> start = current_offset(fd.get())) {
      const std::uint64_t end = end_of(fd.get(), status, *start);
      return file_source(std::move(fd), *start, end > *start ? end - *start : 0);
    }
  }
  return stream_source(executor, std::move(fd), pipe_bytes);
}

file_source open_regular(const std::string& path, bool follow_links) {
  // the path may name something else meanwhile: open() must not wait for it
  descriptor fd = open_path(path, O_RDONLY | O_NONBLOCK | (follow_links ? 0 : O_NOFOLLOW));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) throw_errno();
  if (!S_ISREG(status.st_mode)) throw input_error("is not a regular file any more", 0);
  return {std::move(fd), 0, static_cast<std::uint64_t>(status.st_size)};
}

}  // namespace gpuhist::io
