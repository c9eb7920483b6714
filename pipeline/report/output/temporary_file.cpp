#include "pipeline/report/output/temporary_file.hpp"

#include "io/temporary_name.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <string>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

// Global, because the signal handler reads them. The path is complete while `is_announced` is true. Most processes
// write one output; if there are several, only one is announced.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::array<char, PATH_MAX> announced_path{};
std::atomic<bool> is_announced = false;
std::atomic<bool> is_reserved = false;  // a file is announced, or will be
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void remove_temporary_file() noexcept {
  if (is_announced) ::unlink(announced_path.data());
}

// The name is announced before the file is created, so that a signal never leaves the file.
io::descriptor temporary_file::create_beside(const fs::path& path) {
  while (true) {
    path_ = path.parent_path() / io::temporary_name(path.filename().string());
    announced_ = announce();
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return io::descriptor(fd);
    const int error = errno;
    release();
    if (error != EEXIST && error != EINTR) throw std::system_error(error, std::system_category());
  }
}

bool temporary_file::announce() noexcept {
  const std::string& text = path_.native();
  if (text.size() >= announced_path.size() || is_reserved.exchange(true)) return false;
  std::ranges::copy(text, announced_path.begin());
  announced_path[text.size()] = '\0';
  is_announced = true;
  return true;
}

void temporary_file::withdraw() noexcept {
  if (!announced_) return;
  announced_ = false;
  is_announced = false;
  is_reserved = false;
}

void temporary_file::release() noexcept {
  withdraw();
  path_.clear();
}

void temporary_file::remove() noexcept {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  release();
}

}  // namespace gpuhist::pipeline
