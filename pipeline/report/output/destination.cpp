// Where reports go: descriptors written in place, and regular files that appear whole.
#include "pipeline/report/output/destination.hpp"

#include "config/usage_error.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/terminal.hpp"

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

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& name, int error) {
  throw destination_error(error, std::system_category(), "cannot write " + printable(name));
}

/// Calls until a signal does not interrupt it.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// The number in "fd:3", "/dev/fd/3" and the like; nothing for other names.
std::optional<int> descriptor_written(const std::string& name) {
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  if (name.starts_with("fd:")) {
    return io::descriptor_named("/dev/fd/" + name.substr(3)).value_or(-1);  // no descriptor has that: EBADF
  }
  if (name == "-" || name == "/dev/stdin") return std::nullopt;
  return io::descriptor_named(name);
}

/// Follows symbolic links in the last component, so that a link stays and its target is replaced, up to a name of a
/// descriptor: opening /dev/stdout would forget the offset and O_APPEND of what the shell has opened.
fs::path follow_links(fs::path path, const std::string& name) {
  constexpr int as_the_kernel = 40;
  for (int links = 0; links < as_the_kernel; ++links) {
    std::error_code error;
    if (descriptor_written(path) || !fs::is_symlink(fs::symlink_status(path, error))) return path;
    const fs::path target = fs::read_symlink(path, error);
    if (error) fail(name, error.value());
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  fail(name, ELOOP);
}

/// Fails with EEXIST where somebody was faster. Filesystems that cannot rename so have hard links, as NFS has.
bool rename_to_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::link(from.c_str(), to.c_str()) == 0 && ::unlink(from.c_str()) == 0;
}

/// The new file gets the old one's mode and, where we may, its owner.
void take_after(int fd, const struct stat& old) {
  struct stat now{};
  if (::fstat(fd, &now) != 0) return;
  const bool same_owner = now.st_uid == old.st_uid && now.st_gid == old.st_gid;
  // a group that cannot be kept must not get what the mode allowed to the old one
  const bool kept = same_owner || ::fchown(fd, old.st_uid, old.st_gid) == 0;
  const mode_t mode = old.st_mode & (kept ? 0777U : 0707U);
  ::fchmod(fd, mode);
}

/// What no number of the system says: another process holds the lock of the file. The value is the stop signal after
/// which the wait ended, or reports_wait.
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

/// While one lives, others that append records to the file wait. Filesystems without locks are written without.
class record_lock {
 public:
  using clock = std::chrono::steady_clock;

  /// Attempts once. `command`: F_OFD_SETLK for a file that was opened here: the lock is that of the open file
  /// description. For one that was inherited, whose description other processes have as well, F_SETLK: the lock is that
  /// of the process.
  record_lock(int fd, int command) : fd_(fd), command_(command) { attempt(); }
  record_lock(const record_lock&) = delete;
  record_lock& operator=(const record_lock&) = delete;
  ~record_lock() {
    if (state_ == state::locked) set(F_UNLCK);
  }

  /// Another process has it.
  [[nodiscard]] bool is_denied() const { return state_ == state::denied; }

  /// Waits for another process. After a stop signal was kept it sets `wait_ends`, if it is not set yet, to 5 seconds
  /// later, and throws destination_error from then on.
  // Attempts, since signals do not end F_SETLKW: their handlers let calls continue. The pauses are short: another
  // process may release the lock for a few milliseconds only.
  void wait(const std::string& name, std::optional<clock::time_point>& wait_ends) {
    constexpr std::chrono::milliseconds longest_pause{5};
    constexpr std::chrono::seconds patience{5};
    std::chrono::milliseconds pause{1};
    for (; is_denied(); attempt()) {
      const int signal = kept_stop_signal::received();
      if (!wait_ends && signal != 0) wait_ends = clock::now() + patience;
      if (wait_ends && clock::now() >= *wait_ends) fail_to_lock(name, signal);
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, longest_pause);
    }
  }

 private:
  enum class state { locked, denied, without };

  void attempt() {
    if (set(F_WRLCK)) {
      state_ = state::locked;
    } else {
      state_ = errno == EAGAIN || errno == EACCES ? state::denied : state::without;
    }
  }

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

/// The same file again, since a shell opens it for writing only. Nothing where it may not be read.
// It is kept open as long as the destination: when any descriptor of a file is closed, its F_SETLK locks are released.
io::descriptor open_to_read(int fd) {
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  return io::descriptor(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

/// Whether the next record would be appended to a part of one: that of a process which ended while it wrote.
bool ends_inside_line(int fd, std::uint64_t size) {
  char last = '\n';
  return size > 0 && ::pread(fd, &last, 1, static_cast<off_t>(size - 1)) == 1 && last != '\n';
}

/// Whether the file holds no complete line, but at most the first part of a header.
bool has_no_line(int fd, std::uint64_t size) {
  std::array<char, 256> first{};  // more than a header has
  if (size == 0) return true;
  if (size >= first.size()) return false;
  const ssize_t got = ::pread(fd, first.data(), first.size(), 0);
  return got > 0 && std::string_view(first.data(), static_cast<std::size_t>(got)).find('\n') == std::string_view::npos;
}

/// To disk. Pipes, devices and some filesystems cannot: that is no fault of the write.
void synchronize(int fd, const std::string& name) {
  const int result = uninterrupted([&] { return ::fsync(fd); });
  if (result != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail(name, errno);
}

void synchronize_folder(const fs::path& file, const std::string& name) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const io::descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) synchronize(fd.get(), name);  // a folder that may be written but not read cannot be opened
}

}  // namespace

bool names_descriptor(const std::string& where) { return descriptor_written(follow_links(where, where)).has_value(); }

destination::destination(const std::optional<std::string>& where, writing how, const io::open_descriptors& given)
    : name_(where.value_or("standard output")), how_(how) {
  const fs::path path = where ? follow_links(*where, name_) : fs::path("/dev/stdout");
  if (const std::optional<int> number = descriptor_written(path)) {
    if (where && ::fcntl(*number, F_GETFD) < 0) fail(name_, errno);
    // a standard output or error that was closed fails when it is written, which a stage of a pipeline survives
    const bool is_for_writing = *number == STDOUT_FILENO || *number == STDERR_FILENO;
    if (where && !is_for_writing && !given.contains(*number)) fail(name_, EBADF);
    fd_ = io::descriptor::borrowed(*number);
    open_in_place({}, false);
    return;
  }
  if (path.empty()) fail(name_, ENOENT);
  struct stat old{};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail(name_, errno);
  if (exists && how == writing::once) fail(name_, EEXIST);
  const bool regular = !exists || S_ISREG(old.st_mode);
  if (!regular || how == writing::live || how == writing::append) {
    open_in_place(path, regular);
    return;
  }
  // a rename would not ask: a file that is not to be written is not to be replaced
  if (exists && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail(name_, errno);
  final_path_ = path;
  if (exists) files_->set_output(old);
  open_temporary();
}

void destination::open_in_place(const fs::path& path, bool regular) {
  if (how_ == writing::replacing) {
    throw config::usage_error(printable(name_) +
                              " is no file that every snapshot could replace; give --output a regular file, or take "
                              "another --format");
  }
  const bool is_appended_file = fd_ && is_appended_to(fd_.get());
  const bool appends = how_ == writing::append && (regular || is_appended_file);
  how_ = appends ? writing::append : writing::live;
  if (fd_) {
    note_output();
    if (is_appended_file) lock_command_ = F_SETLK;
    if (appends) readable_ = open_to_read(fd_.get());
    return;
  }
  const int flags = O_CLOEXEC | O_NOCTTY | (regular ? O_CREAT : 0) | (appends ? O_APPEND : 0);
  const auto open_for = [&](int access) {
    return io::descriptor(uninterrupted([&] { return ::open(path.c_str(), access | flags, 0666); }));
  };
  if (appends) fd_ = open_for(O_RDWR);  // its last byte is read
  if (!fd_) fd_ = open_for(O_WRONLY);   // it may be written, but not read
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
    fd_ = temporary_.create_beside(final_path_);
  } catch (const std::system_error& error) {
    fail(name_, error.code().value());
  }
  struct stat file{};
  if (::fstat(fd_.get(), &file) == 0) files_->set_temporary(file);
  if (::stat(final_path_.c_str(), &file) == 0) take_after(fd_.get(), file);
}

// Late: until something is written, the old text may turn out to be an input.
void destination::make_empty() {
  if (!std::exchange(holds_old_text_, false)) return;
  if (uninterrupted([&] { return ::ftruncate(fd_.get(), 0); }) != 0) fail(name_, errno);
}

destination::~destination() = default;

void destination::write(std::string_view text) {
  write([text](const text_sink& out) { out(text); });
}

void destination::write(const std::function<void(const text_sink&)>& pieces) {
  prepare();
  if (!lock_command_) return write_record(pieces);
  record_lock alone(fd_.get(), *lock_command_);
  alone.wait(name_, lock_wait_ends_);
  write_record(pieces);
}

bool destination::try_write(const std::function<void(const text_sink&)>& pieces) {
  prepare();
  if (!lock_command_) {
    write_record(pieces);
    return true;
  }
  const record_lock alone(fd_.get(), *lock_command_);
  if (alone.is_denied()) return false;
  write_record(pieces);
  return true;
}

void destination::fail_locked() const { fail_to_lock(name_, lock_category::reports_wait); }

void destination::prepare() {
  if (how_ == writing::replacing && temporary_.path().empty()) open_temporary();
  make_empty();
}

void destination::write_record(const std::function<void(const text_sink&)>& pieces) {
  constexpr std::size_t block_bytes = std::size_t{256} * 1024;
  const std::uint64_t size_before = size_of(fd_.get());
  std::uint64_t written = 0;
  const int readable = readable_ ? readable_.get() : fd_.get();
  if (how_ == writing::append) fresh_ = has_no_line(readable, size_before);
  try {
    std::string block;
    if (how_ == writing::append && ends_inside_line(readable, size_before)) block = '\n';
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
  if (how_ == writing::replacing) return appear();
  fresh_ = fresh_ && written == 0;
}

void destination::write_all(std::string_view text, std::uint64_t& written) {
  while (!text.empty()) {
    const ssize_t taken = ::write(fd_.get(), text.data(), text.size());
    if (taken > 0) {
      text.remove_prefix(static_cast<std::size_t>(taken));
      written += static_cast<std::uint64_t>(taken);
    } else if (taken == 0) {
      fail(name_, EIO);  // not for ever
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // somebody made the shared descriptor non-blocking; its flags are not ours to change
      pollfd room{fd_.get(), POLLOUT, 0};
      if (::poll(&room, 1, -1) < 0 && errno != EINTR) fail(name_, errno);
    } else if (errno != EINTR) {
      fail(name_, errno);
    }
  }
}

// The half of a line would spoil the next one as well. Where others have appended since, without a lock, their text
// must stay.
void destination::cut_off(std::uint64_t size_before, std::uint64_t written) {
  if (written == 0 || size_of(fd_.get()) != size_before + written) return;
  // fails only where the file was sealed against it meanwhile; the write's own error is told in any case
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_before)) != 0) return;
}

void destination::appear() {
  const fs::path& now = temporary_.path();
  const bool renamed =
      how_ == writing::once ? rename_to_new(now, final_path_) : ::rename(now.c_str(), final_path_.c_str()) == 0;
  if (!renamed) fail(name_, errno);
  temporary_.release();
  files_->temporary_became_output();
}

void destination::commit() {
  make_empty();
  if (fd_.owned()) synchronize(fd_.get(), name_);
  // a network filesystem may tell only at a close that the disk is full: that of a copy tells as well
  const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) fail(name_, errno);
  if (::close(copy) != 0 && errno != EINTR) fail(name_, errno);
  if (final_path_.empty()) return;
  if (how_ == writing::whole || how_ == writing::once) appear();
  synchronize_folder(final_path_, name_);
}

bool destination::is_terminal() const { return ::isatty(fd_.get()) == 1; }

std::optional<unsigned> destination::terminal_width() const { return terminal_columns(fd_.get()); }

}  // namespace gpuhist::pipeline
