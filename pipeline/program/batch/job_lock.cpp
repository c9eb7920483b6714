#include "pipeline/program/batch/job_lock.hpp"

#include "io/destination_error.hpp"
#include "pipeline/report/formats/report.hpp"

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

bool try_lock(int file) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_SETLK, &whole) == 0;
}

}  // namespace

job_lock::job_lock(const std::filesystem::path& file)
    : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666)) {
  const std::string folder = printable(file.parent_path().parent_path().string());
  if (!file_) throw io::destination_error(errno, std::system_category(), "cannot write " + printable(file.string()));
  if (!try_lock(file_.get())) {
    if (errno != EAGAIN && errno != EACCES) {
      throw io::destination_error(errno, std::system_category(), "cannot lock " + printable(file.string()));
    }
    throw std::runtime_error(folder + ": another run writes to this folder: " + printable(owner_in(file_.get())) +
                             "; wait for its end, or end it");
  }
  const std::string owner = owner_text();
  const bool is_written = ::ftruncate(file_.get(), 0) == 0 &&
                          ::pwrite(file_.get(), owner.data(), owner.size(), 0) == static_cast<ssize_t>(owner.size());
  if (!is_written) {
    throw io::destination_error(errno, std::system_category(), "cannot write " + printable(file.string()));
  }
}

}  // namespace gpuhist::pipeline
