// What the program tells people on standard error, outside of reports: messages, and on a terminal one line that is
// rewritten in place and never stands in the way of what else is written there.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace gpuhist::pipeline {

void write_to_standard_error(std::string_view text);

/// "gpuhist: MESSAGE", a line of its own.
void complain(std::string_view message);

/// Erases the line of status that is showing, if there is one, for the last moment of a process that a signal ends.
/// Async-signal-safe; writes nothing that would wait.
void erase_line_of_status() noexcept;

/// A descriptor that people look at, with a line of status that may be showing on it. The cursor stays at the beginning
/// of that line, so that a terminal which grows narrower wraps nothing above it. Main thread only. Writing never
/// throws: nobody could be told.
class console {
 public:
  /// Borrows `fd`.
  explicit console(int fd = STDERR_FILENO) : fd_(fd) {}
  console(const console&) = delete;
  console& operator=(const console&) = delete;
  ~console() { clear(); }

  /// Shows `line` in place of the one that is showing, cut to the width of the terminal, in one write. Shows nothing
  /// while the process is in the background or the terminal takes nothing (Ctrl-S): the run is not to wait for it.
  void show(std::string_view line);

  /// Erases the line. To be called before anything else is written to the terminal.
  void clear();

  /// `text`, whole lines, which do stay; the line of status is out of their way, and shows again after them.
  void say(std::string_view text);

  /// Shows the line again that the last clear() erased.
  void restore();

  /// Whether a write would be taken now.
  [[nodiscard]] bool is_ready() const;

  [[nodiscard]] bool is_terminal() const { return ::isatty(fd_) == 1; }

  /// Whether the terminal is that of this process, and the process in its foreground.
  [[nodiscard]] bool is_in_foreground() const;

  /// Columns that a line may take: one less than the terminal has, because the last one would wrap.
  [[nodiscard]] unsigned room() const;

 private:
  int fd_;
  std::string shown_;   // showing now
  std::string erased_;  // by the last clear()
};

}  // namespace gpuhist::pipeline
