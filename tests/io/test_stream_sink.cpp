// Streams: for every kind of descriptor no byte is lost, no call hangs, and no flag of a shared descriptor changes;
// with stream_sink and stream_source::pass_through_to the output is the input, in order.
#include "async/worker_pool.hpp"
#include "io/stream_sink.hpp"

#include "tests/io/source_fixture.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/texts.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

namespace {

std::string take_out(const io::descriptor& from, std::size_t max_bytes) {
  std::string text(max_bytes, '\0');
  const ssize_t got = ::read(from.get(), text.data(), max_bytes);
  REQUIRE(got >= 0);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

void set_nonblocking(const io::descriptor& fd) {
  REQUIRE(::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) == 0);
}

struct sink_fixture : source_fixture {
  sink_fixture() { std::signal(SIGPIPE, SIG_IGN); }

  io::stream_sink sink(const io::descriptor& fd) {
    return {loop(), io::descriptor::borrowed(fd.get()), 0, {.written = {}, .failed = [this] { ++failures; }}};
  }

  int failures = 0;
};

// An event loop on a thread, like the main loop of the program.
class running_loop {
 public:
  running_loop() = default;
  ~running_loop() {
    end_.post();
    thread_.join();
  }

  async::event_loop& loop() { return loop_; }

 private:
  bool has_ended_ = false;  // set on the thread to end the loop
  async::event_loop loop_;
  async::posted_call<std::function<void()>> end_{loop_, [this] { has_ended_ = true; }};
  std::thread thread_{[this] { loop_.run_until([this] { return has_ended_; }); }};
};

}  // namespace

TEST_CASE_FIXTURE(sink_fixture, "bytes without room are buffered, and written first when there is room") {
  for (const bool nonblocking : {false, true}) {
    CAPTURE(nonblocking);
    for (const bool sockets : {false, true}) {
      CAPTURE(sockets);
      const channel way = sockets ? make_sockets() : make_pipe();
      if (nonblocking) set_nonblocking(way.write);
      const int flags = ::fcntl(way.write.get(), F_GETFL);
      io::stream_sink output = sink(way.write);
      const std::string text = numbered(2'000'000);
      REQUIRE(output.flush());
      output.take(bytes_of(text));
      CHECK_FALSE(output.flush());
      CHECK(output.position() > 0);
      CHECK(output.position() + output.unwritten_bytes() == text.size());
      std::string seen;
      while (seen.size() < text.size()) {
        seen += take_out(way.read, 10'000);
        output.flush();
        REQUIRE(output.position() + output.unwritten_bytes() == text.size());
      }
      CHECK(seen == text);
      CHECK(output.flush());
      CHECK(output.unwritten_bytes() == 0);
      CHECK(::fcntl(way.write.get(), F_GETFL) == flags);
      CHECK(failures == 0);
    }
  }
}

TEST_CASE("write completes when all bytes are written, for slow readers and from any thread") {
  std::signal(SIGPIPE, SIG_IGN);
  for (const bool nonblocking : {false, true}) {
    running_loop main;
    async::worker_pool pool(2);
    const channel way = make_pipe();
    if (nonblocking) set_nonblocking(way.write);
    io::stream_sink output(main.loop(), io::descriptor::borrowed(way.write.get()), 0, {});
    const std::string text = numbered(1'000'000);
    std::promise<void> written;
    async::spawn(pool, output.write(bytes_of(text)), [&](const std::exception_ptr&) noexcept { written.set_value(); });
    std::string seen;
    while (seen.size() < text.size()) seen += take_out(way.read, 30'000);
    written.get_future().wait();
    CHECK(seen == text);
    CHECK(output.position() == text.size());
    CHECK(output.unwritten_bytes() == 0);
    pool.join();
  }
}

TEST_CASE("a cancel ends a write to a consumer that stalls, and the unwritten bytes are known") {
  running_loop main;
  async::worker_pool pool(1);
  const channel way = make_pipe();
  io::stream_sink output(main.loop(), io::descriptor::borrowed(way.write.get()), 0, {});
  const std::string text = numbered(1'000'000);
  std::promise<void> ended;
  async::spawn(pool, output.write(bytes_of(text)), [&](const std::exception_ptr&) noexcept { ended.set_value(); });
  async::posted_call<std::function<void()>> cancel(main.loop(), [&] { output.cancel(); });
  cancel.post();
  ended.get_future().wait();
  CHECK(output.position() + output.unwritten_bytes() == text.size());
  CHECK_FALSE(output.fault().has_value());
  CHECK_FALSE(output.flush());
  pool.join();
}

TEST_CASE_FIXTURE(
    sink_fixture,
    "a consumer that closes the stream is an error with its offset, reported once, and no more bytes are taken") {
  for (const bool sockets : {false, true}) {
    CAPTURE(sockets);
    failures = 0;
    channel way = sockets ? make_sockets() : make_pipe();
    io::stream_sink output = sink(way.write);
    output.take(bytes_of("12345"));
    way.read = {};
    REQUIRE(output.flush());
    output.take(bytes_of("678"));
    REQUIRE(output.fault().has_value());
    CHECK(output.fault()->error == EPIPE);
    CHECK(output.fault()->offset == 5);
    CHECK_FALSE(output.flush());
    CHECK(output.unwritten_bytes() == 3);
    CHECK(failures == 1);
  }
}

TEST_CASE_FIXTURE(sink_fixture, "a full device is an error, /dev/null takes everything") {
  const io::descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  io::stream_sink output = sink(full);
  output.take(bytes_of("x"));
  REQUIRE(output.fault().has_value());
  CHECK(output.fault()->error == ENOSPC);
  CHECK(output.fault()->offset == 0);

  const io::descriptor null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  io::stream_sink nothing = sink(null);
  nothing.take(bytes_of(numbered(100'000)));
  CHECK(nothing.flush());
  CHECK(nothing.position() == 100'000);
}

TEST_CASE_FIXTURE(sink_fixture, "a descriptor that cannot be written is refused") {
  const channel way = make_pipe();
  CHECK_THROWS_AS((void)sink(way.read), std::system_error);
  CHECK_THROWS_AS((void)sink(io::descriptor::borrowed(-1)), std::system_error);
}

TEST_CASE_FIXTURE(sink_fixture, "a file is written at its offset, or appended to in append mode") {
  const temporary_folder folder;
  const std::string path = folder / "out";
  for (const int flags : {0, O_APPEND}) {
    CAPTURE(flags);
    const io::descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0600));
    put(fd, "before ");
    io::stream_sink output = sink(fd);
    output.take(bytes_of("after"));
    output.close();
    CHECK_FALSE(output.fault().has_value());
    REQUIRE(::lseek(fd.get(), 0, SEEK_SET) == 0);
    CHECK(take_out(fd, 100) == "before after");
  }
}

TEST_CASE_FIXTURE(
    sink_fixture,
    "reading from a file that is written after the read offset is detected, reading of other data is not") {
  const temporary_folder folder;
  const std::string path = folder / "same";
  const io::descriptor writing(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const io::descriptor reading(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const io::stream_sink output = sink(writing);
  CHECK_FALSE(output.feeds(reading.get()));
  put(writing, "12345");
  CHECK(output.feeds(reading.get()));
  ::lseek(reading.get(), 5, SEEK_SET);
  CHECK_FALSE(output.feeds(reading.get()));
  const channel way = make_pipe();
  CHECK_FALSE(sink(way.write).feeds(way.read.get()));
}

TEST_CASE_FIXTURE(sink_fixture,
                  "a source passes its bytes through in order, by tee from pipe to pipe and otherwise by write") {
  struct ends {
    const char* name;
    channel (*in)();
    channel (*out)();
    bool tees;
  };
  for (const ends& each :
       {ends{"pipe to pipe", make_pipe, make_pipe, true}, ends{"socket to pipe", make_sockets, make_pipe, false},
        ends{"pipe to socket", make_pipe, make_sockets, false}}) {
    CAPTURE(each.name);
    channel in = each.in();
    const channel out = each.out();
    io::stream_sink output = sink(out.write);
    io::stream_source from = stream(in.read.get());
    from.pass_through_to(output);
    CHECK(from.tees() == each.tees);
    std::string seen;
    std::string read;
    for (int i = 0; i < 40; ++i) {
      const std::string text = numbered(static_cast<std::size_t>(1 + 37 * i));
      put(in.write, text);
      while (true) {
        const std::string got = read_text(from, 100);
        if (got == "(nothing)") break;
        read += got;
      }
      seen += take_out(out.read, 100'000);
      CHECK(seen == read);
    }
    CHECK(from.position() == read.size());
    CHECK(output.position() == read.size());
    in.write = {};
    CHECK(read_text(from, 1).empty());
  }
}

TEST_CASE_FIXTURE(sink_fixture, "without room nothing is read; room or a cancel ends the wait") {
  for (const bool tees : {true, false}) {
    CAPTURE(tees);
    const channel in = tees ? make_pipe() : make_sockets();
    const channel out = make_pipe();
    io::stream_sink output = sink(out.write);
    io::stream_source from = stream(in.read.get());
    from.pass_through_to(output);
    std::string sent;
    std::string seen;
    std::string read;
    const auto stall = [&] {
      do {
        const std::string text = numbered(5'000 + sent.size() % 100);
        put(in.write, text);
        sent += text;
        const std::string got = read_text(from, 10'000);
        if (got == "(nothing)") return;
        read += got;
      } while (read.size() < 2'000'000);
      FAIL("an endless pipe");
    };

    stall();
    std::optional<bool> ready;
    start_waiting(from, ready);
    run_ready_handlers();
    CHECK_FALSE(ready.has_value());
    seen += take_out(out.read, 60'000);
    finish_waiting(ready);
    CHECK(ready == true);

    stall();
    std::optional<bool> cancelled;
    start_waiting(from, cancelled);
    run_ready_handlers();
    CHECK_FALSE(cancelled.has_value());
    from.cancel();
    finish_waiting(cancelled);
    CHECK(cancelled == false);

    from.resume();
    while (seen.size() < sent.size()) {
      seen += take_out(out.read, 60'000);
      if (const std::string got = read_text(from, 10'000); got != "(nothing)") read += got;
    }
    CHECK(seen == sent);
    CHECK(read == sent);
  }
}
