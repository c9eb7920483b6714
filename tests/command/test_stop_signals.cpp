// The signals that stop a run, in a process that has a terminal. Each case runs in a child of its own.
#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "command/command_frame.hpp"
#include "command/signals.hpp"
#include "report/output/messages.hpp"
#include "report/output/temporary_file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <functional>
#include <string>
#include <thread>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::report;

namespace {

constexpr int ended_by_itself = 7;

struct ended {
  int status = 0;      // from waitpid()
  std::string screen;  // all text that was written to the terminal
};

/// Runs `action` in a child whose terminal is `screen`.
ended on_terminal(const std::function<void(console& screen)>& action) {
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, nullptr);
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    clean_up_before_end([]() noexcept {
      erase_line_of_status();
      remove_temporary_file();
    });
    console screen(STDERR_FILENO);
    action(screen);
    ::_exit(ended_by_itself);
  }
  ended result;
  std::array<char, 256> buffer{};
  for (ssize_t length = 0; (length = ::read(master, buffer.data(), buffer.size())) > 0;) {  // EIO: the child has ended
    result.screen.append(buffer.data(), static_cast<std::size_t>(length));
  }
  ::waitpid(child, &result.status, 0);
  ::close(master);
  return result;
}

/// Signals that `send` raises arrive together.
void at_once(const std::function<void()>& send) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  send();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// As a run.
void wait_for_stop(const command_frame& frame) {
  async::event_loop loop;
  const auto attached = frame.attach()(loop);
  loop.run_until([&] { return frame.stop().stop_requested(); });
}

async::task<> next(async::wakeup& requests) { co_await requests.wait(); }

bool was_ended_by(const ended& result, int signal) {
  return WIFSIGNALED(result.status) && WTERMSIG(result.status) == signal;
}

}  // namespace

TEST_CASE("a repeat within a second belongs to the same request: the process continues") {
  for (const int first : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(first);
    const ended result = on_terminal([&](console& screen) {
      const command_frame frame;
      screen.show("half of it");
      at_once([&] {
        for (int time = 0; time < 2; ++time) ::kill(::getpid(), first);
        ::kill(::getpid(), SIGTERM);  // another signal, which is pending together with them
      });
      wait_for_stop(frame);
    });
    CHECK(WIFEXITED(result.status));
    CHECK(WEXITSTATUS(result.status) == ended_by_itself);
  }
}

TEST_CASE("repeats end a process that does not handle the first within a second, and its status line is erased") {
  for (const int signal : {SIGINT, SIGHUP}) {
    CAPTURE(signal);
    const ended result = on_terminal([&](console& screen) {
      const command_frame frame;
      screen.show("half of it");
      for (;;) ::raise(signal);
    });
    CHECK(was_ended_by(result, signal));
    CHECK(result.screen.starts_with("\rhalf of it"));
    CHECK(result.screen.ends_with("\r\x1b[J"));
  }
}

TEST_CASE("repeats end a process that takes its time after the first, and its status line is erased") {
  const ended result = on_terminal([](console& screen) {
    const command_frame frame;
    ::raise(SIGINT);
    wait_for_stop(frame);
    if (kept_stop_signal::received() != SIGINT) return;
    screen.show("half of it");
    for (;;) ::raise(SIGTERM);  // another signal has the same effect
  });
  CHECK(was_ended_by(result, SIGTERM));
  CHECK(result.screen.ends_with("\r\x1b[J"));
}

TEST_CASE("a signal that ends a process without a visible line writes nothing") {
  const ended result = on_terminal([](console& screen) {
    end_by_stop_signals();
    screen.show("gone");
    screen.clear();
    ::raise(SIGINT);
  });
  CHECK(was_ended_by(result, SIGINT));
  CHECK(result.screen.ends_with("\r\x1b[K"));
}

TEST_CASE("a signal is kept for the report while its keeper exists, and afterwards ends the process") {
  const ended result = on_terminal([&](console& screen) {
    {
      const command_frame frame;
      async::event_loop loop;
      frame.attach()(loop).reset();  // the run has ended
      ::raise(SIGTERM);
      loop.poll();
      if (kept_stop_signal::received() != SIGTERM || frame.stop().stop_requested()) ::_exit(1);
    }
    {
      const kept_stop_signal again;
      if (kept_stop_signal::received() != 0) ::_exit(2);  // the signal of the run before is forgotten
    }
    screen.show("half of it");
    ::raise(SIGINT);
  });
  CHECK(was_ended_by(result, SIGINT));
  CHECK(result.screen.ends_with("\r\x1b[J"));
}

TEST_CASE("SIGUSR1 requests the status, also if it arrived before the run") {
  const ended result = on_terminal([&](console& screen) {
    hold_status_signal();
    ::raise(SIGUSR1);
    const command_frame frame;
    async::event_loop loop;
    const auto attached = frame.attach()(loop);
    bool is_requested = false;
    async::spawn(loop, next(*frame.hooks(screen).status_requests),
                 [&](const std::exception_ptr&) noexcept { is_requested = true; });
    loop.run_until([&] { return is_requested; });
  });
  CHECK(WIFEXITED(result.status));
  CHECK(WEXITSTATUS(result.status) == ended_by_itself);
}

TEST_CASE("a signal that ends the process leaves no temporary file, whichever thread receives it") {
  for (const bool other_thread : {false, true}) {
    CAPTURE(other_thread);
    const test::temporary_folder folder;
    const ended result = on_terminal([&](console& /*screen*/) {
      end_by_stop_signals();
      temporary_file file;
      const io::descriptor opened = file.create_beside(folder / "result", {});
      if (folder.entries() != 1) ::_exit(1);
      if (!other_thread) ::raise(SIGTERM);
      std::thread([] { ::pthread_kill(::pthread_self(), SIGTERM); }).join();
      ::sleep(10);  // the thread sanitizer delivers a signal late, in a call that blocks
    });
    CHECK(was_ended_by(result, SIGTERM));
    CHECK(folder.entries() == 0);
  }
}

TEST_CASE("a signal that was ignored stays ignored, also when it is repeated") {
  const ended result = on_terminal([](console& /*screen*/) {
    std::signal(SIGHUP, SIG_IGN);
    static_cast<void>(command_frame());
    for (int time = 0; time < 3; ++time) ::raise(SIGHUP);
  });
  CHECK(WIFEXITED(result.status));
  CHECK(WEXITSTATUS(result.status) == ended_by_itself);
}
