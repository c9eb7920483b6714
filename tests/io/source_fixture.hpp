// Descriptors, temporary files and an executor for tests of sources.
#pragma once

#include "async/event_loop.hpp"
#include "io/source.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::test {

/// Two connected descriptors: bytes written to `write` are read from `read`.
struct channel {
  io::descriptor read;
  io::descriptor write;
};

inline channel make_pipe() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {.read = io::descriptor(ends[0]), .write = io::descriptor(ends[1])};
}

inline channel make_sockets() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {.read = io::descriptor(ends[0]), .write = io::descriptor(ends[1])};
}

inline void put(const io::descriptor& fd, std::string_view text) {
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

/// Replaces a descriptor by another one during its lifetime (standard input).
class replaced_descriptor {
 public:
  /// `by` below 0: the descriptor is closed.
  replaced_descriptor(int fd, int by) : fd_(fd), saved_(::fcntl(fd, F_DUPFD_CLOEXEC, 100)) {
    if (by < 0) {
      ::close(fd_);
    } else {
      ::dup2(by, fd_);
    }
  }
  replaced_descriptor(const replaced_descriptor&) = delete;
  replaced_descriptor& operator=(const replaced_descriptor&) = delete;
  ~replaced_descriptor() {
    ::close(fd_);
    if (saved_ >= 0) ::dup2(saved_, fd_);
    ::close(saved_);
  }

 private:
  int fd_;
  int saved_;
};

/// An executor; runs coroutines to their end.
class source_fixture {
 public:
  async::event_loop& loop() { return loop_; }
  boost::asio::any_io_executor executor() { return loop_.context().get_executor(); }

  io::stream_source stream(int fd, std::size_t pipe_bytes = 0) {
    return {executor(), io::descriptor::borrowed(fd), pipe_bytes};
  }

  /// Waits until the source is readable; fails after a minute instead of blocking forever.
  bool readable(io::stream_source& source) {
    std::optional<bool> result;
    start_waiting(source, result);
    finish_waiting(result);
    return *result;
  }

  /// Runs a started readable() to its end.
  void finish_waiting(const std::optional<bool>& result) {
    loop_.context().restart();
    loop_.context().run_for(std::chrono::minutes(1));
    REQUIRE_MESSAGE(result.has_value(), "readable() does not complete");
  }

  /// Starts a readable() that stores its answer in `result`; run_ready_handlers() advances it.
  void start_waiting(io::stream_source& source, std::optional<bool>& result) {
    const auto wait = [](io::stream_source& waited_for, std::optional<bool>& answer) -> async::task<> {
      answer = co_await waited_for.readable();
    };
    async::spawn(loop_, wait(source, result), [](const std::exception_ptr& error) noexcept {
      if (error) std::rethrow_exception(error);  // ends the test program
    });
  }

  void run_ready_handlers() { loop_.poll(); }

  /// Reads to the end, at most `step` bytes at a time.
  std::string read_all(io::stream_source& source, std::size_t step = 4096) {
    std::string text;
    std::vector<std::byte> buffer(step);
    for (;;) {
      REQUIRE(readable(source));
      const std::optional<std::size_t> got = source.read_some(buffer);
      if (!got) continue;
      if (*got == 0) return text;
      text.append(reinterpret_cast<const char*>(buffer.data()), *got);
      REQUIRE(source.position() == text.size());
    }
  }

 private:
  async::event_loop loop_;
};

/// At most `max_bytes` available bytes as text; "(nothing)" if there are none.
inline std::string read_text(io::stream_source& source, std::size_t max_bytes) {
  std::vector<std::byte> buffer(max_bytes);
  const std::optional<std::size_t> got = source.read_some(buffer);
  return got ? std::string(reinterpret_cast<const char*>(buffer.data()), *got) : "(nothing)";
}

}  // namespace gpuhist::test
