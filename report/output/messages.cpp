#include "report/output/messages.hpp"

#include "report/output/terminal.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

namespace gpuhist::report {
namespace {

constexpr std::string_view erase_to_end_of_line = "\x1b[K";
constexpr std::string_view erase_to_end_of_screen = "\x1b[J";

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process that shares the descriptor set O_NONBLOCK
      pollfd writable{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// The descriptor with a status line, or -1. Global, because signal handlers read it.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> status_line_fd = -1;
static_assert(std::atomic<int>::is_always_lock_free);

// False for a descriptor that is not the controlling terminal.
bool is_in_background(int fd) {
  const pid_t foreground = ::tcgetpgrp(fd);
  return foreground >= 0 && foreground != ::getpgrp();
}

bool takes_bytes(int fd) {
  pollfd writable{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&writable, 1, 0) > 0 && (writable.revents & POLLOUT) != 0;
}

}  // namespace

void erase_line_of_status() noexcept {
  const int fd = status_line_fd.exchange(-1);
  if (fd < 0 || is_in_background(fd) || !takes_bytes(fd)) return;
  // the cursor is at the beginning of the line, or after the ^C that the terminal wrote; there is no text below
  constexpr std::string_view erase = "\r\x1b[J";
  [[maybe_unused]] const ssize_t written = ::write(fd, erase.data(), erase.size());
}

void write_to_standard_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void complain(std::string_view message) { write_to_standard_error("gpuhist: " + std::string(message) + "\n"); }

void console::show(std::string_view line) {
  if (is_in_background(fd_)) {
    status_line_fd = -1;
    shown_.clear();  // a shell uses the terminal and has moved the cursor
    return;
  }
  if (!is_ready()) return;
  const std::size_t width = room();
  // the terminal wrapped a line that became too long: erase the lines below, too
  const std::string_view erase = shown_.size() > width ? erase_to_end_of_screen : erase_to_end_of_line;
  shown_ = line.substr(0, width);
  status_line_fd = fd_;
  write_all(fd_, "\r" + shown_ + std::string(erase) + "\r");
}

void console::clear() {
  erased_ = std::exchange(shown_, {});
  if (erased_.empty()) return;
  if (!is_in_background(fd_)) {
    write_all(fd_, "\r" + std::string(erased_.size() > room() ? erase_to_end_of_screen : erase_to_end_of_line));
  }
  status_line_fd = -1;
}

void console::say(std::string_view text) {
  clear();
  write_all(fd_, text);
  restore();
}

void console::restore() {
  if (!erased_.empty()) show(std::exchange(erased_, {}));
}

bool console::is_ready() const { return takes_bytes(fd_); }

bool console::is_in_foreground() const { return ::tcgetpgrp(fd_) == ::getpgrp(); }

unsigned console::room() const {
  constexpr terminal_size usual{.columns = 80};
  return std::max(2U, size_of_terminal(fd_).value_or(usual).columns) - 1;
}

}  // namespace gpuhist::report
