// stream_sink and stream_source::pass_through_to: the output is the input, in order, for every kind of descriptor.
#include "io/stream_sink.hpp"

#include "async/worker_pool.hpp"
#include "tests/io/source_fixture.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/texts.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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
