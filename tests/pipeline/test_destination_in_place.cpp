// Destinations that are descriptors, pipes or devices: they are written in place and left open; their errors.
#include "report/output/destination.hpp"

#include "config/usage_error.hpp"
#include "tests/pipeline/destination_files.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

using gpuhist::io::descriptor;
using gpuhist::pipeline::destination;
using gpuhist::pipeline::writing;
using folder = gpuhist::test::temporary_folder;
namespace fs = std::filesystem;

namespace {

using gpuhist::test::content;
using gpuhist::test::error_of;
using gpuhist::test::inode_of;
using gpuhist::test::name_of;
using gpuhist::test::put;
using gpuhist::test::write_failure;

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
  for (ssize_t length = 0; (length = ::read(fd, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(length));
  return all;
}

}  // namespace

TEST_CASE("a target that is not a file cannot be replaced, which is reported before anything is counted") {
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

TEST_CASE("a FIFO, a device and a descriptor are written in place also in append mode") {
  const pipe_ends ends = make_pipe();
  destination out(name_of(ends.write), writing::append);
  CHECK(out.is_fresh());
  out.write("text");
  out.commit();
  char received[8];
  CHECK(::read(ends.read.get(), received, sizeof received) == 4);
  destination("/dev/null", writing::append).write("text");
}

TEST_CASE("a full device is reported with its name and the system's reason") {
  for (const writing manner : {writing::whole, writing::live, writing::append}) {
    destination out("/dev/full", manner);
    const write_failure failed = error_of([&] { out.write("x"); });
    CHECK(failed.code == ENOSPC);
    CHECK(failed.message == "cannot write /dev/full: No space left on device");
  }
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a descriptor is written in place and left open") {
  const pipe_ends ends = make_pipe();
  {
    destination out(name_of(ends.write), writing::whole);
    out.write("text");
    out.commit();
    CHECK_FALSE(out.is_terminal());
    CHECK_FALSE(out.terminal());
  }
  CHECK(::fcntl(ends.write.get(), F_GETFD) >= 0);
  char received[8];
  CHECK(::read(ends.read.get(), received, sizeof received) == 4);
  CHECK(error_of([] { destination("fd:9999", writing::whole); }).message ==
        "cannot write fd:9999: Bad file descriptor");
  CHECK(error_of([] { destination("fd:x", writing::whole); }).code == EBADF);
}

TEST_CASE("a name of a descriptor keeps the offset and the file that the shell has opened, also through a link") {
  const folder directory;
  const std::string path = directory / "log";
  put(path, "0123456789");
  const ino_t before = inode_of(path);
  const descriptor log(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string number = std::to_string(log.get());
  fs::create_symlink("/dev/fd/" + number, directory / "link");
  for (const std::string& name : {"fd:" + number, "/dev/fd/" + number, "/proc/self/fd/" + number, directory / "link"}) {
    destination out(name, writing::whole);
    out.write("+");
    out.commit();
  }
  CHECK(content(path) == "0123456789++++");
  CHECK(inode_of(path) == before);
}

TEST_CASE("no name and /dev/stdout are standard output, which is not closed") {
  const folder directory;
  const descriptor saved(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const descriptor file(::open((directory / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  std::fflush(stdout);
  REQUIRE(::dup2(file.get(), STDOUT_FILENO) == STDOUT_FILENO);
  const auto text_to = [](const std::optional<std::string>& name, std::string_view text) {
    destination out(name, writing::whole);
    out.write(text);
    out.commit();
  };
  text_to(std::nullopt, "one\n");
  text_to("/dev/stdout", "two\n");
  text_to("fd:1", "three\n");
  REQUIRE(::dup2(saved.get(), STDOUT_FILENO) == STDOUT_FILENO);
  CHECK(content(directory / "out") == "one\ntwo\nthree\n");
}

TEST_CASE("a FIFO is written in place and remains a FIFO") {
  const folder directory;
  const std::string path = directory / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] {
    const descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    received = read_all(in.get());
  });
  {
    destination out(path, writing::whole);
    out.write("text");
    out.commit();
  }
  reader.join();
  CHECK(received == "text");
  CHECK(fs::is_fifo(path));
}

TEST_CASE("a reader that has closed its end is reported as EPIPE") {
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  pipe_ends ends = make_pipe();
  destination out(name_of(ends.write), writing::live);
  ends.read = descriptor();
  const write_failure failed = error_of([&] { out.write("x"); });
  CHECK(failed.code == EPIPE);
  CHECK(failed.message == "cannot write " + name_of(ends.write) + ": Broken pipe");
  std::signal(SIGPIPE, previous);
}

TEST_CASE("a descriptor that is non-blocking gets every byte, and keeps its flags") {
  pipe_ends ends = make_pipe();
  const int flags = ::fcntl(ends.write.get(), F_GETFL);
  REQUIRE(::fcntl(ends.write.get(), F_SETFL, flags | O_NONBLOCK) == 0);
  std::string text(1 << 20, 'x');  // many times the capacity of the pipe
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  std::string received;
  std::thread reader([&] { received = read_all(ends.read.get()); });
  {
    destination out(name_of(ends.write), writing::whole);
    out.write(text);
    out.commit();
  }
  CHECK(::fcntl(ends.write.get(), F_GETFL) == (flags | O_NONBLOCK));
  ends.write = descriptor();
  reader.join();
  CHECK(received == text);
}

TEST_CASE("a descriptor that the process was not started with is not a destination") {
  const auto inherited = gpuhist::io::open_descriptors::of_process();
  const pipe_ends opened_since = make_pipe();
  CHECK(inherited.contains(STDERR_FILENO));
  CHECK_FALSE(inherited.contains(opened_since.write.get()));
  CHECK(error_of([&] { destination(name_of(opened_since.write), writing::whole, inherited); }).message ==
        "cannot write " + name_of(opened_since.write) + ": Bad file descriptor");
}

TEST_CASE("a descriptor that cannot be written is an error and is not ignored") {
  const folder directory;
  const descriptor read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  destination out(name_of(read_only), writing::whole);
  CHECK(error_of([&] { out.write("x"); }).code == EBADF);
}
