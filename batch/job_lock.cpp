#include "batch/job_lock.hpp"

#include "io/destination_error.hpp"
#include "report/formats/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

std::string owner_text() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

std::string owner_in(int file) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

[[noreturn]] void fail(const char* action, const std::filesystem::path& file) {
  throw io::destination_error(errno, std::system_category(), action + printable(file.string()));
}

}  // namespace

bool lock_whole(int file, int command) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  int result = 0;
  do result = ::fcntl(file, command, &whole);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

job_lock::job_lock(const std::filesystem::path& file, const std::function<void(const std::string&)>& wait)
    : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666)) {
  if (!file_) fail("cannot write ", file);
  if (!lock_whole(file_.get(), F_OFD_SETLK)) {
    if (errno != EAGAIN && errno != EACCES) fail("cannot lock ", file);
    const std::string other = printable(file.parent_path().parent_path().string()) +
                              ": another run writes to this folder: " + printable(owner_in(file_.get()));
    if (!wait) throw std::runtime_error(other + "; wait for its end, or end it");
    wait(other + "; waiting for its end");
    if (!lock_whole(file_.get(), F_OFD_SETLKW)) fail("cannot lock ", file);
  }
  const std::string owner = owner_text();
  const bool is_written = ::ftruncate(file_.get(), 0) == 0 &&
                          ::pwrite(file_.get(), owner.data(), owner.size(), 0) == static_cast<ssize_t>(owner.size());
  if (!is_written) fail("cannot write ", file);
}

}  // namespace gpuhist::pipeline
