// Records that several processes and threads append to one file: order, headers, torn lines, locks, failed writes.
#include "command/signals.hpp"
#include "report/output/destination.hpp"
#include "tests/pipeline/destination_files.hpp"
#include "tests/support/replaced_sleep.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using gpuhist::io::descriptor;
using gpuhist::report::destination;
using gpuhist::report::destination_error;
using gpuhist::report::writing;
using folder = gpuhist::test::temporary_folder;

namespace {

using namespace gpuhist::test;

/// Locks a file as another process would that appends to it.
class other_locker {
 public:
  explicit other_locker(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}

  void lock() const { REQUIRE(set(F_WRLCK)); }
  void unlock() const { REQUIRE(set(F_UNLCK)); }

 private:
  [[nodiscard]] bool set(short type) const {
    struct flock entire{};
    entire.l_type = type;
    entire.l_whence = SEEK_SET;
    return ::fcntl(fd_.get(), F_OFD_SETLK, &entire) == 0;
  }

  descriptor fd_;
};

}  // namespace

TEST_CASE("appended text comes after the old content, which stays") {
  const folder directory;
  const std::string path = directory / "log";
  put(path, "old\n");
  const ino_t before = inode_of(path);
  for (const std::string text : {"one\n", "two\n"}) {
    destination out(path, writing::append);
    CHECK_FALSE(out.is_fresh());
    out.write(text);
    out.commit();
  }
  CHECK(content(path) == "old\none\ntwo\n");
  CHECK(inode_of(path) == before);
  CHECK(directory.entries() == 1);
}

TEST_CASE("text that is appended after a line without an end begins a new line, and the torn line stays as it was") {
  const folder directory;
  const std::string path = directory / "log";
  put(path, "old\ntorn");
  for (const std::string text : {"one\n", "two\n"}) {
    destination out(path, writing::append);
    out.write(text);
    CHECK_FALSE(out.is_fresh());
    out.commit();
  }
  CHECK(content(path) == "old\ntorn\none\ntwo\n");
}

TEST_CASE("a descriptor that the shell opened for appending is appended to like the file itself") {
  const folder directory;
  const std::string path = directory / "log";
  put(path, "old\ntorn");
  const descriptor opened(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  for (const std::string text : {"one\n", "two\n"}) {
    destination out(name_of(opened), writing::append);
    out.write([&](const gpuhist::report::text_sink& to) {
      CHECK_FALSE(out.is_fresh());
      to(text);
    });
    out.commit();
  }
  CHECK(content(path) == "old\ntorn\none\ntwo\n");
}

TEST_CASE("a file with a torn header gets a new header, a file with a torn line after its header does not") {
  const folder directory;
  const std::string path = directory / "log";
  for (const bool by_shell : {false, true}) {
    for (const auto& [old, expected] : {std::pair<std::string, std::string>{"", "header\nrecord\n"},
                                        {"head", "head\nheader\nrecord\n"},
                                        {"header\nrec", "header\nrec\nrecord\n"},
                                        {std::string(5000, 'x'), std::string(5000, 'x') + "\nrecord\n"}}) {
      CAPTURE(by_shell);
      put(path, old);
      const descriptor opened(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      destination out(by_shell ? name_of(opened) : path, writing::append);
      out.write([&](const gpuhist::report::text_sink& to) {
        if (out.is_fresh()) to("header\n");
        to("record\n");
      });
      CHECK(content(path) == expected);
    }
  }
}

TEST_CASE("two destinations that append to one file lose nothing of each other's text") {
  const folder directory;
  const std::string path = directory / "log";
  destination first(path, writing::append);
  destination second(path, writing::append);
  for (int i = 0; i < 3; ++i) {
    first.write("1\n");
    second.write("2\n");
  }
  CHECK(content(path) == "1\n2\n1\n2\n1\n2\n");
}

TEST_CASE("records of any size that several threads append at once are in sequence, after one header") {
  const folder directory;
  const std::string path = directory / "log";
  constexpr int appenders = 4;
  constexpr int records = 5;
  constexpr std::size_t lines = 20'000;  // per record: several blocks of a write
  std::vector<std::thread> all;
  for (int number = 0; number < appenders; ++number) {
    all.emplace_back([&, number] {
      for (int record = 0; record < records; ++record) {
        destination out(path, writing::append);
        out.write([&](const gpuhist::report::text_sink& to) {
          if (out.is_fresh()) to("header\n");
          for (std::size_t line = 0; line < lines; ++line) to("the line of " + std::to_string(number) + "\n");
        });
        out.commit();
      }
    });
  }
  for (std::thread& each : all) each.join();
  std::ifstream in(path);
  std::string line;
  REQUIRE(std::getline(in, line));
  CHECK(line == "header");
  int read = 0;
  for (; std::getline(in, line); ++read) {
    const std::string first = line;
    std::size_t same = 1;
    while (same < lines && std::getline(in, line) && line == first) ++same;
    REQUIRE(same == lines);
  }
  CHECK(read == appenders * records);
}

// The pauses only advance a clock of the test. An attempt at most every 5 ms meets a release within 5 of its rounds.
TEST_CASE("a record is written even if another process releases its lock for only two milliseconds at a time") {
  using std::chrono::milliseconds;
  constexpr milliseconds round{112};
  constexpr milliseconds locked{110};
  constexpr int max_rounds = 5;
  const folder directory;
  const std::string path = directory / "log";
  const other_locker other(path);
  destination out(path, writing::append);
  std::string expected;
  for (const int begin : {0, 17, 34, 51, 68, 85}) {
    CAPTURE(begin);
    std::chrono::nanoseconds now = milliseconds(begin);
    const auto rounds = [&] { return now / round; };
    other.lock();
    const gpuhist::test::replaced_sleep clock([&](std::chrono::nanoseconds pause) {
      now += pause;
      const bool is_released = now % round >= locked || rounds() > max_rounds;  // at last for good: the test must end
      is_released ? other.unlock() : other.lock();
    });
    out.write("record\n");
    CHECK(rounds() < max_rounds);
    expected += "record\n";
  }
  CHECK(content(path) == expected);
}

TEST_CASE("after a stop signal a destination waits for a lock for 5 seconds in total, whatever the number of records") {
  const folder directory;
  const std::string path = directory / "log";
  const other_locker other(path);
  {
    const gpuhist::command::kept_stop_signal keeper;
    other.lock();
    destination out(path, writing::append);
    int pauses = 0;
    const gpuhist::test::replaced_sleep counted([&](std::chrono::nanoseconds pause) {
      ++pauses;
      gpuhist::test::replaced_sleep::sleep(pause);
    });
    ::raise(SIGTERM);
    const auto signalled = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(out.write("record\n"), destination_error);
    CHECK(std::chrono::steady_clock::now() - signalled >= std::chrono::seconds(5));
    CHECK(std::exchange(pauses, 0) > 0);
    for (int i = 0; i < 8; ++i) CHECK_THROWS_AS(out.write("record\n"), destination_error);
    other.unlock();
    out.write("written\n");
    CHECK(pauses == 0);  // of all records but the first
  }
  CHECK(content(path) == "written\n");
  const gpuhist::command::kept_stop_signal forgets_the_signal;
}

TEST_CASE("a record that does not fit into a file is removed again, also if the shell opened the file for appending") {
  const folder directory;
  const std::string path = directory / "log";
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{.rlim_cur = 10, .rlim_max = limit.rlim_max};
  for (const bool by_shell : {false, true}) {
    for (const std::string old : {"old\n", "torn", ""}) {
      CAPTURE(by_shell);
      put(path, old);
      const descriptor opened(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      const std::string name = by_shell ? name_of(opened) : path;
      write_failure failed;
      {
        destination out(name, writing::append);
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
        failed = error_of([&] { out.write("more than ten bytes\n"); });
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
      }
      CHECK(failed.code == EFBIG);
      CHECK(failed.message == "cannot write " + name + ": File too large");
      CHECK(content(path) == old);
    }
  }
  std::signal(SIGXFSZ, previous);
}

TEST_CASE("text that others appended without a lock stays if a write fails") {
  const folder directory;
  const std::string path = directory / "log";
  put(path, "old\n");
  for (const bool by_shell : {false, true}) {
    CAPTURE(by_shell);
    const descriptor other(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    destination out(by_shell ? name_of(other) : path, writing::append);
    CHECK_THROWS_AS(out.write([&](const gpuhist::report::text_sink& to) {
      to(std::string(std::size_t{1} << 20U, 'x'));  // larger than a block: it is written at once
      REQUIRE(::write(other.get(), "other\n", 6) == 6);
      throw std::bad_alloc();
    }),
                    std::bad_alloc);
    CHECK(content(path).ends_with("xother\n"));
  }
}
