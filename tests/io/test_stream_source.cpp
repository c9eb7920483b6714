// Streams: for every kind of descriptor no byte is lost, no call hangs, and no flag of a shared descriptor changes.
#include "tests/io/source_fixture.hpp"

#include <pty.h>
#include <sys/wait.h>
#include <termios.h>

#include <array>
#include <csignal>

using namespace gpuhist;
using namespace gpuhist::test;

namespace {

/// A terminal in raw mode: bytes written to its master are read from its slave.
channel make_terminal() {
  int master = -1;
  int slave = -1;
  REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  channel result{.read = io::descriptor(slave), .write = io::descriptor(master)};
  termios mode{};
  REQUIRE(::tcgetattr(slave, &mode) == 0);
  ::cfmakeraw(&mode);
  REQUIRE(::tcsetattr(slave, TCSANOW, &mode) == 0);
  return result;
}

struct kind {
  std::string name;
  channel (*make)();
};

const kind kinds[] = {{"pipe", make_pipe}, {"socket", make_sockets}, {"terminal", make_terminal}};

int flags_of(const io::descriptor& fd) { return ::fcntl(fd.get(), F_GETFL); }

}  // namespace

TEST_CASE_FIXTURE(source_fixture, "all written bytes are read, in order, to the end") {
  for (const kind& each : {kinds[0], kinds[1]}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
      CAPTURE(each.name);
      channel way = each.make();
      put(way.write, "the first, ");
      io::stream_source source = stream(way.read.get());
      put(way.write, "the second");
      way.write = {};
      CHECK(read_all(source, step) == "the first, the second");
      CHECK(source.position() == 21);
    }
  }
}

TEST_CASE_FIXTURE(source_fixture, "after a partial read the source is readable again") {
  for (const kind& each : kinds) {
    CAPTURE(each.name);
    const channel way = each.make();
    io::stream_source source = stream(way.read.get());
    put(way.write, "0123456789");
    CHECK(readable(source));
    CHECK(read_text(source, 4) == "0123");
    CHECK(readable(source));
    CHECK(read_text(source, 4) == "4567");
    CHECK(readable(source));
    CHECK(read_text(source, 4) == "89");
    CHECK(read_text(source, 4) == "(nothing)");
  }
}

TEST_CASE_FIXTURE(source_fixture, "without bytes read_some returns nothing at once, and readable waits") {
  for (const kind& each : kinds) {
    CAPTURE(each.name);
    const channel way = each.make();
    io::stream_source source = stream(way.read.get());
    CHECK(read_text(source, 10) == "(nothing)");
    std::optional<bool> ready;
    start_waiting(source, ready);
    run_ready_handlers();
    CHECK_FALSE(ready.has_value());
    put(way.write, "late");
    finish_waiting(ready);
    CHECK(ready == true);
    CHECK(read_text(source, 10) == "late");
  }
}

TEST_CASE_FIXTURE(source_fixture, "the end of a terminal, which is reported only once, is final") {
  int master = -1;
  int slave = -1;
  REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  const channel way{.read = io::descriptor(slave), .write = io::descriptor(master)};
  io::stream_source source = stream(way.read.get());
  put(way.write, "\x04");
  REQUIRE(readable(source));
  std::array<std::byte, 16> out{};
  for (int i = 0; i < 3; ++i) CHECK(source.read_some(out) == 0U);
}

TEST_CASE_FIXTURE(source_fixture, "a cancel ends a waiting readable, and every later one, with false") {
  for (const kind& each : kinds) {
    CAPTURE(each.name);
    const channel way = each.make();
    io::stream_source source = stream(way.read.get());
    std::optional<bool> ready;
    start_waiting(source, ready);
    run_ready_handlers();
    CHECK_FALSE(ready.has_value());
    source.cancel();
    run_ready_handlers();
    CHECK(ready == false);
    put(way.write, "late");
    CHECK_FALSE(readable(source));
  }
}

TEST_CASE_FIXTURE(source_fixture, "a moved source continues to read") {
  const channel way = make_pipe();
  io::stream_source first = stream(way.read.get());
  put(way.write, "ab");
  CHECK(readable(first));
  CHECK(read_text(first, 1) == "a");
  io::stream_source second = std::move(first);
  CHECK(readable(second));
  CHECK(read_text(second, 1) == "b");
  CHECK(second.position() == 2);
}

TEST_CASE_FIXTURE(source_fixture, "the flags of a shared descriptor never change") {
  for (const kind& each : kinds) {
    CAPTURE(each.name);
    const channel way = each.make();
    const int read_flags = flags_of(way.read);
    const int write_flags = flags_of(way.write);
    REQUIRE((read_flags & O_NONBLOCK) == 0);
    {
      io::stream_source source = stream(way.read.get(), 1U << 20U);
      std::optional<bool> ready;
      start_waiting(source, ready);
      run_ready_handlers();
      CHECK_FALSE(ready.has_value());
      CHECK(flags_of(way.read) == read_flags);
      put(way.write, "x");
      finish_waiting(ready);
      CHECK(read_text(source, 10) == "x");
      CHECK(flags_of(way.read) == read_flags);
    }
    CHECK(flags_of(way.read) == read_flags);
    CHECK(flags_of(way.write) == write_flags);
  }
}

TEST_CASE("the flags of a shared descriptor survive a kill -9 of a process that waits on it") {
  for (const kind& each : kinds) {
    CAPTURE(each.name);
    const channel way = each.make();
    const int flags = flags_of(way.read);
    const channel notification = make_pipe();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      source_fixture in_child;
      io::stream_source source = in_child.stream(way.read.get());
      std::optional<bool> ready;
      in_child.start_waiting(source, ready);
      in_child.run_ready_handlers();
      if (::write(notification.write.get(), "w", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char waits = 0;
    REQUIRE(::read(notification.read.get(), &waits, 1) == 1);
    CHECK(flags_of(way.read) == flags);
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(flags_of(way.read) == flags);
  }
}

TEST_CASE_FIXTURE(source_fixture, "a pipe is enlarged to the requested or the allowed size, and never shrunk") {
  const channel way = make_pipe();
  const auto size = [&] { return ::fcntl(way.read.get(), F_GETPIPE_SZ); };
  const int before = size();
  const io::stream_source enlarging = stream(way.read.get(), 2 * static_cast<std::size_t>(before));
  CHECK(size() == 2 * before);
  const io::stream_source smaller = stream(way.read.get(), 4096);
  CHECK(size() == 2 * before);
  const io::stream_source huge = stream(way.read.get(), std::size_t{1} << 40U);
  CHECK(size() >= 2 * before);
}

TEST_CASE_FIXTURE(source_fixture, "/dev/null ends at once, /dev/zero never ends and can be cancelled") {
  const io::descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  io::stream_source nothing = stream(null.get());
  CHECK(read_all(nothing).empty());

  const io::descriptor zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  io::stream_source zeros = stream(zero.get());
  CHECK(readable(zeros));
  CHECK(read_text(zeros, 100) == std::string(100, '\0'));
  std::optional<bool> ready;
  start_waiting(zeros, ready);
  zeros.cancel();
  run_ready_handlers();
  CHECK(ready == false);
}

TEST_CASE_FIXTURE(source_fixture, "a reset connection is an error at the offset of the reset") {
  channel way = make_sockets();
  io::stream_source source = stream(way.read.get());
  put(way.write, "12345");
  put(way.read, "never read by the other side");
  way.write = {};
  CHECK(readable(source));
  CHECK(read_text(source, 10) == "12345");
  CHECK(readable(source));
  try {
    (void)read_text(source, 10);
    FAIL("a reset was taken for the end");
  } catch (const io::input_error& error) {
    CHECK(error.offset() == 5);
    CHECK(std::string(error.what()) == "reading failed: Connection reset by peer");
  }
}

TEST_CASE_FIXTURE(source_fixture, "a datagram socket and the write end of a pipe are refused") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const channel messages{.read = io::descriptor(ends[0]), .write = io::descriptor(ends[1])};
  CHECK_THROWS_WITH_AS((void)stream(ends[0]), "is a socket of messages, not a stream of bytes", io::input_error);
  const channel way = make_pipe();
  CHECK_THROWS_WITH_AS((void)stream(way.write.get()), "is not open for reading", io::input_error);
}

TEST_CASE_FIXTURE(source_fixture, "an inherited FIFO whose last writer has closed it is read to its end") {
  const temporary_folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  io::descriptor opener(::open(path.c_str(), O_RDWR | O_CLOEXEC));  // so that the opens below do not wait
  const io::descriptor read(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  put(opener, "last bytes");
  opener = {};
  io::stream_source source = stream(read.get());
  CHECK(read_all(source, 4) == "last bytes");
}
