#include "io/followed_file.hpp"

#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

using namespace gpuhist;
using io::name_change;

namespace {

// What the system calls of this program are to do, for the tests that want them to fail.
struct system_faults {
  int fstat_error = 0;              // errno of every call; 0: none
  std::size_t max_read = SIZE_MAX;  // bytes of one pread
};

system_faults faults;

struct with_faults {
  explicit with_faults(const system_faults& wanted) { faults = wanted; }
  with_faults(const with_faults&) = delete;
  with_faults& operator=(const with_faults&) = delete;
  ~with_faults() { faults = {}; }
};

}  // namespace

// These stand before those of the C library.
extern "C" int fstat(int fd, struct stat* out) noexcept {
  if (faults.fstat_error != 0) {
    errno = faults.fstat_error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fstat, fd, out));
}

extern "C" ssize_t pread(int fd, void* out, size_t size, off_t offset) {
  return ::syscall(SYS_pread64, fd, out, std::min(size, faults.max_read), offset);
}

namespace {

// A file by its name, and what is done to it.
struct log {
  test::temporary_folder folder;
  std::string path = folder.file("log", "");
  io::followed_file under_test{path};

  void append(const std::string& text) const { std::ofstream(path, std::ios::app) << text; }
  void rename() const { std::filesystem::rename(path, path + ".1"); }
  void append_to_renamed(const std::string& text) const { std::ofstream(path + ".1", std::ios::app) << text; }

  // All there is to be read, in steps of three bytes.
  std::string read() {
    std::string all;
    std::array<std::byte, 3> out{};
    while (const std::size_t got = under_test.read_some(out))
      all.append(reinterpret_cast<const char*>(out.data()), got);
    return all;
  }
};

}  // namespace

TEST_CASE_FIXTURE(log, "what is written to a file is read once, as it comes") {
  CHECK(under_test.look() == name_change::appeared);
  CHECK(read().empty());
  append("first");
  CHECK(under_test.pending() == 5);
  CHECK(read() == "first");
  CHECK(under_test.look() == name_change::none);
  append(" and second");
  CHECK(read() == " and second");
  CHECK(under_test.position() == 16);
  CHECK(under_test.pending() == 0);
}

TEST_CASE_FIXTURE(log, "a file that is renamed is read on, and the one that takes its name from its start") {
  append("old");
  under_test.look();
  CHECK(read() == "old");
  rename();
  append_to_renamed(" late");
  append("new");
  CHECK(under_test.look() == name_change::replaced);
  CHECK(read() == " latenew");
  append_to_renamed(" later");  // by who still has it open
  append("er");
  CHECK(read() == " laterer");
}

TEST_CASE_FIXTURE(log, "while the name has no file, what had it is read, and one that comes is read from its start") {
  under_test.look();
  append("a");
  rename();
  CHECK(under_test.look() == name_change::vanished);
  CHECK(under_test.current() == -1);
  CHECK(under_test.look() == name_change::none);
  append_to_renamed("b");
  CHECK(read() == "ab");
  append("c");
  CHECK(under_test.look() == name_change::appeared);
  CHECK(read() == "c");
}

TEST_CASE_FIXTURE(log, "a file that was truncated is read again from its start") {
  append("a long line");
  under_test.look();
  CHECK(read() == "a long line");
  std::filesystem::resize_file(path, 0);
  CHECK(read().empty());
  append("short");
  CHECK(read().empty());  // not before it was said
  CHECK(under_test.look() == name_change::truncated);
  CHECK(read() == "short");
  CHECK(under_test.look() == name_change::none);
}

TEST_CASE_FIXTURE(log, "a file that was truncated and has grown past the place that was read is read from its start") {
  append("a line\n");
  under_test.look();
  CHECK(read() == "a line\n");
  std::filesystem::resize_file(path, 0);
  append("other lines, and more of them\n");
  CHECK(read().empty());
  CHECK(under_test.look() == name_change::truncated);
  CHECK(read() == "other lines, and more of them\n");
}

TEST_CASE_FIXTURE(log, "a file that had the name and is truncated is read again from its start") {
  append("a long line");
  under_test.look();
  CHECK(read() == "a long line");
  rename();
  append("new");
  CHECK(under_test.look() == name_change::replaced);
  CHECK(read() == "new");
  std::filesystem::resize_file(path + ".1", 0);
  append_to_renamed("short");
  CHECK(under_test.look() == name_change::truncated);
  CHECK(read() == "short");
  CHECK(under_test.look() == name_change::none);
}

TEST_CASE_FIXTURE(log, "what overwrites a file that had the name, as shred does, is not read") {
  append("a line");
  under_test.look();
  CHECK(read() == "a line");
  rename();
  CHECK(under_test.look() == name_change::vanished);
  std::ofstream(path + ".1", std::ios::in | std::ios::out) << "noise!";
  CHECK(under_test.look() == name_change::none);
  CHECK(read().empty());
}

TEST_CASE_FIXTURE(log, "once the end is set nothing is read that is written after it, to whichever file") {
  append("old");
  under_test.look();
  rename();
  append("new");
  CHECK(under_test.look() == name_change::replaced);
  under_test.set_end();
  append_to_renamed(" late");
  append("er");
  CHECK(under_test.pending() == 6);
  CHECK(read() == "oldnew");
  CHECK(under_test.pending() == 0);
}

TEST_CASE_FIXTURE(log, "what is truncated after the end was set stays pending") {
  append("a line");
  under_test.look();
  under_test.set_end();
  std::filesystem::resize_file(path, 0);
  CHECK(read().empty());
  CHECK(under_test.pending() == 6);
}

TEST_CASE_FIXTURE(log, "a file that is read in short pieces is not taken for one that was truncated") {
  for (const std::size_t most : {1, 2, 5, 63}) {
    CAPTURE(most);
    const with_faults shorter({.max_read = most});
    const std::string line = "a line that is longer than what is remembered of the file: " + std::string(80, 'x');
    const std::uint64_t before = under_test.position();
    append(line);
    CHECK(under_test.look() != name_change::truncated);
    CHECK(read() == line);
    append("more");
    CHECK(under_test.look() == name_change::none);
    CHECK(read() == "more");
    CHECK(under_test.position() == before + line.size() + 4);
  }
  std::filesystem::resize_file(path, 3);
  const with_faults shorter({.max_read = 1});
  CHECK(under_test.look() == name_change::truncated);
}

TEST_CASE_FIXTURE(log, "where the size cannot be asked for that is said, and nothing is read twice") {
  append("first");
  under_test.look();
  CHECK(read() == "first");
  append("second");
  {
    const with_faults failing({.fstat_error = EIO});
    CHECK_THROWS_WITH_AS(under_test.look(), "its size cannot be asked for: Input/output error", io::input_error);
    CHECK_THROWS_AS((void)under_test.pending(), io::input_error);
    CHECK_THROWS_AS(read(), io::input_error);
  }
  CHECK(under_test.look() == name_change::none);
  CHECK(read() == "second");
  CHECK(under_test.position() == 11);
}

TEST_CASE_FIXTURE(log, "a file of the same content under the same name is another file") {
  append("same");
  under_test.look();
  CHECK(read() == "same");
  std::filesystem::rename(folder.file("other", "same"), path);
  CHECK(under_test.look() == name_change::replaced);
  CHECK(read() == "same");
}

TEST_CASE_FIXTURE(log, "what had the name is forgotten when it has long not grown") {
  using namespace std::chrono_literals;
  append("old");
  const auto now = io::followed_file::clock::now();
  under_test.look(now);
  CHECK(read() == "old");
  rename();
  append("new");
  CHECK(under_test.look(now) == name_change::replaced);
  CHECK(read() == "new");
  under_test.look(now + 1h);
  append_to_renamed("too late");
  CHECK(read().empty());
}

TEST_CASE_FIXTURE(log, "only regular files are followed, and whoever waits for one is not kept by a FIFO") {
  REQUIRE(::unlink(path.c_str()) == 0);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_AS(under_test.look(), io::input_error);
  io::followed_file folder_itself(folder / ".");
  CHECK_THROWS_AS(folder_itself.look(), io::input_error);
  io::followed_file below_a_file(folder.file("file", "") + "/below");
  CHECK(below_a_file.look() == name_change::none);
}
