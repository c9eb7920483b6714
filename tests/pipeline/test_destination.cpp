// Destinations: which files are replaced as a whole; files, descriptors, pipes and devices that are written in place;
// and their errors.
#include "config/usage_error.hpp"
#include "report/output/destination.hpp"

#include "tests/pipeline/destination_files.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>

using gpuhist::report::destination;
using gpuhist::report::writing;
using folder = gpuhist::test::temporary_folder;
using gpuhist::io::descriptor;
namespace fs = std::filesystem;

namespace {

using gpuhist::test::content;
using gpuhist::test::error_of;
using gpuhist::test::inode_of;
using gpuhist::test::put;
using gpuhist::test::write_failure;

mode_t mode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a regular file appears as a whole, at commit and not before, with the umask's mode") {
  const folder directory;
  const std::string path = directory / "result";
  const mode_t mask = ::umask(027);
  {
    destination out(path, writing::whole);
    out.write("one ");
    out.write("two");
    CHECK_FALSE(fs::exists(path));
    CHECK(directory.entries() == 1);  // the temporary file, in the same folder
    for (const auto& each : fs::directory_iterator(fs::path(path).parent_path())) {
      CHECK(each.path().filename().string().starts_with(".result."));
      CHECK(each.path().filename().string().size() == std::string(".result.gpuhist-XXXXXX").size());
    }
    out.commit();
    CHECK(content(path) == "one two");
  }
  ::umask(mask);
  CHECK(content(path) == "one two");
  CHECK(mode_of(path) == 0640);
  CHECK(directory.entries() == 1);
}

TEST_CASE("without a commit the old file is unchanged and no other file remains") {
  const folder directory;
  const std::string path = directory / "result";
  put(path, "old");
  const ino_t before = inode_of(path);
  {
    destination out(path, writing::whole);
    out.write("new");
  }
  CHECK(content(path) == "old");
  CHECK(inode_of(path) == before);
  CHECK(directory.entries() == 1);
}

TEST_CASE("a file that is replaced keeps its mode, whatever the umask") {
  const folder directory;
  const std::string path = directory / "result";
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

TEST_CASE("a name of the maximum length can be written") {
  const folder directory;
  const std::string path = directory / std::string(255, 'n');
  destination out(path, writing::whole);
  out.write("text");
  out.commit();
  CHECK(content(path) == "text");
}

TEST_CASE("a path without a folder is in the current folder") {
  const folder directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory / "");
  {
    destination out("bare", writing::whole);
    out.write("text");
    out.commit();
  }
  fs::current_path(before);
  CHECK(content(directory / "bare") == "text");
}

TEST_CASE(
    "a symbolic link stays; its target is replaced, through any number of links, or created if it does not exist") {
  const folder directory;
  fs::create_directory(directory / "sub");
  put(directory / "sub/target", "old");
  fs::create_symlink("sub/second", directory / "link");
  fs::create_symlink("target", directory / "sub/second");
  fs::create_symlink(directory / "sub/made", directory / "dangling");
  for (const std::string name : {"link", "dangling"}) {
    destination out(directory / name, writing::whole);
    out.write("new");
    out.commit();
    CHECK(fs::is_symlink(directory / name));
  }
  CHECK(fs::is_symlink(directory / "sub/second"));
  CHECK(content(directory / "sub/target") == "new");
  CHECK(content(directory / "sub/made") == "new");
  fs::create_symlink("loop", directory / "loop");
  CHECK(error_of([&] { destination(directory / "loop", writing::whole); }).code == ELOOP);
}

TEST_CASE("a live file is truncated by the first write, written in place and can be tailed") {
  const folder directory;
  const std::string path = directory / "live";
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
  CHECK(directory.entries() == 1);
}

TEST_CASE("a destination is fresh until it has content") {
  const folder directory;
  for (const writing manner : {writing::whole, writing::live, writing::append}) {
    destination out(directory / ("new" + std::to_string(static_cast<int>(manner))), manner);
    CHECK(out.is_fresh());
    out.write("x");
    CHECK_FALSE(out.is_fresh());
  }
  put(directory / "old", "old");
  CHECK(destination(directory / "old", writing::whole).is_fresh());
  CHECK(destination(directory / "old", writing::live).is_fresh());
}

TEST_CASE("a file that is replaced at every write holds only the last text and keeps its mode") {
  const folder directory;
  const std::string path = directory / "metrics";
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
    CHECK(directory.entries() == 1);
  }
  out.commit();
  CHECK(content(path) == "three");
}

TEST_CASE("a file that must be new is not replaced, even if it was created while this one was written") {
  const folder directory;
  const std::string path = directory / "archive";
  {
    destination out(path, writing::once);
    out.write("new");
    CHECK(content(out.pending_path()) == "new");
    put(path, "other");
    const write_failure failed = error_of([&] { out.commit(); });
    CHECK(failed.code == EEXIST);
    CHECK(failed.message == "cannot write " + path + ": File exists");
  }
  CHECK(content(path) == "other");
  CHECK(error_of([&] { destination(path, writing::once); }).code == EEXIST);
  CHECK(directory.entries() == 1);
  fs::remove(path);
  destination out(path, writing::once);
  out.write("new");
  out.commit();
  CHECK(content(path) == "new");
  CHECK(out.pending_path().empty());
  CHECK(directory.entries() == 1);
}

TEST_CASE("a path that cannot be opened is reported at once") {
  const folder directory;
  fs::create_directory(directory / "sub");
  CHECK(error_of([&] { destination(directory / "none/result", writing::whole); }).message ==
        "cannot write " + (directory / "none/result") + ": No such file or directory");
  CHECK(error_of([&] { destination(directory / "sub", writing::whole); }).code == EISDIR);
  CHECK(error_of([&] { destination(directory / "sub", writing::live); }).code == EISDIR);
  put(directory / "file", "");
  CHECK(error_of([&] { destination(directory / "file/below", writing::whole); }).code == ENOTDIR);
  CHECK(error_of([] { destination("", writing::whole); }).code == ENOENT);
  CHECK(error_of([&] { destination(directory / "none/a\x1b[m\n", writing::whole); }).message.find("a\\x1b[m\\x0a: ") !=
        std::string::npos);
  CHECK(directory.entries() == 2);
}

TEST_CASE("a file without write permission is not replaced") {
  if (::geteuid() == 0) return;  // root may write it
  const folder directory;
  put(directory / "file", "old");
  REQUIRE(::chmod((directory / "file").c_str(), 0444) == 0);
  CHECK(error_of([&] { destination(directory / "file", writing::whole); }).code == EACCES);
  CHECK(content(directory / "file") == "old");
}

TEST_CASE("the files of a destination are recognized by any name that they have at the moment") {
  using role = gpuhist::io::output_files::role;
  const folder directory;
  const std::string path = directory / "file";
  const auto role_of = [](const destination& out, const std::string& name) {
    struct stat found{};
    return ::stat(name.c_str(), &found) == 0 ? out.files()->find(found) : std::nullopt;
  };
  put(directory / "other", "x");
  for (const writing manner : {writing::whole, writing::live, writing::append, writing::replacing}) {
    CAPTURE(static_cast<int>(manner));
    put(path, "old");
    destination out(path, manner);
    CHECK(role_of(out, path) == role::output);
    CHECK(role_of(out, directory / "other") == std::nullopt);
    if (!out.pending_path().empty()) CHECK(role_of(out, out.pending_path()) == role::temporary);
    for (int time = 0; time < 2; ++time) out.write("new");
    CHECK(role_of(out, path) == role::output);
    out.commit();
    CHECK(role_of(out, path) == role::output);
    fs::remove(path);
  }
  CHECK(role_of(destination("/dev/null", writing::live), "/dev/null") == std::nullopt);
}

TEST_CASE("a temporary file is removed after an exception, wherever it is thrown") {
  const folder directory;
  const auto fails_with = [&](const std::function<void(destination&)>& action) {
    try {
      destination out(directory / "result", writing::whole);
      CHECK(directory.entries() == 1);
      action(out);
    } catch (const std::bad_alloc&) {
      return directory.entries() == 0;
    }
    return false;
  };
  CHECK(fails_with([](destination&) { throw std::bad_alloc(); }));
  CHECK(fails_with([](destination& out) {
    out.write([](const gpuhist::report::text_sink& to) {
      to("half of it");
      throw std::bad_alloc();
    });
  }));
}

namespace fs = std::filesystem;

namespace {

using gpuhist::test::name_of;

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
