#include "pipeline/report/output/temporary_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

// Global, because the signal handler reads them. The path is complete while `is_announced` is true. A process writes
// one output; if there are several, as in tests, only the first is announced.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::array<char, PATH_MAX> announced_path{};
std::atomic<bool> is_announced = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);

std::string random_letters(std::size_t count) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device source;
  std::uniform_int_distribution<std::size_t> any(0, letters.size() - 1);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += letters[any(source)];
  return text;
}

}  // namespace

void remove_temporary_file() noexcept {
  if (is_announced) ::unlink(announced_path.data());
}

// The name is announced before the file is created, so that a signal never leaves the file.
io::descriptor temporary_file::create_beside(const fs::path& path) {
  constexpr std::size_t suffix = 8;  // two dots and six letters
  constexpr std::size_t longest = 255;
  const std::string last = path.filename().string().substr(0, longest - suffix);
  while (true) {
    path_ = path.parent_path() / ("." + last + "." + random_letters(6));
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
  if (is_announced || text.size() >= announced_path.size()) return false;
  std::ranges::copy(text, announced_path.begin());
  announced_path[text.size()] = '\0';
  is_announced = true;
  return true;
}

void temporary_file::withdraw() noexcept {
  if (announced_) is_announced = false;
  announced_ = false;
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
