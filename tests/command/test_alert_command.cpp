// The command of --exec, with the real /bin/sh.
#include "command/alert_command.hpp"
#include "command/child_process.hpp"
#include "io/descriptor.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;
using strings = std::vector<std::string>;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void wait_for(const std::string& path) {
  const auto deadline = clock_type::now() + 30s;
  while (::access(path.c_str(), F_OK) != 0) {
    REQUIRE(clock_type::now() < deadline);
    std::this_thread::sleep_for(1ms);
  }
}

/// Commands in a folder, and all that they cause to be reported.
class commands {
 public:
  const test::temporary_folder folder;

  explicit commands(const std::string& command, alert_command_setting setting = {}) {
    setting.command = "cd '" + (folder / "") + "'; " + command;
    setting.report = [this](std::string_view message) {
      const std::lock_guard lock(mutex_);
      messages_.emplace_back(message);
    };
    made_.emplace(std::move(setting));
  }

  void pass(const std::string& condition, const std::string& line = "{}\n") { made_->pass({condition, line}); }
  void finish() { made_->finish(); }
  void destroy() { made_.reset(); }

  strings messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

  /// A file that commands have written.
  [[nodiscard]] std::string written(std::string_view name = "out") const { return content(folder / name); }

 private:
  std::mutex mutex_;
  strings messages_;
  std::optional<alert_command> made_;  // last: its thread uses the others
};

/// As the descriptor of a stop signal.
class stop_request {
 public:
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  void send() const { REQUIRE(::eventfd_write(fd_.get(), 1) == 0); }

 private:
  io::descriptor fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

/// Runs `command` once and returns what it wrote to "out".
std::string output_of(const std::string& command) {
  commands all(command);
  all.pass("x");
  all.finish();
  CHECK(all.messages() == strings{});
  return all.written();
}

/// Signals 32 and 33: glibc uses them itself, and posix_spawn() ignores them in every child.
constexpr unsigned long long of_glibc = 3ULL << 31U;

clock_type::duration time_of(const auto& action) {
  const auto begin = clock_type::now();
  action();
  return clock_type::now() - begin;
}

}  // namespace

TEST_CASE("each alert is the standard input of one command, in the order of alerts, with its condition") {
  commands all(R"(printf '%s|' "$GPUHIST_CONDITION" >> out; cat >> out)");
  std::string expected;
  for (int number = 0; number < 40; ++number) {
    const std::string condition = "digit > 0." + std::to_string(number) + " && 'a b' \"$HOME\" \n > 1";
    const std::string line = "{\"number\":" + std::to_string(number) + "}\n";
    expected += condition + "|" + line;
    all.pass(condition, line);
  }
  all.finish();
  CHECK(all.written() == expected);
  CHECK(all.messages() == strings{});
}

TEST_CASE("one command runs at a time") {
  commands all("mkdir lock && sleep 0.02 && rmdir lock && echo >> out");
  for (int number = 0; number < 10; ++number) all.pass("x");
  all.finish();
  CHECK(all.written() == std::string(10, '\n'));
  CHECK(all.messages() == strings{});
}

TEST_CASE("an alert is passed without waiting; those beyond the capacity are counted and reported once") {
  commands all("echo >> out; until [ -e go ]; do sleep 0.01; done", {.capacity = 4});
  all.pass("x");
  wait_for(all.folder / "out");  // so that it does not wait
  const auto taken = time_of([&] {
    for (int number = 0; number < 16; ++number) all.pass("x");
  });
  CHECK(taken < 5s);
  CHECK(all.messages() == strings{});
  std::ignore = all.folder.file("go", "");
  all.finish();
  CHECK(all.written() == std::string(5, '\n'));
  CHECK(all.messages() == strings{"--exec: 12 alerts were not passed to the command, because 4 were waiting"});
}

TEST_CASE("one dropped alert is reported in the singular, and 64 alerts may wait") {
  commands all("echo >> out; until [ -e go ]; do sleep 0.01; done");
  all.pass("x");
  wait_for(all.folder / "out");
  for (int number = 0; number < 65; ++number) all.pass("x");
  std::ignore = all.folder.file("go", "");
  all.finish();
  CHECK(all.written() == std::string(65, '\n'));
  CHECK(all.messages() == strings{"--exec: 1 alert was not passed to the command, because 64 were waiting"});
}

TEST_CASE("a command that fails is reported with its condition and status, and the next one runs") {
  commands all(
      R"(echo >> out; case $GPUHIST_CONDITION in a) exit 3;; b) kill -KILL $$;; c) ./absent 2> /dev/null;; esac)");
  for (const char* const condition : {"a", "b", "c", "d", "e\x1b[2J"}) all.pass(condition);
  all.finish();
  CHECK(all.written() == "\n\n\n\n\n");
  CHECK(all.messages() == strings{"--exec: the command for 'a' ended with status 3",
                                  "--exec: the command for 'b' was ended by SIGKILL",
                                  "--exec: the command for 'c' ended with status 127"});
}

TEST_CASE("conditions are safe to print in messages") {
  commands all("exit 1");
  all.pass("\x1b[2J");
  all.finish();
  CHECK(all.messages() == strings{"--exec: the command for '\\x1b[2J' ended with status 1"});
}

TEST_CASE("a command that cannot be started is reported") {
  commands all("true");
  all.pass(std::string(1U << 20U, 'x'));  // more than a variable may have
  all.pass("y");
  all.finish();
  REQUIRE(all.messages().size() == 1);
  CHECK(all.messages().front().ends_with("x' cannot be started: Argument list too long"));
}

TEST_CASE("a command that begins with a hyphen is no option of the shell") {
  child_process child;
  const strings environment = {"PATH=/nowhere"};
  REQUIRE(child.start("-e", environment) == 0);
  std::optional<child_end> ended;
  while (!(ended = child.take_end())) std::this_thread::sleep_for(1ms);
  CHECK(text_of(*ended) == "ended with status 127");
}

TEST_CASE("a line larger than the pipe is read completely") {
  std::string line(3'000'000, 'x');
  for (std::size_t at = 0; at < line.size(); at += 7) line[at] = static_cast<char>('a' + at % 26);
  line += '\n';
  commands all("sleep 0.05; cat > out");
  all.pass("x", line);
  all.finish();
  CHECK((all.written() == line));
  CHECK(all.messages() == strings{});
}

TEST_CASE("a command that does not read its input does no harm, for a small line and for a large one") {
  const std::string large(3'000'000, 'x');
  for (const char* const command : {"echo >> out", "exec 0<&-; sleep 0.05; echo >> out", "sleep 0.05; echo >> out"}) {
    CAPTURE(command);
    commands all(command);
    all.pass("x");
    all.pass("x", large);
    all.pass("x", "");
    CHECK(time_of([&] { all.finish(); }) < 20s);
    CHECK(all.written() == "\n\n\n");
    CHECK(all.messages() == strings{});
  }
}

TEST_CASE("a process that a command leaves in the background with its input is not waited for") {
  commands all("sleep 300 <&0 2>/dev/null & echo $! > out");
  all.pass("x", std::string(3'000'000, 'x'));
  CHECK(time_of([&] { all.finish(); }) < 20s);
  CHECK(all.messages() == strings{});
  const pid_t left = std::stoi(all.written());
  CHECK(::kill(left, SIGKILL) == 0);
}

TEST_CASE("a command inherits neither descriptors nor ignored or blocked signals") {
  const io::descriptor inheritable(::open("/dev/null", O_RDONLY));
  const auto pipe_before = std::signal(SIGPIPE, SIG_IGN);
  const auto usr2_before = std::signal(SIGUSR2, SIG_IGN);
  sigset_t blocked;
  sigset_t mask_before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);
  std::istringstream signals(output_of("exec cat /proc/self/status > out"));
  const std::string descriptors = output_of("exec 1> out; exec ls /proc/self/fd");
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  std::signal(SIGUSR2, usr2_before);
  std::signal(SIGPIPE, pipe_before);
  CHECK(descriptors == "0\n1\n2\n3\n");  // 3: the folder that ls reads
  int found = 0;
  for (std::string line; std::getline(signals, line);) {
    if (!line.starts_with("SigBlk:") && !line.starts_with("SigIgn:")) continue;
    CHECK((std::stoull(line.substr(8), nullptr, 16) & ~of_glibc) == 0);
    ++found;
  }
  CHECK(found == 2);
}

TEST_CASE("an ignored SIGHUP stays ignored") {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  const std::string status = output_of("exec grep SigIgn /proc/self/status > out");
  std::signal(SIGHUP, before);
  CHECK((std::stoull(status.substr(8), nullptr, 16) & ~of_glibc) == 1);
}

TEST_CASE("the standard output of a command is the standard error of the process") {
  const test::temporary_folder folder;
  const io::descriptor file(::open((folder / "stderr").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const io::descriptor before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  REQUIRE(::dup3(file.get(), STDERR_FILENO, O_CLOEXEC) == STDERR_FILENO);
  commands all("echo output; echo error >&2");
  all.pass("x");
  all.finish();
  REQUIRE(::dup2(before.get(), STDERR_FILENO) == STDERR_FILENO);
  CHECK(content(folder / "stderr") == "output\nerror\n");
}

TEST_CASE("exit statuses are known also where the parent ignored SIGCHLD") {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  commands all("exit 4");
  all.pass("x");
  all.finish();
  std::signal(SIGCHLD, before);
  CHECK(all.messages() == strings{"--exec: the command for 'x' ended with status 4"});
}

TEST_CASE("the command gets neither the condition nor the command of an outer gpuhist") {
  ::setenv("GPUHIST_CONDITION", "outer", 1);
  ::setenv("GPUHIST_EXEC", "outer", 1);
  const std::string variables = output_of("env | grep -E '^GPUHIST_(CONDITION|EXEC)' > out");
  ::unsetenv("GPUHIST_CONDITION");
  ::unsetenv("GPUHIST_EXEC");
  CHECK(variables == "GPUHIST_CONDITION=x\n");
}

TEST_CASE("after a stop signal, the command that runs may end, and those that wait are dropped") {
  const stop_request stop;
  commands all("echo $GPUHIST_CONDITION >> begun; until [ -e go ]; do sleep 0.01; done; echo >> ended",
               {.stop_descriptor = stop.descriptor()});
  for (const char* const condition : {"a", "b", "c"}) all.pass(condition);
  wait_for(all.folder / "begun");
  stop.send();
  std::this_thread::sleep_for(50ms);
  std::ignore = all.folder.file("go", "");
  all.finish();
  all.pass("d");
  CHECK(all.written("begun") == "a\n");
  CHECK(all.written("ended") == "\n");
  CHECK(all.messages() == strings{"--exec: 2 alerts were not passed to the command, because a signal ended the run"});
}

TEST_CASE("a command that does not end after a stop signal gets SIGTERM, with all processes of its group") {
  const stop_request stop;
  commands all("(trap 'echo > child; exit' TERM; echo > begun; while :; do sleep 0.01; done) & wait",
               {.stop_descriptor = stop.descriptor(), .patience = 200ms});
  all.pass("a");
  wait_for(all.folder / "begun");
  stop.send();
  const auto taken = time_of([&] { all.finish(); });
  CHECK(taken >= 190ms);
  CHECK(taken < 20s);
  wait_for(all.folder / "child");
  CHECK(
      all.messages() ==
      strings{"--exec: the command for 'a' was ended by SIGTERM; gpuhist sent SIGTERM 1 second after the stop signal"});
}

TEST_CASE("a suspended command ends by SIGTERM, too") {
  const stop_request stop;
  commands all("echo > begun; kill -STOP $$", {.stop_descriptor = stop.descriptor(), .patience = 50ms, .grace = 30s});
  all.pass("a");
  wait_for(all.folder / "begun");
  stop.send();
  CHECK(time_of([&] { all.finish(); }) < 20s);
  REQUIRE(all.messages().size() == 1);
  CHECK(all.messages().front().starts_with("--exec: the command for 'a' was ended by SIGTERM"));
}

TEST_CASE("a command that ends with status 0 because of SIGTERM is reported") {
  const stop_request stop;
  commands all("trap 'exit 0' TERM; echo > begun; while :; do sleep 0.01; done",
               {.stop_descriptor = stop.descriptor(), .patience = 0ms});
  all.pass("a");
  wait_for(all.folder / "begun");
  stop.send();
  all.finish();
  CHECK(
      all.messages() ==
      strings{"--exec: the command for 'a' ended with status 0; gpuhist sent SIGTERM 0 seconds after the stop signal"});
}

TEST_CASE("a command that ignores SIGTERM is not waited for without end") {
  const stop_request stop;
  commands all("trap '' TERM; echo $$ > pid; mv pid begun; sleep 300 2> /dev/null",
               {.stop_descriptor = stop.descriptor(), .patience = 0ms, .grace = 100ms});
  all.pass("a", std::string(3'000'000, 'x'));
  wait_for(all.folder / "begun");
  stop.send();
  CHECK(time_of([&] { all.finish(); }) < 20s);
  REQUIRE(all.messages().size() == 1);
  CHECK(all.messages().front() ==
        "--exec: the command for 'a' still runs; gpuhist sent SIGTERM 0 seconds after the stop signal and no longer "
        "waits");
  CHECK(::kill(-std::stoi(all.written("begun")), SIGKILL) == 0);
}

TEST_CASE("the destructor waits as finish() does") {
  commands all("sleep 0.05; echo >> out");
  for (int number = 0; number < 3; ++number) all.pass("x");
  all.destroy();
  CHECK(all.written() == "\n\n\n");
}

TEST_CASE("no alert, no command; finishing twice reports once") {
  commands all("echo >> out", {.capacity = 0});
  all.finish();
  CHECK(all.messages() == strings{});
  commands full("echo >> out", {.capacity = 0});
  full.pass("x");
  full.finish();
  full.finish();
  CHECK(full.messages() == strings{"--exec: 1 alert was not passed to the command, because 0 were waiting"});
  CHECK(full.written().empty());
}
