// Messages on standard error, and on a terminal a status line that is rewritten in place and does not mix with other
// output.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace gpuhist::report {

void write_to_standard_error(std::string_view text);

/// Writes the line "gpuhist: MESSAGE".
void complain(std::string_view message);

/// Erases the status line, if one is shown, just before a signal ends the process, or before another thread or process
/// writes to the terminal: the next console::show() shows it again. Async-signal-safe; any thread; never blocks.
void erase_line_of_status() noexcept;

/// A descriptor for messages, with an optional status line. The cursor stays at the beginning of the status line, so
/// that a terminal that becomes narrower wraps only this line. Main thread only. Writing never throws, because the
/// error could not be reported.
class console {
 public:
  /// Borrows `fd`.
  explicit console(int fd = STDERR_FILENO) : fd_(fd) {}
  console(const console&) = delete;
  console& operator=(const console&) = delete;
  ~console() { clear(); }

  /// Replaces the status line by `line`, cut to the width of the terminal, in one write. Shows nothing while the
  /// process is in the background or the terminal accepts no output (Ctrl-S), so that the run does not block.
  void show(std::string_view line);

  /// Erases the status line. Call it before anything else is written to the terminal.
  void clear();

  /// Writes `text`, whole lines, above the status line.
  void say(std::string_view text);

  /// Shows the status line again that the last clear() erased.
  void restore();

  /// Whether a write would not block.
  [[nodiscard]] bool is_ready() const;

  [[nodiscard]] bool is_terminal() const { return ::isatty(fd_) == 1; }

  /// Whether the descriptor is the controlling terminal, with this process in the foreground.
  [[nodiscard]] bool is_in_foreground() const;

  /// Columns for a line: one less than the terminal has, because the last one would wrap.
  [[nodiscard]] unsigned room() const;

 private:
  int fd_;
  std::string shown_;   // the status line
  std::string erased_;  // the status line that the last clear() erased
};

}  // namespace gpuhist::report
