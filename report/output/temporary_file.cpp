#include "report/output/temporary_file.hpp"

#include "io/file_access.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <optional>
#include <string>
#include <system_error>

namespace gpuhist::report {
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

enum class locking { locked, denied, without };

// Until the file is closed.
locking lock_file(int file) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file, F_OFD_SETLK, &whole) == 0) return locking::locked;
  return errno == EAGAIN || errno == EACCES ? locking::denied : locking::without;
}

// Nothing: that is not known, because the system call failed.
std::optional<bool> is_named(int folder, const std::string& name, int file) {
  struct stat open{};
  struct stat named{};
  if (::fstat(file, &open) != 0) return std::nullopt;
  if (::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? std::optional(false) : std::nullopt;
  }
  return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// Removes a file of this user that no process has locked. It is unlinked while it is locked here, and only if it still
// has the name, so that no file of a running process is removed.
void remove_if_left(int folder, const std::string& name) {
  constexpr int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const io::descriptor file(::openat(folder, name.c_str(), flags));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != ::geteuid()) return;
  if (lock_file(file.get()) == locking::locked && is_named(folder, name, file.get()) == true) {
    ::unlinkat(folder, name.c_str(), 0);
  }
}

io::descriptor open_folder(const fs::path& file) {
  io::descriptor opened(::open(io::folder_of(file).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened) throw std::system_error(errno, std::system_category());
  return opened;
}

}  // namespace

void remove_temporary_file() noexcept {
  if (is_announced) ::unlink(announced_path.data());
}

io::descriptor temporary_file::create_beside(const fs::path& path, const io::descriptor& folder) {
  constexpr unsigned examined = 8;  // as many runs write to one output at once, at most
  constexpr unsigned tried = 1000;
  const io::descriptor looked_up = folder ? io::descriptor() : open_folder(path);
  const int in = folder ? folder.get() : looked_up.get();
  io::descriptor made;
  for (unsigned number = 0; number < examined || (!made && number < tried); ++number) {
    remove_if_left(in, io::temporary_name(path.filename().string(), number));
    if (!made) made = create(in, path, number);
  }
  if (!made) throw std::system_error(EEXIST, std::system_category());
  return made;
}

// The name is announced before the file is created, so that a signal never leaves the file. Empty: the name is taken.
io::descriptor temporary_file::create(int folder, const fs::path& path, unsigned number) {
  const std::string name = io::temporary_name(path.filename().string(), number);
  path_ = path.parent_path() / name;
  announced_ = announce();
  io::descriptor made(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  const int error = errno;
  if (made && (lock_file(made.get()) == locking::denied || is_named(folder, name, made.get()) == false)) {
    release();  // another run takes it for one that was left, and removes it
    return {};
  }
  if (made) return made;
  release();
  if (error != EEXIST && error != EINTR) throw std::system_error(error, std::system_category());
  return {};
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

}  // namespace gpuhist::report
