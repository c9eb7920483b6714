// The signals that stop a run, as a process sees them that has a terminal: each case runs in a child of its own.
#include "pipeline/stop_signals.hpp"

#include "pipeline/output/messages.hpp"

#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>

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

bool was_ended_by(const ended& how, int signal) { return WIFSIGNALED(how.status) && WTERMSIG(how.status) == signal; }

}  // namespace

TEST_CASE("a second signal ends a process that does not get to the first, and its line of status is gone") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    const ended how = on_terminal([&](console& screen) {
      boost::asio::io_context never_run;
      const stop_signals signals(never_run, true, {});
      screen.show("half of it");
      for (int time = 0; time < 2; ++time) ::raise(signal);
    });
    CHECK(was_ended_by(how, signal));
    CHECK(how.screen.starts_with("\rhalf of it"));
    CHECK(how.screen.ends_with("\r\x1b[J"));
  }
}

TEST_CASE("a second signal ends a process that takes its time after the first, and its line of status is gone") {
  const ended how = on_terminal([](console& screen) {
    boost::asio::io_context context;
    const std::stop_source stop;
    const stop_signals signals(context, true, stop);
    ::raise(SIGINT);
    context.run();
    if (!stop.stop_requested() || signals.received() != SIGINT) return;
    screen.show("half of it");
    ::raise(SIGTERM);  // another one will do
  });
  CHECK(was_ended_by(how, SIGTERM));
  CHECK(how.screen.ends_with("\r\x1b[J"));
}

TEST_CASE("a signal that ends a process where no line shows writes nothing") {
  const ended how = on_terminal([](console& screen) {
    boost::asio::io_context never_run;
    const stop_signals signals(never_run, true, {});
    screen.show("gone");
    screen.clear();
    for (int time = 0; time < 2; ++time) ::raise(SIGINT);
  });
  CHECK(was_ended_by(how, SIGINT));
  CHECK(how.screen.ends_with("\r\x1b[K"));
}

TEST_CASE("signals that nobody watched keep what they do, and those that are watched no more end the process at once") {
  const ended how = on_terminal([&](console& screen) {
    boost::asio::io_context context;
    {
      const stop_signals signals(context, false, {});
    }
    struct sigaction action{};
    ::sigaction(SIGINT, nullptr, &action);
    if (action.sa_handler != SIG_DFL) return;
    for (int time = 0; time < 2; ++time) {
      const stop_signals signals(context, true, {});
      ::raise(SIGTERM);
      context.restart();
      context.run();
    }
    screen.show("half of it");
    ::raise(SIGINT);
  });
  CHECK(was_ended_by(how, SIGINT));
  CHECK(how.screen.ends_with("\r\x1b[J"));
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
