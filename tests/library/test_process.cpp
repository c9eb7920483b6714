// What counters and count_files() do to the process: nothing is left of them, and threads, descriptors, signals and the
// environment are as before; and what count_files() forwards.
#include "fed_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <gpuhist/counter.hpp>
#include <gpuhist/gpuhist.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist {
namespace {

using testing::entries;
using testing::error_of;

counting_options host(const char* scheme = "letters") {
  return {.schemes = {scheme}, .counting_engine = engine::host, .threads = 2};
}

std::uint64_t count_some() {
  counter counts(host());
  input text = counts.open_input("text");
  text.feed("abc");
  text.feed(std::string(100'000, 'd'));
  text.finish();
  return counts.finish().bytes();
}

std::set<std::string> thread_ids() {
  std::set<std::string> ids;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) ids.insert(each.path().filename());
  return ids;
}

// The blocked signals of every thread of the process that is not one of these, as in /proc.
std::vector<std::string> masks_of_threads_except(const std::set<std::string>& known) {
  std::vector<std::string> masks;
  for (const std::string& id : thread_ids()) {
    if (known.contains(id)) continue;
    std::ifstream status("/proc/self/task/" + id + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) masks.push_back(line.substr(line.find_first_not_of(" \t", 7)));
    }
  }
  return masks;
}

}  // namespace

TEST_CASE("a thousand counters leave no thread and no descriptor") {
  CHECK(count_some() == 100'003);
  const std::ptrdiff_t threads = entries("/proc/self/task");
  const std::ptrdiff_t descriptors = entries("/proc/self/fd");
  for (int i = 0; i < 1000; ++i) {
    if (i % 3 == 0) {
      const counter unused(host());
    } else {
      REQUIRE(count_some() == 100'003);
    }
  }
  CHECK(entries("/proc/self/task") == threads);
  CHECK(entries("/proc/self/fd") == descriptors);
}

TEST_CASE("a counter that cannot be made leaves no thread and no descriptor") {
  counting_options options = host();
  options.counting_engine = engine::cuda;
  options.devices = {63};
  static_cast<void>(error_of([&] { const counter counts(options); }));  // loads the driver, if there is one
  const std::ptrdiff_t threads = entries("/proc/self/task");
  const std::ptrdiff_t descriptors = entries("/proc/self/fd");
  for (int i = 0; i < 20; ++i) CHECK(error_of([&] { const counter counts(options); }) == errc::engine);
  CHECK(entries("/proc/self/task") == threads);
  CHECK(entries("/proc/self/fd") == descriptors);
}

TEST_CASE("a counter works in a child of fork() that constructs it") {
  static_cast<void>(count_some());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(count_some() == 100'003 ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("signal dispositions, the mask, the locale and the working directory are as before, during and after") {
  std::array<struct sigaction, 65> before{};
  for (int number = 1; number < 65; ++number)
    ::sigaction(number, nullptr, &before.at(static_cast<std::size_t>(number)));
  sigset_t mask_before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  const auto folder = std::filesystem::current_path();
  const auto check = [&] {
    for (int number = 1; number < 65; ++number) {
      struct sigaction now{};
      ::sigaction(number, nullptr, &now);
      const bool is_same = now.sa_handler == before.at(static_cast<std::size_t>(number)).sa_handler;
      CHECK(is_same);
    }
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (int number = 1; number < 65; ++number)
      CHECK(::sigismember(&mask, number) == ::sigismember(&mask_before, number));
    CHECK(std::setlocale(LC_ALL, nullptr) == locale);
    CHECK(std::filesystem::current_path() == folder);
  };
  {
    counter counts(host());
    input text = counts.open_input("text");
    text.feed("abc");
    static_cast<void>(counts.snapshot());
    check();
    counts.finish();
  }
  check();
}

TEST_CASE("threads of a counter run no signal handlers of the program") {
  const auto blocks = [](const std::string& mask, int number) {
    return ((std::stoull(mask, nullptr, 16) >> static_cast<unsigned>(number - 1)) & 1U) == 1;
  };
  std::thread([] {}).join();  // the thread sanitizer starts a thread of its own with the first one
  const std::set<std::string> known = thread_ids();
  const counter counts(host());
  std::vector<std::string> masks;
  // while a thread starts, the C library blocks all signals in it
  do masks = masks_of_threads_except(known);
  while (std::ranges::any_of(masks, [&](const std::string& each) { return blocks(each, SIGSEGV); }));
  CHECK(masks.size() >= 2);
  for (const std::string& each : masks) {
    for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE, SIGPROF}) CHECK(blocks(each, number));
  }
}

TEST_CASE("nothing is written to standard streams, also after errors and failures") {
  const test::temporary_folder folder;
  const std::string path = folder.file("output", "");
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const int output = ::dup(STDOUT_FILENO);
  const int errors = ::dup(STDERR_FILENO);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  {
    counter counts(host());
    input text = counts.open_input("text", {.format = "gzip"});
    text.feed("no gzip");
    input other = counts.open_input("other");
    other.fail("a cause");
    other = counts.open_input("dropped");
    counts.cancel();
    static_cast<void>(error_of([&] { text.feed("late"); }));
    counts.finish();
  }
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::close(file);
  ::close(output);
  ::close(errors);
  CHECK(std::filesystem::file_size(path) == 0);
}

TEST_CASE("the environment has no effect: the counts of very many inputs are kept in memory, or in the folder given") {
  const test::temporary_folder folder;
  for (const std::string& place : {std::string(), folder / "", folder / "none"}) {
    CAPTURE(place);
    counting_options options = host();
    options.schemes = {"bytes"};
    options.temporary_folder = place;
    ::setenv("TMPDIR", (folder / "unusable").c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no other thread
    counter counts(options);
    const std::string name(1000, 'n');
    std::optional<errc> stopped;
    for (int i = 0; i < 3000 && !stopped; ++i) {
      stopped = error_of([&] {
        input text = counts.open_input(name + std::to_string(i));
        text.feed("abc");
        text.finish();
      });
    }
    const results result = counts.finish();
    ::unsetenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): the same
    if (place == folder / "none") {
      CHECK_FALSE(result.complete());
      CHECK(result.error().find("--temporary-folder") != std::string_view::npos);
    } else {
      CHECK_FALSE(stopped);
      CHECK(result.complete());
      CHECK(result.inputs() == 3000);
      CHECK(result.input(2999).bytes == 3);
    }
  }
  CHECK(folder.entries() == 0);
}

namespace {

using test::temporary_folder;
using testing::byte_counts;
using testing::bytes_of;
using testing::random_text;

bool is_sigpipe_default() {
  struct sigaction now{};
  ::sigaction(SIGPIPE, nullptr, &now);
  return now.sa_handler == SIG_DFL;
}

bool is_sigpipe_blocked_or_pending() {
  sigset_t blocked{};
  sigset_t pending{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  ::sigpending(&pending);
  return sigismember(&blocked, SIGPIPE) == 1 || sigismember(&pending, SIGPIPE) == 1;
}

file_options forwarding(const std::string& path, int descriptor) {
  return {.inputs = {path}, .counting = host("bytes"), .pass_through = pass_through_options{.descriptor = descriptor}};
}

}  // namespace

TEST_CASE("a pipe or socket without a reader is an error, and no SIGPIPE") {
  const temporary_folder folder;
  const std::string path = folder.file("text", random_text(3000000, 1));
  for (const bool is_socket : {false, true}) {
    CAPTURE(is_socket);
    std::array<int, 2> ends{};
    const int made = is_socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) : ::pipe(ends.data());
    REQUIRE(made == 0);
    ::close(ends[0]);
    const file_outcome outcome = count_files(forwarding(path, ends[1]));
    CHECK(outcome.status == run_status::incomplete);
    REQUIRE(outcome.pass_through_error);
    CHECK(outcome.pass_through_error->error == EPIPE);
    CHECK(is_sigpipe_default());
    CHECK_FALSE(is_sigpipe_blocked_or_pending());
    CHECK(::close(ends[1]) == 0);  // it was not closed
  }
}

TEST_CASE("a descriptor receives the bytes of the inputs in their order") {
  const temporary_folder folder;
  const std::string text = random_text(500000, 2);
  const std::string path = folder.file("text", text);
  const std::string copy = folder / "copy";
  const int descriptor = ::open(copy.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(descriptor >= 0);
  file_options options = forwarding(path, descriptor);
  options.inputs = {path, path};
  CHECK(count_files(options).status == run_status::complete);
  ::close(descriptor);
  std::ifstream in(copy, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == text + text);
}

TEST_CASE("a callback receives the bytes of the inputs in their order") {
  const temporary_folder folder;
  const std::string text = random_text(3000000, 3);
  std::string received;
  const auto receive = [&](std::span<const std::byte> part) {
    received.append(reinterpret_cast<const char*>(part.data()), part.size());
  };
  const file_outcome outcome = count_files({.inputs = {folder.file("text", text)},
                                            .counting = host("bytes"),
                                            .pass_through = pass_through_options{.sink = receive}});
  CHECK(outcome.status == run_status::complete);
  CHECK(outcome.result.counts("bytes") == byte_counts(text));
  CHECK(received == text);
}

TEST_CASE("a callback for forwarded bytes that throws ends the run, and its exception is thrown") {
  const temporary_folder folder;
  const file_options options{.inputs = {folder.file("text", random_text(30000000, 4))},
                             .counting = host("bytes"),
                             .pass_through = pass_through_options{.sink = [](std::span<const std::byte>) {
                               throw std::runtime_error("the disk is full");
                             }}};
  CHECK_THROWS_WITH_AS(static_cast<void>(count_files(options)), "the disk is full", std::runtime_error);
  CHECK_FALSE(is_sigpipe_blocked_or_pending());
}

TEST_CASE("no thread and no descriptor of a run exist after it, whether it returned or threw") {
  const temporary_folder folder;
  const std::string path = folder.file("text", random_text(300000, 5));
  static_cast<void>(count_files({.inputs = {path}, .counting = host("bytes")}));
  const std::ptrdiff_t threads = entries("/proc/self/task");
  const std::ptrdiff_t descriptors = entries("/proc/self/fd");
  for (int i = 0; i < 20; ++i) {
    file_events events;
    if (i % 2 == 0) events.on_input = [](const results&) { throw std::runtime_error("no"); };
    const auto ignore = [](std::span<const std::byte>) {};
    try {
      static_cast<void>(count_files(
          {.inputs = {path}, .counting = host("bytes"), .pass_through = pass_through_options{.sink = ignore}}, events));
    } catch (const std::runtime_error&) {
      CHECK(i % 2 == 0);
    }
    CHECK(entries("/proc/self/task") == threads);
    CHECK(entries("/proc/self/fd") == descriptors);
  }
}

TEST_CASE("variables of the environment have no effect") {
  const temporary_folder folder;
  ::setenv("GPUHIST_BUCKETS", "nope", 1);
  ::setenv("GPUHIST_CONFIG", "/nowhere", 1);
  const file_outcome outcome = count_files({.inputs = {folder.file("text", "abc")}, .counting = host("bytes")});
  ::unsetenv("GPUHIST_BUCKETS");
  ::unsetenv("GPUHIST_CONFIG");
  CHECK(outcome.status == run_status::complete);
  CHECK(outcome.result.bytes() == 3);
}

TEST_CASE("dispositions of signals are not changed during a run") {
  const temporary_folder folder;
  const std::array<int, 5> signals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};
  counting_options counting = host("bytes");
  counting.alert_if = {"bytes > 0"};
  const auto disposition = [](int signal) {
    struct sigaction now{};
    ::sigaction(signal, nullptr, &now);
    return now.sa_handler;
  };
  std::vector<void (*)(int)> before;
  for (const int each : signals) before.push_back(disposition(each));
  std::vector<void (*)(int)> during;
  file_events events;
  events.on_alert = [&](const alert&) {
    for (const int each : signals) during.push_back(disposition(each));
  };
  static_cast<void>(count_files({.inputs = {folder.file("text", "abc")}, .counting = counting}, events));
  CHECK(during == before);
}

}  // namespace gpuhist
