// Where reports go: descriptors written in place, and regular files that appear whole.
#include "report/output/destination.hpp"

#include "config/usage_error.hpp"
#include "io/file_access.hpp"
#include "report/formats/report.hpp"
#include "report/output/stop_signal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

namespace gpuhist::report {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& name, int error) {
  throw destination_error(error, std::system_category(), "cannot write " + printable(name));
}

/// Repeats a call that a signal interrupts.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// The number in a name of a descriptor, such as "fd:3" or "/dev/fd/3"; nothing for other names.
std::optional<int> number_of_descriptor(const std::string& name) {
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  if (name.starts_with("fd:")) {
    return io::descriptor_named("/dev/fd/" + name.substr(3)).value_or(-1);  // an invalid number: EBADF
  }
  if (name == "-" || name == "/dev/stdin") return std::nullopt;
  return io::descriptor_named(name);
}

/// Follows symbolic links in the last component, so that a link stays and its target is replaced. Stops at the name of
/// a descriptor: opening /dev/stdout again would lose the offset and O_APPEND of the file that the shell opened.
fs::path follow_links(fs::path path, const std::string& name) {
  constexpr int max_links = 40;  // as in the kernel
  for (int links = 0; links < max_links; ++links) {
    std::error_code error;
    if (number_of_descriptor(path) || !fs::is_symlink(fs::symlink_status(path, error))) return path;
    const fs::path target = fs::read_symlink(path, error);
    if (error) fail(name, error.value());
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  fail(name, ELOOP);
}

/// Renames a file; fails with EEXIST if `to` exists. Filesystems without RENAME_NOREPLACE, such as NFS, have hard
/// links.
bool rename_to_new(int folder, const char* from, const char* to) {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::linkat(folder, from, folder, to, 0) == 0 && ::unlinkat(folder, from, 0) == 0;
}

/// Gives the new file the mode of the old one and, if permitted, its owner.
void copy_mode_and_owner(int fd, const struct stat& old) {
  struct stat now{};
  if (::fstat(fd, &now) != 0) return;
  const bool same_owner = now.st_uid == old.st_uid && now.st_gid == old.st_gid;
  // if the group changes, the new group must not get the permissions of the old one
  const bool kept = same_owner || ::fchown(fd, old.st_uid, old.st_gid) == 0;
  const mode_t mode = old.st_mode & (kept ? 0777U : 0707U);
  ::fchmod(fd, mode);
}

/// An error that has no errno: another process holds the lock of the file. The value is the stop signal after which the
/// wait ended, or reports_wait.
class lock_category : public std::error_category {
 public:
  static constexpr int reports_wait = 1000;  // no signal

  [[nodiscard]] const char* name() const noexcept override { return "gpuhist.lock"; }
  [[nodiscard]] std::string message(int cause) const override {
    const std::string still = cause == reports_wait ? " and too many reports wait for it"
                                                    : " 5 seconds after SIG" + std::string(::sigabbrev_np(cause));
    return "it is still locked by another process" + still + " (lslocks shows which); end that process and run again";
  }
  [[nodiscard]] std::error_condition default_error_condition(int /*cause*/) const noexcept override {
    return std::errc::no_lock_available;
  }
};

[[noreturn]] void fail_to_lock(const std::string& name, int cause) {
  static const lock_category category;
  throw destination_error(cause, category, "cannot write " + printable(name));
}

/// While it exists, other processes that append records to the file wait. If the filesystem has no locks, none is
/// taken.
class record_lock {
 public:
  /// Attempts once, and does not wait. `command`: F_OFD_SETLK for a file that was opened here; the open file
  /// description then owns the lock. F_SETLK for an inherited descriptor, whose description other processes share; the
  /// process then owns the lock.
  record_lock(int fd, int command) : fd_(fd), command_(command) {
    if (set(F_WRLCK)) {
      state_ = state::locked;
    } else {
      state_ = errno == EAGAIN || errno == EACCES ? state::denied : state::without;
    }
  }
  record_lock(const record_lock&) = delete;
  record_lock& operator=(const record_lock&) = delete;
  ~record_lock() {
    if (state_ == state::locked) set(F_UNLCK);
  }

  /// Whether another process has the lock.
  [[nodiscard]] bool is_denied() const { return state_ == state::denied; }

 private:
  enum class state { locked, denied, without };

  bool set(short type) const {
    struct flock whole{};
    whole.l_type = type;
    whole.l_whence = SEEK_SET;
    return uninterrupted([&] { return ::fcntl(fd_, command_, &whole); }) == 0;
  }

  int fd_;
  int command_;
  state state_ = state::without;
};

/// Sleeps before the next attempt to lock a file. After a stop signal it sets `wait_ends`, if not set yet, to 5 seconds
/// later, and throws destination_error at that time.
void pause_for_lock(const std::string& name, std::optional<std::chrono::steady_clock::time_point>& wait_ends,
                    std::chrono::milliseconds pause) {
  constexpr std::chrono::seconds patience{5};
  const auto now = std::chrono::steady_clock::now();
  const int signal = stop_signal_of_process;
  if (!wait_ends && signal != 0) wait_ends = now + patience;
  if (wait_ends && now >= *wait_ends) fail_to_lock(name, signal);
  std::this_thread::sleep_for(pause);
}

bool is_appended_to(int fd) {
  struct stat file{};
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_APPEND) != 0 && ::fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

/// Of a regular file.
std::uint64_t size_of(int fd) {
  struct stat file{};
  return ::fstat(fd, &file) == 0 && file.st_size > 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
}

/// Opens the file again for reading, since a shell opens it for writing only. Empty if it may not be read.
// It stays open as long as the destination: closing any descriptor of a file releases its F_SETLK locks.
io::descriptor open_to_read(int fd) {
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  return io::descriptor(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

/// Whether the file ends with an incomplete record, of a process that ended while it wrote.
bool ends_inside_line(int fd, std::uint64_t size) {
  char last = '\n';
  return size > 0 && ::pread(fd, &last, 1, static_cast<off_t>(size - 1)) == 1 && last != '\n';
}

/// Whether the file has no complete line, but at most the first part of a header.
bool has_no_line(int fd, std::uint64_t size) {
  std::array<char, 256> first{};  // more than a header has
  if (size == 0) return true;
  if (size >= first.size()) return false;
  const ssize_t read = ::pread(fd, first.data(), first.size(), 0);
  return read > 0 &&
         std::string_view(first.data(), static_cast<std::size_t>(read)).find('\n') == std::string_view::npos;
}

void synchronize(int fd, const std::string& name) {
  if (!io::synchronize(fd)) fail(name, errno);
}

}  // namespace

bool names_descriptor(const std::string& name) { return number_of_descriptor(follow_links(name, name)).has_value(); }

destination::destination(const std::optional<std::string>& name, writing mode, const io::open_descriptors& inherited)
    : name_(name.value_or("standard output")), mode_(mode) {
  const fs::path path = name ? follow_links(*name, name_) : fs::path("/dev/stdout");
  if (const std::optional<int> number = number_of_descriptor(path)) {
    if (name && ::fcntl(*number, F_GETFD) < 0) fail(name_, errno);
    // a closed standard output or error is an error only when it is written, which a stage of a pipeline survives
    const bool is_for_writing = *number == STDOUT_FILENO || *number == STDERR_FILENO;
    if (name && !is_for_writing && !inherited.contains(*number)) fail(name_, EBADF);
    fd_ = io::descriptor::borrowed(*number);
    open_in_place({}, false);
    return;
  }
  if (path.empty()) fail(name_, ENOENT);
  open(path);
}

destination::destination(io::descriptor folder, const fs::path& path, writing mode)
    : name_(path.string()), mode_(mode), folder_(std::move(folder)) {
  open(path);
}

// The path, or its last component if the folder is open.
const char* destination::name_in_folder(const fs::path& path) const {
  if (!folder_) return path.c_str();
  const std::string& text = path.native();
  return text.c_str() + text.rfind('/') + 1;  // npos + 1 is 0
}

void destination::open(const fs::path& path) {
  struct stat old{};
  const bool exists = ::fstatat(folder_.get(), name_in_folder(path), &old, folder_ ? AT_SYMLINK_NOFOLLOW : 0) == 0;
  if (!exists && errno != ENOENT) fail(name_, errno);
  const bool is_foreign = folder_ && exists && !S_ISREG(old.st_mode);
  if (is_foreign || (exists && mode_ == writing::once)) fail(name_, EEXIST);
  const bool regular = !exists || S_ISREG(old.st_mode);
  if (!regular || mode_ == writing::live || mode_ == writing::append) {
    open_in_place(path, regular);
    return;
  }
  // rename() does not check the permissions of the file that it replaces
  if (exists && ::faccessat(folder_.get(), name_in_folder(path), W_OK, AT_EACCESS) != 0) fail(name_, errno);
  final_path_ = path;
  if (exists) files_->set_output(old);
  open_temporary();
}

void destination::open_in_place(const fs::path& path, bool regular) {
  if (mode_ == writing::replacing) {
    throw config::usage_error(
        printable(name_) +
        " is not a regular file, which every snapshot could replace; give --output a regular file, or "
        "another --format");
  }
  const bool is_appended_file = fd_ && is_appended_to(fd_.get());
  const bool appends = mode_ == writing::append && (regular || is_appended_file);
  mode_ = appends ? writing::append : writing::live;
  if (fd_) {
    note_output();
    if (is_appended_file) lock_command_ = F_SETLK;
    if (appends) readable_ = open_to_read(fd_.get());
    return;
  }
  const int flags =
      O_CLOEXEC | O_NOCTTY | (regular ? O_CREAT : 0) | (appends ? O_APPEND : 0) | (folder_ ? O_NOFOLLOW : 0);
  const auto open_for = [&](int access) {
    const auto call = [&] { return ::openat(folder_.get(), name_in_folder(path), access | flags, 0666); };
    return io::descriptor(uninterrupted(call));
  };
  if (appends) fd_ = open_for(O_RDWR);  // to read its last byte
  if (!fd_) fd_ = open_for(O_WRONLY);   // not readable
  if (!fd_) fail(name_, errno);
  note_output();
  holds_old_text_ = regular && !appends;
  if (appends) lock_command_ = F_OFD_SETLK;
  fresh_ = !appends || ::lseek(fd_.get(), 0, SEEK_END) <= 0;
}

void destination::note_output() const {
  struct stat now{};
  if (::fstat(fd_.get(), &now) == 0) files_->set_output(now);
}

void destination::open_temporary() {
  try {
    fd_ = files_->create_temporary([&] { return temporary_.create_beside(final_path_, folder_); });
  } catch (const std::system_error& error) {
    fail(name_, error.code().value());
  }
  struct stat old{};
  if (::fstatat(folder_.get(), name_in_folder(final_path_), &old, 0) == 0) copy_mode_and_owner(fd_.get(), old);
}

// Called before the first write: until then the old text may turn out to be an input.
void destination::make_empty() {
  if (!std::exchange(holds_old_text_, false)) return;
  if (uninterrupted([&] { return ::ftruncate(fd_.get(), 0); }) != 0) fail(name_, errno);
}

destination::~destination() = default;

void destination::write(std::string_view text) {
  write([text](const text_sink& out) { out(text); });
}

// It attempts repeatedly, since signals do not end F_SETLKW (SA_RESTART). The pauses are short, because another process
// may release the lock for a few milliseconds only.
void destination::write(const std::function<void(const text_sink&)>& pieces) {
  constexpr std::chrono::milliseconds longest_pause{5};
  std::chrono::milliseconds pause{1};
  while (!try_write(pieces)) {
    pause_for_lock(name_, lock_wait_ends_, pause);
    pause = std::min(2 * pause, longest_pause);
  }
}

bool destination::try_write(const std::function<void(const text_sink&)>& pieces) {
  prepare();
  if (!lock_command_ || is_locked_) {
    write_record(pieces);
    return true;
  }
  const record_lock lock(fd_.get(), *lock_command_);
  if (lock.is_denied()) return false;
  write_record(pieces);
  return true;
}

bool destination::lock_until_end() {
  if (!lock_command_) return true;
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  is_locked_ = uninterrupted([&] { return ::fcntl(fd_.get(), *lock_command_, &whole); }) == 0;
  return is_locked_ || (errno != EAGAIN && errno != EACCES);
}

bool destination::has_name() const {
  struct stat open{};
  struct stat named{};
  return ::fstat(fd_.get(), &open) == 0 && ::stat(name_.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

int destination::descriptor() {
  prepare();
  return fd_.get();
}

void destination::fail_locked() const { fail_to_lock(name_, lock_category::reports_wait); }

void destination::prepare() {
  if (mode_ == writing::replacing && temporary_.path().empty()) open_temporary();
  make_empty();
}

void destination::write_record(const std::function<void(const text_sink&)>& pieces) {
  constexpr std::size_t block_bytes = std::size_t{256} * 1024;
  const std::uint64_t size_before = size_of(fd_.get());
  std::uint64_t written = 0;
  const int readable = readable_ ? readable_.get() : fd_.get();
  if (mode_ == writing::append) fresh_ = has_no_line(readable, size_before);
  try {
    std::string block;
    if (mode_ == writing::append && ends_inside_line(readable, size_before)) block = '\n';
    pieces([&](std::string_view piece) {
      if (block.empty() && piece.size() >= block_bytes) return write_all(piece, written);
      block += piece;
      if (block.size() < block_bytes) return;
      write_all(block, written);
      block.clear();
    });
    write_all(block, written);
  } catch (...) {
    if (lock_command_) cut_off(size_before, written);
    throw;
  }
  if (mode_ == writing::replacing) return appear();
  fresh_ = fresh_ && written == 0;
}

void destination::write_all(std::string_view text, std::uint64_t& written) {
  while (!text.empty()) {
    const ssize_t taken = ::write(fd_.get(), text.data(), text.size());
    if (taken > 0) {
      text.remove_prefix(static_cast<std::size_t>(taken));
      written += static_cast<std::uint64_t>(taken);
    } else if (taken == 0) {
      fail(name_, EIO);  // instead of an endless loop
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // another process that shares the descriptor made it non-blocking; its flags are left as they are
      pollfd writable{fd_.get(), POLLOUT, 0};
      if (::poll(&writable, 1, -1) < 0 && errno != EINTR) fail(name_, errno);
    } else if (errno != EINTR) {
      fail(name_, errno);
    }
  }
}

// An incomplete line would damage the next one as well. If other processes have appended since, without a lock, their
// text must stay.
void destination::cut_off(std::uint64_t size_before, std::uint64_t written) {
  if (written == 0 || size_of(fd_.get()) != size_before + written) return;
  // fails only if the file was sealed meanwhile; the error of the write is reported in any case
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_before)) != 0) return;
}

void destination::appear() {
  const char* const from = name_in_folder(temporary_.path());
  const char* const to = name_in_folder(final_path_);
  const bool renamed = mode_ == writing::once ? rename_to_new(folder_.get(), from, to)
                                              : ::renameat(folder_.get(), from, folder_.get(), to) == 0;
  if (!renamed) fail(name_, errno);
  temporary_.release();
  files_->temporary_became_output();
}

struct stat destination::synchronize_text() {
  make_empty();
  if (fd_.owned()) synchronize(fd_.get(), name_);
  struct stat now{};
  if (::fstat(fd_.get(), &now) != 0) fail(name_, errno);
  return now;
}

void destination::commit() {
  make_empty();
  if (fd_.owned()) synchronize(fd_.get(), name_);
  // a network filesystem may report a full disk only at a close: closing a copy reports it, too
  const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) fail(name_, errno);
  if (::close(copy) != 0 && errno != EINTR) fail(name_, errno);
  if (final_path_.empty()) return;
  if (mode_ == writing::whole || mode_ == writing::once) appear();
  if (!io::synchronize_folder(io::folder_of(final_path_))) fail(name_, errno);
}

bool destination::is_terminal() const { return ::isatty(fd_.get()) == 1; }

std::optional<terminal_size> destination::terminal() const { return size_of_terminal(fd_.get()); }

}  // namespace gpuhist::report
