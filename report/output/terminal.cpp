#include "report/output/terminal.hpp"

#include "report/output/destination.hpp"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace gpuhist::report {
namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): the environment is never written, and the first call is made before any thread
// starts

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool find_locale_is_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

// NOLINTEND(concurrency-mt-unsafe)

constexpr terminal_size usual_size = {.columns = 80};

render_target target_of(bool terminal, terminal_size size) {
  return {.unicode = locale_is_utf8(),
          .width = size.columns,
          .height = size.lines,
          .color = terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb",
          .terminal = terminal,
          .first = true};
}

}  // namespace

bool locale_is_utf8() {
  static const bool answer = find_locale_is_utf8();
  return answer;
}

bool terminal_is_dumb() {
  const std::string_view term = variable("TERM");
  return term.empty() || term == "dumb";
}

std::optional<terminal_size> size_of_terminal(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return terminal_size{.columns = size.ws_col, .lines = size.ws_row};
}

render_target target_for_standard_error() {
  return target_of(::isatty(STDERR_FILENO) == 1, size_of_terminal(STDERR_FILENO).value_or(usual_size));
}

render_target target_for(const destination& output) {
  render_target target = target_of(output.is_terminal(), output.terminal().value_or(usual_size));
  target.first = output.is_fresh();
  return target;
}

}  // namespace gpuhist::report
