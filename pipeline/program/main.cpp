// The program: what was typed decides the command; here is how a process ends, by status or by signal.
#include "config/options.hpp"
#include "config/usage_error.hpp"
#include "gpu/engines.hpp"
#include "gpu/process_end.hpp"
#include "io/open_descriptors.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/status_signal.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "pipeline/program/commands/commands.hpp"
#include "pipeline/program/memory_reserve.hpp"
#include "pipeline/report/output/destination.hpp"
#include "pipeline/report/output/messages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

namespace {

using namespace gpuhist;
using pipeline::complain;
using pipeline::ending;

// Ends the process as the signal would have: shells see 128+n, service managers a clean stop.
[[noreturn]] void end_by_signal(int signal) {
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
  std::_Exit(128 + signal);  // the signal was blocked
}

// What is opened first takes the number of a closed standard descriptor, and input would be read from it. So it is made
// to be something that can be opened but not used: /dev/null, for the wrong direction.
void occupy_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

std::vector<std::string> environment_of_process() {
  std::vector<std::string> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) all.emplace_back(*each);
  return all;
}

// First of all: from here on SIGUSR1 ends nothing, a signal that ends the process leaves nothing, and a file that grows
// past its limit (SIGXFSZ) is a write that fails.
void settle_signals() {
  pipeline::hold_status_signal();
  pipeline::clean_up_before_end([]() noexcept {
    pipeline::erase_line_of_status();
    pipeline::remove_temporary_file();
  });
  pipeline::end_by_stop_signals();
  std::signal(SIGXFSZ, SIG_IGN);
}

ending run(int argc, const char* const* argv, const io::open_descriptors& given) {
  const auto parsed = config::parse_command_line(argc, argv, environment_of_process());
  if (const auto* asked = std::get_if<config::information>(&parsed)) {
    pipeline::destination({}, pipeline::writing::whole).write(asked->text);
    return {};
  }
  const auto& typed = std::get<config::options>(parsed);
  switch (typed.what) {
    case config::command::report:
      return pipeline::report_results(typed, given);
    case config::command::devices:
      return pipeline::list_devices(typed, given);
    case config::command::repack:
      return pipeline::repack_inputs(typed, given);
    case config::command::count:
      break;
  }
  return pipeline::count(typed, given);
}

// Says what ended the command, and how the process is to end because of it.
int say(const std::exception_ptr& failure, bool pipe_signal_is_ignored) {
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
  } catch (const pipeline::destination_error& e) {
    if (e.code() == std::errc::broken_pipe && !pipe_signal_is_ignored) end_by_signal(SIGPIPE);
    if (!e.is_reported) complain(e.what());
    const int signal = pipeline::kept_stop_signal::received();
    if (e.code() == std::errc::no_lock_available && signal != 0) end_by_signal(signal);  // which ended the wait
  } catch (const std::bad_alloc&) {
    complain("not enough memory");
  } catch (const std::exception& e) {
    complain(e.what());
  }
  return ending::input_failed;
}

// Without tearing anything down.
[[noreturn]] void end_at_once(int status) {
  std::fflush(nullptr);
  std::_Exit(status);
}

// In the usual way, where devices allow that: one may have been lost before there was an engine that could say so.
int end_process(int status) {
  if (gpu::must_end_at_once()) end_at_once(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  pipeline::prepare_for_exhausted_memory();
  settle_signals();
  // a consumer that leaves is told by EPIPE, after which we end by SIGPIPE ourselves, unless our parent ignores it
  const bool pipe_signal_is_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  try {
    const io::open_descriptors given = io::open_descriptors::of_process();
    occupy_closed_descriptors();
    const ending end = run(argc, argv, given);
    if (end.signal != 0) end_by_signal(end.signal);
    if (end.at_once) end_at_once(end.exit_status);
    return end_process(end.exit_status);
  } catch (const pipeline::unclean_end& e) {
    end_at_once(say(e.cause(), pipe_signal_is_ignored));
  } catch (...) {
    return end_process(say(std::current_exception(), pipe_signal_is_ignored));
  }
}
