// The signals that stop a run, as a process sees them that has a terminal: each case runs in a child of its own.
#include "pipeline/flow/stop_signals.hpp"

#include "pipeline/report/output/messages.hpp"
#include "pipeline/report/output/temporary_file.hpp"
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
  int status = 0;      // as waitpid() says it
  std::string screen;  // all that was written to the terminal
};

/// Runs in a child, whose terminal `screen` is.
ended on_terminal(const std::function<void(console& screen)>& what) {
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
    what(screen);
    ::_exit(ended_by_itself);
  }
  ended how;
  std::array<char, 256> came{};
  for (ssize_t got = 0; (got = ::read(master, came.data(), came.size())) > 0;) {  // EIO: the child has ended
    how.screen.append(came.data(), static_cast<std::size_t>(got));
  }
  ::waitpid(child, &how.status, 0);
  ::close(master);
  return how;
}

/// What is sent in `send` arrives together.
void at_once(const std::function<void()>& send) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  send();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool was_ended_by(const ended& how, int signal) { return WIFSIGNALED(how.status) && WTERMSIG(how.status) == signal; }

}  // namespace

TEST_CASE("a repeat within a second belongs to the same request: the process goes on") {
  for (const int first : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(first);
    const ended how = on_terminal([&](console& screen) {
      boost::asio::io_context context;
      const std::stop_source stop;
      const stop_signals signals(context, true, stop);
      screen.show("half of it");
      at_once([&] {
        for (int time = 0; time < 2; ++time) ::kill(::getpid(), first);
        ::kill(::getpid(), SIGTERM);  // another one, which is pending together with them
      });
      context.run();
      if (!stop.stop_requested() || signals.received() == 0) ::_exit(1);
    });
    CHECK(WIFEXITED(how.status));
    CHECK(WEXITSTATUS(how.status) == ended_by_itself);
  }
}

TEST_CASE("repeats end a process that does not get to the first within a second, and its line of status is gone") {
  for (const int signal : {SIGINT, SIGHUP}) {
    CAPTURE(signal);
    const ended how = on_terminal([&](console& screen) {
      boost::asio::io_context never_run;
      const stop_signals signals(never_run, true, {});
      screen.show("half of it");
      for (;;) ::raise(signal);
    });
    CHECK(was_ended_by(how, signal));
    CHECK(how.screen.starts_with("\rhalf of it"));
    CHECK(how.screen.ends_with("\r\x1b[J"));
  }
}

TEST_CASE("repeats end a process that takes its time after the first, and its line of status is gone") {
  const ended how = on_terminal([](console& screen) {
    boost::asio::io_context context;
    const std::stop_source stop;
    const stop_signals signals(context, true, stop);
    ::raise(SIGINT);
    context.run();
    if (!stop.stop_requested() || signals.received() != SIGINT) return;
    screen.show("half of it");
    for (;;) ::raise(SIGTERM);  // another one will do
  });
  CHECK(was_ended_by(how, SIGTERM));
  CHECK(how.screen.ends_with("\r\x1b[J"));
}

TEST_CASE("a signal that ends a process where no line shows writes nothing") {
  const ended how = on_terminal([](console& screen) {
    gpuhist::pipeline::end_by_stop_signals();
    screen.show("gone");
    screen.clear();
    ::raise(SIGINT);
  });
  CHECK(was_ended_by(how, SIGINT));
  CHECK(how.screen.ends_with("\r\x1b[K"));
}

TEST_CASE("a signal is kept for the report as long as its keeper lives, and ends the process from then on") {
  const ended how = on_terminal([&](console& screen) {
    {
      const kept_stop_signal kept;
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
      if (kept_stop_signal::received() != 0) ::_exit(2);  // that of the run before is forgotten
    }
    screen.show("half of it");
    ::raise(SIGINT);
  });
  CHECK(was_ended_by(how, SIGINT));
  CHECK(how.screen.ends_with("\r\x1b[J"));
}

TEST_CASE("signals that nobody watched keep what they do") {
  const ended how = on_terminal([&](console& /*screen*/) {
    boost::asio::io_context context;
    const stop_signals signals(context, false, {});
    struct sigaction action{};
    ::sigaction(SIGINT, nullptr, &action);
    if (action.sa_handler != SIG_DFL) ::_exit(1);
  });
  CHECK(WIFEXITED(how.status));
  CHECK(WEXITSTATUS(how.status) == ended_by_itself);
}

TEST_CASE("a signal that ends the process leaves no temporary file, whichever thread it meets") {
  for (const bool other_thread : {false, true}) {
    CAPTURE(other_thread);
    const gpuhist::test::temporary_folder here;
    const ended how = on_terminal([&](console& /*screen*/) {
      gpuhist::pipeline::end_by_stop_signals();
      gpuhist::pipeline::temporary_file file;
      const gpuhist::io::descriptor opened = file.create_beside(here / "result");
      if (here.entries() != 1) ::_exit(1);
      if (!other_thread) ::raise(SIGTERM);
      std::thread([] { ::pthread_kill(::pthread_self(), SIGTERM); }).join();
    });
    CHECK(was_ended_by(how, SIGTERM));
    CHECK(here.entries() == 0);
  }
}

TEST_CASE("a signal that was ignored stays so, and its second one, too") {
  const ended how = on_terminal([](console& /*screen*/) {
    std::signal(SIGHUP, SIG_IGN);
    boost::asio::io_context context;
    {
      const stop_signals signals(context, true, {});
    }
    for (int time = 0; time < 3; ++time) ::raise(SIGHUP);
  });
  CHECK(WIFEXITED(how.status));
  CHECK(WEXITSTATUS(how.status) == ended_by_itself);
}
