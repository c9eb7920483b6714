// The program: parses the command line, runs the command, and ends the process by exit status or by signal.
#include "command/commands.hpp"
#include "command/file_guard.hpp"
#include "command/signals.hpp"
#include "command/typed_options.hpp"
#include "config/options.hpp"
#include "config/usage_error.hpp"
#include "gpu/engines.hpp"
#include "gpu/process_end.hpp"
#include "io/open_descriptors.hpp"
#include "library/file_run.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"
#include "report/output/temporary_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

namespace {

using namespace gpuhist;
using command::ending;
using report::complain;

// Ends the process by the signal's default action: shells see 128+n, service managers a clean stop.
[[noreturn]] void end_by_signal(int signal) {
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
  std::_Exit(128 + signal);  // the signal was blocked
}

// A file that the program opens would get the number of a closed standard descriptor. Closed ones are therefore opened
// on /dev/null, for the wrong direction: reading from standard input, or writing to the others, fails.
void occupy_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

// The usual soft limit of 1024 is there for programs that call select(). While a device decodes, more files are open.
// Failing changes nothing.
void permit_more_descriptors() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Enough to throw, to unwind and to print the cause. The allocator maps a block of this size separately: releasing it
// returns its address space to the system.
constexpr std::size_t reserve_bytes = std::size_t{1} << 20U;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): handlers can access only globals
std::atomic<void*> reserve = nullptr;
std::atomic<bool> is_exhausted = false;
std::terminate_handler usual_end = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void on_failed_allocation() {
  if (void* const block = reserve.exchange(nullptr)) return std::free(block);  // NOLINT(cppcoreguidelines-no-malloc)
  is_exhausted = true;
  throw std::bad_alloc();
}

// Allocates nothing.
void on_terminate() {
  if (!is_exhausted) usual_end();
  constexpr std::string_view message = "gpuhist: memory is exhausted: the run ends without its result\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  report::remove_temporary_file();
  std::_Exit(ending::input_failed);
}

// Allocates a reserve of memory and installs the handlers of failed allocations. The first failed allocation releases
// the reserve and is repeated, so that the run can end in order. Later ones throw std::bad_alloc as usual. If that
// exception cannot be caught (below a noexcept function, in a thread of a library), the process ends with a message
// and exit status 1. Only for the program: a library must not replace the handlers of its process. To be called by the
// main thread before other threads start.
void prepare_for_exhausted_memory() {
  reserve = std::malloc(reserve_bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  std::set_new_handler(on_failed_allocation);
  usual_end = std::set_terminate(on_terminate);
  // without memory, libarchive prints "Out of memory" and calls exit() on the thread that uses it
  std::atexit(report::remove_temporary_file);
}

std::vector<std::string> environment_of_process() {
  std::vector<std::string> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) all.emplace_back(*each);
  return all;
}

// Called first. Afterwards SIGUSR1 does not end the process, a signal that ends it removes the temporary file and the
// progress line, and a file that exceeds its size limit (SIGXFSZ) is a failed write.
void set_up_signals() {
  command::hold_status_signal();
  command::clean_up_before_end([]() noexcept {
    report::erase_line_of_status();
    report::remove_temporary_file();
  });
  command::end_by_stop_signals();
  std::signal(SIGXFSZ, SIG_IGN);
}

ending run(const config::options& typed, const io::open_descriptors& open_descriptors) {
  command::refuse_to_write_what_is_read(typed);
  switch (typed.what) {
    case config::command::report:
      return command::report_results(typed, open_descriptors);
    case config::command::devices:
      return command::list_devices(typed, open_descriptors);
    case config::command::filter:
      return command::filter_inputs(typed, open_descriptors);
    case config::command::repack:
      return command::repack_inputs(typed, open_descriptors);
    case config::command::batch:
      return command::batch(typed, open_descriptors);
    case config::command::merge:
      return command::merge(typed, open_descriptors);
    case config::command::changes:
      return command::find_changes(typed, open_descriptors);
    case config::command::diff:
      return command::find_differences(typed, open_descriptors);
    case config::command::sample:
      return command::sample(typed, open_descriptors);
    case config::command::count:
      break;
  }
  return command::count(typed, open_descriptors);
}

ending run(int argc, const char* const* argv, const io::open_descriptors& open_descriptors) {
  const auto parsed = config::parse_command_line(argc, argv, environment_of_process());
  if (const auto* information = std::get_if<config::information>(&parsed)) {
    report::destination({}, report::writing::whole).write(information->text);
    return {};
  }
  const auto& typed = std::get<config::options>(parsed);
  try {
    return run(typed, open_descriptors);
  } catch (const config::option_error& error) {
    throw command::with_place(error, typed);
  }
}

// Prints the error that ended the command. Returns the exit status, or ends the process by a signal.
int report_failure(const std::exception_ptr& failure, bool pipe_signal_is_ignored) {
  try {
    std::rethrow_exception(failure);
  } catch (const config::usage_error& e) {
    complain(std::string(e.what()) + "\ngpuhist: see gpuhist --help");
    return ending::wrong_usage;
  } catch (const gpu::memory_shortage& e) {
    complain(e.what());
  } catch (const gpu::engine_error& e) {
    complain(e.what());
    return ending::wrong_usage;
  } catch (const report::destination_error& e) {
    if (e.code() == std::errc::broken_pipe && !pipe_signal_is_ignored) end_by_signal(SIGPIPE);
    if (!e.is_reported) complain(e.what());
    const int signal = command::kept_stop_signal::received();
    if (e.code() == std::errc::no_lock_available && signal != 0)
      end_by_signal(signal);  // it ended the wait for the lock
  } catch (const std::bad_alloc&) {
    complain("not enough memory");
  } catch (const std::exception& e) {
    complain(e.what());
  }
  return ending::input_failed;
}

// Ends the process without destructors and exit handlers.
[[noreturn]] void end_at_once(int status) {
  std::fflush(nullptr);
  std::_Exit(status);
}

// Ends in the usual way if devices allow it. A device may have been lost before an engine existed to report that.
int end_process(int status) {
  if (gpu::must_end_at_once()) end_at_once(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_for_exhausted_memory();
  set_up_signals();
  // A write after the reader has left then fails with EPIPE, and the process ends by SIGPIPE itself, unless its parent
  // ignores that signal.
  const bool pipe_signal_is_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  try {
    const io::open_descriptors open_descriptors = io::open_descriptors::of_process();
    occupy_closed_descriptors();
    permit_more_descriptors();
    const ending end = run(argc, argv, open_descriptors);
    if (end.signal != 0) end_by_signal(end.signal);
    if (end.at_once) end_at_once(end.exit_status);
    return end_process(end.exit_status);
  } catch (const pipeline::unclean_end& e) {
    end_at_once(report_failure(e.cause(), pipe_signal_is_ignored));
  } catch (...) {
    return end_process(report_failure(std::current_exception(), pipe_signal_is_ignored));
  }
}
