// Destinations: which are replaced whole, which are written in place, and what their errors say.
#include "pipeline/report/output/destination.hpp"

#include "config/usage_error.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using gpuhist::io::descriptor;
using gpuhist::pipeline::destination;
using gpuhist::pipeline::destination_error;
using gpuhist::pipeline::writing;
using folder = gpuhist::test::temporary_folder;
namespace fs = std::filesystem;

namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

mode_t mode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

ino_t inode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

struct outcome {
  int code = 0;
  std::string message;
};

outcome error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const destination_error& error) {
    return {error.code().value(), error.what()};
  }
  return {};
}

struct pipe_ends {
  descriptor read;
  descriptor write;
};

pipe_ends make_pipe() {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  return {descriptor(ends[0]), descriptor(ends[1])};
}

std::string read_all(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(got));
  return all;
}

/// Locks a file as another process would that appends to it.
class other_locker {
 public:
  explicit other_locker(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}

  void lock() const {
    while (!set(F_WRLCK)) std::this_thread::yield();
  }
  void unlock() const { REQUIRE(set(F_UNLCK)); }

 private:
  [[nodiscard]] bool set(short type) const {
    struct flock whole{};
    whole.l_type = type;
    whole.l_whence = SEEK_SET;
    return ::fcntl(fd_.get(), F_OFD_SETLK, &whole) == 0;
  }

  descriptor fd_;
};

std::string name_of(const descriptor& fd) { return "fd:" + std::to_string(fd.get()); }

}  // namespace

TEST_CASE("a regular file appears whole, at commit and not before, with the umask's mode") {
  const folder here;
  const std::string path = here / "result";
  const mode_t mask = ::umask(027);
  {
    destination out(path, writing::whole);
    out.write("one ");
    out.write("two");
    CHECK_FALSE(fs::exists(path));
    CHECK(here.entries() == 1);  // the temporary file, in the same folder
    for (const auto& each : fs::directory_iterator(fs::path(path).parent_path())) {
      CHECK(each.path().filename().string().starts_with(".result."));
      CHECK(each.path().filename().string().size() == std::string(".result.XXXXXX").size());
    }
    out.commit();
    CHECK(content(path) == "one two");
  }
  ::umask(mask);
  CHECK(content(path) == "one two");
  CHECK(mode_of(path) == 0640);
  CHECK(here.entries() == 1);
}

TEST_CASE("without a commit the old file stays as it was and nothing else stays") {
  const folder here;
  const std::string path = here / "result";
  put(path, "old");
  const ino_t before = inode_of(path);
  {
    destination out(path, writing::whole);
    out.write("new");
  }
  CHECK(content(path) == "old");
  CHECK(inode_of(path) == before);
  CHECK(here.entries() == 1);
}

TEST_CASE("a file that is replaced keeps its mode, whatever the umask") {
  const folder here;
  const std::string path = here / "result";
  for (const mode_t mode : {0600U, 0644U, 0666U, 0755U}) {
    put(path, "old");
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const ino_t before = inode_of(path);
    destination out(path, writing::whole);
    out.write("new");
    out.commit();
    CHECK(mode_of(path) == mode);
    CHECK(content(path) == "new");
    CHECK(inode_of(path) != before);
  }
}

TEST_CASE("a name as long as names may be can be written") {
  const folder here;
  const std::string path = here / std::string(255, 'n');
  destination out(path, writing::whole);
  out.write("text");
  out.commit();
  CHECK(content(path) == "text");
}

TEST_CASE("a path without a folder is one in the current folder") {
  const folder here;
  const fs::path before = fs::current_path();
  fs::current_path(here / "");
  {
    destination out("bare", writing::whole);
    out.write("text");
    out.commit();
  }
  fs::current_path(before);
  CHECK(content(here / "bare") == "text");
}

TEST_CASE("a symbolic link stays and its target is replaced, through any number of links, or made where it dangles") {
  const folder here;
  fs::create_directory(here / "sub");
  put(here / "sub/target", "old");
  fs::create_symlink("sub/second", here / "link");
  fs::create_symlink("target", here / "sub/second");
  fs::create_symlink(here / "sub/made", here / "dangling");
  for (const std::string name : {"link", "dangling"}) {
    destination out(here / name, writing::whole);
    out.write("new");
    out.commit();
    CHECK(fs::is_symlink(here / name));
  }
  CHECK(fs::is_symlink(here / "sub/second"));
  CHECK(content(here / "sub/target") == "new");
  CHECK(content(here / "sub/made") == "new");
  fs::create_symlink("loop", here / "loop");
  CHECK(error_of([&] { destination(here / "loop", writing::whole); }).code == ELOOP);
}

TEST_CASE("a live file is made empty by the first write, written in place and can be tailed") {
  const folder here;
  const std::string path = here / "live";
  put(path, "old and longer");
  const ino_t before = inode_of(path);
  {
    const destination unused(path, writing::live);
  }
  CHECK(content(path) == "old and longer");
  destination out(path, writing::live);
  out.write("line 1\n");
  CHECK(content(path) == "line 1\n");
  out.write("line 2\n");
  CHECK(content(path) == "line 1\nline 2\n");
  out.commit();
  CHECK(inode_of(path) == before);
  CHECK(here.entries() == 1);
}

TEST_CASE("what is appended comes behind what was there, which stays") {
  const folder here;
  const std::string path = here / "log";
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
  CHECK(here.entries() == 1);
}

TEST_CASE("what is appended after a line that has no end begins a new line, and the torn line stays as it was") {
  const folder here;
  const std::string path = here / "log";
  put(path, "old\ntorn");
  for (const std::string text : {"one\n", "two\n"}) {
    destination out(path, writing::append);
    out.write(text);
    CHECK_FALSE(out.is_fresh());
    out.commit();
  }
  CHECK(content(path) == "old\ntorn\none\ntwo\n");
}

TEST_CASE("a descriptor that the shell opened to append is appended to as the file itself is") {
  const folder here;
  const std::string path = here / "log";
  put(path, "old\ntorn");
  const descriptor opened(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  for (const std::string text : {"one\n", "two\n"}) {
    destination out(name_of(opened), writing::append);
    out.write([&](const gpuhist::pipeline::text_sink& to) {
      CHECK_FALSE(out.is_fresh());
      to(text);
    });
    out.commit();
  }
  CHECK(content(path) == "old\ntorn\none\ntwo\n");
}

TEST_CASE("a file with a torn header gets a new one, a file with a torn line after it does not") {
  const folder here;
  const std::string path = here / "log";
  for (const bool by_shell : {false, true}) {
    for (const auto& [old, expected] : {std::pair<std::string, std::string>{"", "header\nrecord\n"},
                                        {"head", "head\nheader\nrecord\n"},
                                        {"header\nrec", "header\nrec\nrecord\n"},
                                        {std::string(5000, 'x'), std::string(5000, 'x') + "\nrecord\n"}}) {
      CAPTURE(by_shell);
      put(path, old);
      const descriptor opened(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      destination out(by_shell ? name_of(opened) : path, writing::append);
      out.write([&](const gpuhist::pipeline::text_sink& to) {
        if (out.is_fresh()) to("header\n");
        to("record\n");
      });
      CHECK(content(path) == expected);
    }
  }
}

TEST_CASE("a destination is fresh until something stands in it") {
  const folder here;
  for (const writing how : {writing::whole, writing::live, writing::append}) {
    destination out(here / ("new" + std::to_string(static_cast<int>(how))), how);
    CHECK(out.is_fresh());
    out.write("x");
    CHECK_FALSE(out.is_fresh());
  }
  put(here / "old", "old");
  CHECK(destination(here / "old", writing::whole).is_fresh());
  CHECK(destination(here / "old", writing::live).is_fresh());
}

TEST_CASE("two that append to one file lose nothing of each other") {
  const folder here;
  const std::string path = here / "log";
  destination one(path, writing::append);
  destination two(path, writing::append);
  for (int i = 0; i < 3; ++i) {
    one.write("1\n");
    two.write("2\n");
  }
  CHECK(content(path) == "1\n2\n1\n2\n1\n2\n");
}

TEST_CASE("records of any size that several append at once stand one after the other, below one header") {
  const folder here;
  const std::string path = here / "log";
  constexpr int appenders = 4;
  constexpr int records = 5;
  constexpr std::size_t lines = 20'000;  // of a record: several blocks of a write
  std::vector<std::thread> all;
  for (int number = 0; number < appenders; ++number) {
    all.emplace_back([&, number] {
      for (int record = 0; record < records; ++record) {
        destination out(path, writing::append);
        out.write([&](const gpuhist::pipeline::text_sink& to) {
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

TEST_CASE("a record is written though another process releases its lock for two milliseconds at a time only") {
  constexpr int records = 6;
  constexpr int most_rounds = 120;  // with a pause of 5 ms between attempts 15 are usual, with one of 100 ms 300
  const folder here;
  const std::string path = here / "log";
  const other_locker other(path);
  std::atomic<int> written = 0;
  other.lock();
  std::thread writer([&] {
    destination out(path, writing::append);
    for (; written < records; ++written) out.write("record\n");
  });
  int rounds = 0;
  for (; rounds < most_rounds && written < records; ++rounds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    other.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    other.lock();
  }
  CHECK(written == records);
  other.unlock();
  writer.join();
}

TEST_CASE("after a stop signal a destination waits for a lock 5 seconds in all, however many records there are") {
  const folder here;
  const std::string path = here / "log";
  const other_locker other(path);
  {
    const gpuhist::pipeline::kept_stop_signal kept;
    other.lock();
    destination out(path, writing::append);
    ::raise(SIGTERM);
    CHECK_THROWS_AS(out.write("record\n"), destination_error);
    const auto first_failed = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; ++i) CHECK_THROWS_AS(out.write("record\n"), destination_error);
    CHECK(std::chrono::steady_clock::now() - first_failed < std::chrono::seconds(5));
    other.unlock();
    out.write("written\n");  // one that needs not wait
  }
  CHECK(content(path) == "written\n");
  const gpuhist::pipeline::kept_stop_signal forgets_the_signal;
}

TEST_CASE("what does not fit behind a file is cut off again, also where the shell has opened it to append") {
  const folder here;
  const std::string path = here / "log";
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
      outcome failed;
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

TEST_CASE("what others appended without a lock stays where a write fails") {
  const folder here;
  const std::string path = here / "log";
  put(path, "old\n");
  for (const bool by_shell : {false, true}) {
    CAPTURE(by_shell);
    const descriptor other(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    destination out(by_shell ? name_of(other) : path, writing::append);
    CHECK_THROWS_AS(out.write([&](const gpuhist::pipeline::text_sink& to) {
      to(std::string(std::size_t{1} << 20U, 'x'));  // larger than a block: it is written at once
      REQUIRE(::write(other.get(), "other\n", 6) == 6);
      throw std::bad_alloc();
    }),
                    std::bad_alloc);
    CHECK(content(path).ends_with("xother\n"));
  }
}

TEST_CASE("a file that is replaced at every write holds the last text alone, and keeps its mode") {
  const folder here;
  const std::string path = here / "metrics";
  put(path, "old");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  destination out(path, writing::replacing);
  CHECK(content(path) == "old");
  for (const std::string text : {"a longer one", "two", "three"}) {
    CHECK(out.is_fresh());
    const ino_t before = inode_of(path);
    out.write(text);
    CHECK(content(path) == text);
    CHECK(inode_of(path) != before);
    CHECK(mode_of(path) == 0640);
    CHECK(here.entries() == 1);
  }
  out.commit();
  CHECK(content(path) == "three");
}

TEST_CASE("a file that may be there only once is not replaced, not even if it came while it was written") {
  const folder here;
  const std::string path = here / "archive";
  {
    destination out(path, writing::once);
    out.write("new");
    CHECK(content(out.pending_path()) == "new");
    put(path, "other");
    const outcome failed = error_of([&] { out.commit(); });
    CHECK(failed.code == EEXIST);
    CHECK(failed.message == "cannot write " + path + ": File exists");
  }
  CHECK(content(path) == "other");
  CHECK(error_of([&] { destination(path, writing::once); }).code == EEXIST);
  CHECK(here.entries() == 1);
  fs::remove(path);
  destination out(path, writing::once);
  out.write("new");
  out.commit();
  CHECK(content(path) == "new");
  CHECK(out.pending_path().empty());
  CHECK(here.entries() == 1);
}

TEST_CASE("what is no file cannot be replaced, and is told before anything is counted") {
  const pipe_ends ends = make_pipe();
  for (const std::string& name : {std::string("/dev/null"), name_of(ends.write)}) {
    CHECK_THROWS_WITH_AS(
        destination(name, writing::replacing),
        (name + " is not a regular file, which every snapshot could replace; give --output a regular file, or "
                "another --format")
            .c_str(),
        gpuhist::config::usage_error);
  }
}

TEST_CASE("a FIFO, a device and a descriptor are written in place by those that append as well") {
  const pipe_ends ends = make_pipe();
  destination out(name_of(ends.write), writing::append);
  CHECK(out.is_fresh());
  out.write("text");
  out.commit();
  char got[8];
  CHECK(::read(ends.read.get(), got, sizeof got) == 4);
  destination("/dev/null", writing::append).write("text");
}

TEST_CASE("a full device is told with its name and the system's reason") {
  for (const writing how : {writing::whole, writing::live, writing::append}) {
    destination out("/dev/full", how);
    const outcome failed = error_of([&] { out.write("x"); });
    CHECK(failed.code == ENOSPC);
    CHECK(failed.message == "cannot write /dev/full: No space left on device");
  }
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("what cannot be opened is told at once") {
  const folder here;
  fs::create_directory(here / "sub");
  CHECK(error_of([&] { destination(here / "none/result", writing::whole); }).message ==
        "cannot write " + (here / "none/result") + ": No such file or directory");
  CHECK(error_of([&] { destination(here / "sub", writing::whole); }).code == EISDIR);
  CHECK(error_of([&] { destination(here / "sub", writing::live); }).code == EISDIR);
  put(here / "file", "");
  CHECK(error_of([&] { destination(here / "file/below", writing::whole); }).code == ENOTDIR);
  CHECK(error_of([] { destination("", writing::whole); }).code == ENOENT);
  CHECK(error_of([&] { destination(here / "none/a\x1b[m\n", writing::whole); }).message.find("a\\x1b[m\\x0a: ") !=
        std::string::npos);
  CHECK(here.entries() == 2);
}

TEST_CASE("a file that may not be written is not replaced either") {
  if (::geteuid() == 0) return;  // root may
  const folder here;
  put(here / "file", "old");
  REQUIRE(::chmod((here / "file").c_str(), 0444) == 0);
  CHECK(error_of([&] { destination(here / "file", writing::whole); }).code == EACCES);
  CHECK(content(here / "file") == "old");
}

TEST_CASE("a descriptor is written in place and left open") {
  const pipe_ends ends = make_pipe();
  {
    destination out(name_of(ends.write), writing::whole);
    out.write("text");
    out.commit();
    CHECK_FALSE(out.is_terminal());
    CHECK_FALSE(out.terminal_width());
  }
  CHECK(::fcntl(ends.write.get(), F_GETFD) >= 0);
  char got[8];
  CHECK(::read(ends.read.get(), got, sizeof got) == 4);
  CHECK(error_of([] { destination("fd:9999", writing::whole); }).message ==
        "cannot write fd:9999: Bad file descriptor");
  CHECK(error_of([] { destination("fd:x", writing::whole); }).code == EBADF);
}

TEST_CASE("a name of a descriptor keeps the offset and the file that the shell has opened, through a link as well") {
  const folder here;
  const std::string path = here / "log";
  put(path, "0123456789");
  const ino_t before = inode_of(path);
  const descriptor log(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string number = std::to_string(log.get());
  fs::create_symlink("/dev/fd/" + number, here / "link");
  for (const std::string& name : {"fd:" + number, "/dev/fd/" + number, "/proc/self/fd/" + number, here / "link"}) {
    destination out(name, writing::whole);
    out.write("+");
    out.commit();
  }
  CHECK(content(path) == "0123456789++++");
  CHECK(inode_of(path) == before);
}

TEST_CASE("no name and /dev/stdout are standard output, which is only borrowed") {
  const folder here;
  const descriptor saved(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const descriptor file(::open((here / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  std::fflush(stdout);
  REQUIRE(::dup2(file.get(), STDOUT_FILENO) == STDOUT_FILENO);
  const auto text_to = [](const std::optional<std::string>& where, std::string_view text) {
    destination out(where, writing::whole);
    out.write(text);
    out.commit();
  };
  text_to(std::nullopt, "one\n");
  text_to("/dev/stdout", "two\n");
  text_to("fd:1", "three\n");
  REQUIRE(::dup2(saved.get(), STDOUT_FILENO) == STDOUT_FILENO);
  CHECK(content(here / "out") == "one\ntwo\nthree\n");
}

TEST_CASE("a FIFO is written in place and stays one") {
  const folder here;
  const std::string path = here / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] {
    const descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    got = read_all(in.get());
  });
  {
    destination out(path, writing::whole);
    out.write("text");
    out.commit();
  }
  reader.join();
  CHECK(got == "text");
  CHECK(fs::is_fifo(path));
}

TEST_CASE("a reader that left is told as EPIPE") {
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  pipe_ends ends = make_pipe();
  destination out(name_of(ends.write), writing::live);
  ends.read = descriptor();
  const outcome failed = error_of([&] { out.write("x"); });
  CHECK(failed.code == EPIPE);
  CHECK(failed.message == "cannot write " + name_of(ends.write) + ": Broken pipe");
  std::signal(SIGPIPE, previous);
}

TEST_CASE("a descriptor that somebody made non-blocking gets every byte, and keeps its flags") {
  pipe_ends ends = make_pipe();
  const int flags = ::fcntl(ends.write.get(), F_GETFL);
  REQUIRE(::fcntl(ends.write.get(), F_SETFL, flags | O_NONBLOCK) == 0);
  std::string text(1 << 20, 'x');  // many times the capacity of the pipe
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  std::string got;
  std::thread reader([&] { got = read_all(ends.read.get()); });
  {
    destination out(name_of(ends.write), writing::whole);
    out.write(text);
    out.commit();
  }
  CHECK(::fcntl(ends.write.get(), F_GETFL) == (flags | O_NONBLOCK));
  ends.write = descriptor();
  reader.join();
  CHECK(got == text);
}

TEST_CASE("a descriptor that the process was not started with is no destination") {
  const auto given = gpuhist::io::open_descriptors::of_process();
  const pipe_ends opened_since = make_pipe();
  CHECK(given.contains(STDERR_FILENO));
  CHECK_FALSE(given.contains(opened_since.write.get()));
  CHECK(error_of([&] { destination(name_of(opened_since.write), writing::whole, given); }).message ==
        "cannot write " + name_of(opened_since.write) + ": Bad file descriptor");
}

TEST_CASE("the files of a destination are known as they are, whatever name they have at the moment") {
  using role = gpuhist::io::output_files::role;
  const folder here;
  const std::string path = here / "file";
  const auto role_of = [](const destination& out, const std::string& name) {
    struct stat found{};
    return ::stat(name.c_str(), &found) == 0 ? out.files()->find(found) : std::nullopt;
  };
  put(here / "other", "x");
  for (const writing how : {writing::whole, writing::live, writing::append, writing::replacing}) {
    CAPTURE(static_cast<int>(how));
    put(path, "old");
    destination out(path, how);
    CHECK(role_of(out, path) == role::output);
    CHECK(role_of(out, here / "other") == std::nullopt);
    if (!out.pending_path().empty()) CHECK(role_of(out, out.pending_path()) == role::temporary);
    for (int time = 0; time < 2; ++time) out.write("new");
    CHECK(role_of(out, path) == role::output);
    out.commit();
    CHECK(role_of(out, path) == role::output);
    fs::remove(path);
  }
  CHECK(role_of(destination("/dev/null", writing::live), "/dev/null") == std::nullopt);
}

TEST_CASE("a temporary file goes with an exception, wherever it is thrown") {
  const folder here;
  const auto fails_with = [&](const std::function<void(destination&)>& what) {
    try {
      destination out(here / "result", writing::whole);
      CHECK(here.entries() == 1);
      what(out);
    } catch (const std::bad_alloc&) {
      return here.entries() == 0;
    }
    return false;
  };
  CHECK(fails_with([](destination&) { throw std::bad_alloc(); }));
  CHECK(fails_with([](destination& out) {
    out.write([](const gpuhist::pipeline::text_sink& to) {
      to("half of it");
      throw std::bad_alloc();
    });
  }));
}

TEST_CASE("standard output of a closed process is an error and not a silence") {
  const folder here;
  const descriptor read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  destination out(name_of(read_only), writing::whole);
  CHECK(error_of([&] { out.write("x"); }).code == EBADF);
}
