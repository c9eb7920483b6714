// The signals that stop a run, in a process that has a terminal. Each case runs in a child of its own.
#include "pipeline/flow/signals.hpp"

#include "report/output/messages.hpp"
#include "report/output/temporary_file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

using namespace gpuhist::pipeline;

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
    gpuhist::pipeline::clean_up_before_end([]() noexcept {
      gpuhist::pipeline::erase_line_of_status();
      gpuhist::pipeline::remove_temporary_file();
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

bool was_ended_by(const ended& result, int signal) {
  return WIFSIGNALED(result.status) && WTERMSIG(result.status) == signal;
}

}  // namespace

TEST_CASE("a repeat within a second belongs to the same request: the process continues") {
  for (const int first : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(first);
    const ended result = on_terminal([&](console& screen) {
      boost::asio::io_context context;
      const std::stop_source stop;
      const stop_signals signals(context, true, stop);
      screen.show("half of it");
      at_once([&] {
        for (int time = 0; time < 2; ++time) ::kill(::getpid(), first);
        ::kill(::getpid(), SIGTERM);  // another signal, which is pending together with them
      });
      context.run();
      if (!stop.stop_requested() || signals.received() == 0) ::_exit(1);
    });
    CHECK(WIFEXITED(result.status));
    CHECK(WEXITSTATUS(result.status) == ended_by_itself);
  }
}

TEST_CASE("repeats end a process that does not handle the first within a second, and its status line is erased") {
  for (const int signal : {SIGINT, SIGHUP}) {
    CAPTURE(signal);
    const ended result = on_terminal([&](console& screen) {
      boost::asio::io_context never_run;
      const stop_signals signals(never_run, true, {});
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
    boost::asio::io_context context;
    const std::stop_source stop;
    const stop_signals signals(context, true, stop);
    ::raise(SIGINT);
    context.run();
    if (!stop.stop_requested() || signals.received() != SIGINT) return;
    screen.show("half of it");
    for (;;) ::raise(SIGTERM);  // another signal has the same effect
  });
  CHECK(was_ended_by(result, SIGTERM));
  CHECK(result.screen.ends_with("\r\x1b[J"));
}

TEST_CASE("a signal that ends a process without a visible line writes nothing") {
  const ended result = on_terminal([](console& screen) {
    gpuhist::pipeline::end_by_stop_signals();
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
      const kept_stop_signal keeper;
      boost::asio::io_context context;
      const std::stop_source stop;
      {
        stop_signals of_run(context, true, stop);
        of_run.ignore();  // the run has ended
        context.run();
      }
      ::raise(SIGTERM);
      if (kept_stop_signal::received() != SIGTERM || stop.stop_requested()) ::_exit(1);
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

TEST_CASE("signals that are not watched keep their effect") {
  const ended result = on_terminal([&](console& /*screen*/) {
    boost::asio::io_context context;
    const stop_signals signals(context, false, {});
    struct sigaction action{};
    ::sigaction(SIGINT, nullptr, &action);
    if (action.sa_handler != SIG_DFL) ::_exit(1);
  });
  CHECK(WIFEXITED(result.status));
  CHECK(WEXITSTATUS(result.status) == ended_by_itself);
}

TEST_CASE("a signal that ends the process leaves no temporary file, whichever thread receives it") {
  for (const bool other_thread : {false, true}) {
    CAPTURE(other_thread);
    const gpuhist::test::temporary_folder folder;
    const ended result = on_terminal([&](console& /*screen*/) {
      gpuhist::pipeline::end_by_stop_signals();
      gpuhist::pipeline::temporary_file file;
      const gpuhist::io::descriptor opened = file.create_beside(folder / "result", {});
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
    boost::asio::io_context context;
    {
      const stop_signals signals(context, true, {});
    }
    for (int time = 0; time < 3; ++time) ::raise(SIGHUP);
  });
  CHECK(WIFEXITED(result.status));
  CHECK(WEXITSTATUS(result.status) == ended_by_itself);
}
