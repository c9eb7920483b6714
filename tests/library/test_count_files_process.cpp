// What count_files does to its process: threads, descriptors, signals, the environment, and what it forwards.
#include "error_kind.hpp"
#include "fed_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace gpuhist {
namespace {

using test::temporary_folder;
using testing::byte_counts;
using testing::bytes_of;
using testing::random_text;

counting_options host() { return {.schemes = {"bytes"}, .counting_engine = engine::host, .threads = 2}; }

std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

bool is_sigpipe_default() {
  struct sigaction now {};
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
  return {.inputs = {path}, .counting = host(), .pass_through = pass_through_options{.descriptor = descriptor}};
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
                                            .counting = host(),
                                            .pass_through = pass_through_options{.sink = receive}});
  CHECK(outcome.status == run_status::complete);
  CHECK(outcome.result.counts("bytes") == byte_counts(text));
  CHECK(received == text);
}

TEST_CASE("a callback for forwarded bytes that throws ends the run, and its exception is thrown") {
  const temporary_folder folder;
  const file_options options{.inputs = {folder.file("text", random_text(30000000, 4))},
                             .counting = host(),
                             .pass_through = pass_through_options{.sink = [](std::span<const std::byte>) {
                               throw std::runtime_error("the disk is full");
                             }}};
  CHECK_THROWS_WITH_AS(static_cast<void>(count_files(options)), "the disk is full", std::runtime_error);
  CHECK_FALSE(is_sigpipe_blocked_or_pending());
}

TEST_CASE("no thread and no descriptor of a run exist after it, whether it returned or threw") {
  const temporary_folder folder;
  const std::string path = folder.file("text", random_text(300000, 5));
  static_cast<void>(count_files({.inputs = {path}, .counting = host()}));
  const std::ptrdiff_t threads = entries("/proc/self/task");
  const std::ptrdiff_t descriptors = entries("/proc/self/fd");
  for (int i = 0; i < 20; ++i) {
    file_events events;
    if (i % 2 == 0) events.on_input = [](const results&) { throw std::runtime_error("no"); };
    const auto ignore = [](std::span<const std::byte>) {};
    try {
      static_cast<void>(count_files(
          {.inputs = {path}, .counting = host(), .pass_through = pass_through_options{.sink = ignore}}, events));
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
  const file_outcome outcome = count_files({.inputs = {folder.file("text", "abc")}, .counting = host()});
  ::unsetenv("GPUHIST_BUCKETS");
  ::unsetenv("GPUHIST_CONFIG");
  CHECK(outcome.status == run_status::complete);
  CHECK(outcome.result.bytes() == 3);
}

TEST_CASE("dispositions of signals are not changed during a run") {
  const temporary_folder folder;
  const std::array<int, 5> signals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};
  counting_options counting = host();
  counting.alert_if = {"bytes > 0"};
  const auto disposition = [](int signal) {
    struct sigaction now {};
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
