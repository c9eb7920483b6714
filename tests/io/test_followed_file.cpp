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

// Replaced results of system calls, for tests of their failures.
struct system_faults {
  int fstat_error = 0;              // errno of every fstat; 0: no failure
  std::size_t max_read = SIZE_MAX;  // upper bound of one pread
};

system_faults faults;

struct with_faults {
  explicit with_faults(const system_faults& wanted) { faults = wanted; }
  with_faults(const with_faults&) = delete;
  with_faults& operator=(const with_faults&) = delete;
  ~with_faults() { faults = {}; }
};

}  // namespace

// These definitions replace those of the C library.
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

// A file and the operations on it.
struct log {
  test::temporary_folder folder;
  std::string path = folder.file("log", "");
  io::followed_file under_test{path};

  void append(const std::string& text) const { std::ofstream(path, std::ios::app) << text; }
  void rename() const { std::filesystem::rename(path, path + ".1"); }
  void append_to_renamed(const std::string& text) const { std::ofstream(path + ".1", std::ios::app) << text; }

  // Reads all available bytes, in steps of three bytes.
  std::string read() {
    std::string all;
    std::array<std::byte, 3> out{};
    while (const std::size_t got = under_test.read_some(out))
      all.append(reinterpret_cast<const char*>(out.data()), got);
    return all;
  }
};

}  // namespace

TEST_CASE_FIXTURE(log, "bytes are read once, after they are written to the file") {
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

TEST_CASE_FIXTURE(log, "a renamed file is read further, and the new file of the name from its start") {
  append("old");
  under_test.look();
  CHECK(read() == "old");
  rename();
  append_to_renamed(" late");
  append("new");
  CHECK(under_test.look() == name_change::replaced);
  CHECK(read() == " latenew");
  append_to_renamed(" later");  // by a process that still has it open
  append("er");
  CHECK(read() == " laterer");
}

TEST_CASE_FIXTURE(log, "while the name has no file, the earlier file is read; a new file is read from its start") {
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

TEST_CASE_FIXTURE(log, "a truncated file is read again from its start") {
  append("a long line");
  under_test.look();
  CHECK(read() == "a long line");
  std::filesystem::resize_file(path, 0);
  CHECK(read().empty());
  append("short");
  CHECK(read().empty());  // not before look() reported it
  CHECK(under_test.look() == name_change::truncated);
  CHECK(read() == "short");
  CHECK(under_test.look() == name_change::none);
}

TEST_CASE_FIXTURE(log, "a truncated file that has grown beyond the read offset is read from its start") {
  append("a line\n");
  under_test.look();
  CHECK(read() == "a line\n");
  std::filesystem::resize_file(path, 0);
  append("other lines, and more of them\n");
  CHECK(read().empty());
  CHECK(under_test.look() == name_change::truncated);
  CHECK(read() == "other lines, and more of them\n");
}

TEST_CASE_FIXTURE(log, "a truncated earlier file of the name is read again from its start") {
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

TEST_CASE_FIXTURE(log, "bytes that overwrite an earlier file of the name, as shred does, are not read") {
  append("a line");
  under_test.look();
  CHECK(read() == "a line");
  rename();
  CHECK(under_test.look() == name_change::vanished);
  std::ofstream(path + ".1", std::ios::in | std::ios::out) << "noise!";
  CHECK(under_test.look() == name_change::none);
  CHECK(read().empty());
}

TEST_CASE_FIXTURE(log, "after the end is set, bytes that are written to any file are not read") {
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

TEST_CASE_FIXTURE(log, "bytes that are truncated after the end was set stay pending") {
  append("a line");
  under_test.look();
  under_test.set_end();
  std::filesystem::resize_file(path, 0);
  CHECK(read().empty());
  CHECK(under_test.pending() == 6);
}

TEST_CASE_FIXTURE(log, "a file that is read in short pieces is not treated as truncated") {
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

TEST_CASE_FIXTURE(log, "an error of fstat is reported, and no byte is read twice") {
  append("first");
  under_test.look();
  CHECK(read() == "first");
  append("second");
  {
    const with_faults failing({.fstat_error = EIO});
    CHECK_THROWS_WITH_AS(under_test.look(), "its size cannot be read: Input/output error", io::input_error);
    CHECK_THROWS_AS((void)under_test.pending(), io::input_error);
    CHECK_THROWS_AS(read(), io::input_error);
  }
  CHECK(under_test.look() == name_change::none);
  CHECK(read() == "second");
  CHECK(under_test.position() == 11);
}

TEST_CASE_FIXTURE(log, "a new file with the same name and content is another file") {
  append("same");
  under_test.look();
  CHECK(read() == "same");
  std::filesystem::rename(folder.file("other", "same"), path);
  CHECK(under_test.look() == name_change::replaced);
  CHECK(read() == "same");
}

TEST_CASE_FIXTURE(log, "an earlier file of the name is forgotten when it has not grown for long") {
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

TEST_CASE_FIXTURE(log, "only regular files are followed, and a FIFO does not block") {
  REQUIRE(::unlink(path.c_str()) == 0);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_AS(under_test.look(), io::input_error);
  io::followed_file folder_itself(folder / ".");
  CHECK_THROWS_AS(folder_itself.look(), io::input_error);
  io::followed_file below_a_file(folder.file("file", "") + "/below");
  CHECK(below_a_file.look() == name_change::none);
}

TEST_CASE_FIXTURE(log, "a file that gets its name back is read on") {
  append("a");
  under_test.look();
  CHECK(read() == "a");
  rename();
  CHECK(under_test.look() == name_change::vanished);
  append_to_renamed("b");
  CHECK(read() == "b");
  std::filesystem::rename(path + ".1", path);
  CHECK(under_test.look() == name_change::appeared);
  append("c");
  CHECK(read() == "c");
  CHECK(under_test.pending() == 0);
}

TEST_CASE_FIXTURE(log, "the source changes with the file that is read, and when it is read again from its start") {
  append("a");
  under_test.look();
  read();
  const std::uint64_t first = under_test.source();
  append("b");
  read();
  CHECK(under_test.source() == first);
  rename();
  append("c");
  under_test.look();
  read();
  const std::uint64_t second = under_test.source();
  CHECK(second != first);
  append_to_renamed("d");
  read();
  CHECK(under_test.source() == first);
  std::filesystem::resize_file(path, 0);
  under_test.look();
  append("e");
  read();
  CHECK(under_test.source() != first);
  CHECK(under_test.source() != second);
}

TEST_CASE_FIXTURE(log, "a name has disappeared when it has no file and its earlier files are not read any more") {
  using namespace std::chrono_literals;
  append("a");
  const auto now = io::followed_file::clock::now();
  under_test.look(now);
  CHECK_FALSE(under_test.has_disappeared());
  read();
  rename();
  under_test.look(now + 1s);
  CHECK_FALSE(under_test.has_disappeared());
  under_test.look(now + 1h);
  CHECK(under_test.has_disappeared());
  append("b");
  under_test.look(now + 1h);
  CHECK_FALSE(under_test.has_disappeared());
}

TEST_CASE_FIXTURE(log, "a file that is left out is not read, but the earlier one is") {
  append("a");
  const std::string other = folder.file("other", "not read");
  const std::optional<io::file_key> left_out = io::key_of(other);
  io::followed_file leaving(path, [&](const std::string& name, const io::file_key& key) {
    CHECK(name == path);
    return key == left_out;
  });
  CHECK(leaving.look() == name_change::appeared);
  CHECK(leaving.current_key() == io::key_of(path));
  rename();
  append_to_renamed("b");
  std::filesystem::rename(other, path);
  CHECK(leaving.look() == name_change::vanished);
  CHECK(leaving.current_key() == std::nullopt);
  CHECK(leaving.look() == name_change::none);
  std::array<std::byte, 8> out{};
  CHECK(leaving.read_some(out) == 2);
  CHECK(leaving.read_some(out) == 0);
}

TEST_CASE_FIXTURE(log, "a copy of what was read is known, also after the file was truncated, and other texts are not") {
  using io::copied_text;
  const std::string text(1000, 'x');
  append(text);
  under_test.look();
  CHECK(read() == text);
  const auto copy_of = [&](const std::string& content) { return under_test.copy_in(folder.file("copy", content)); };
  for (const bool is_truncated : {false, true}) {
    CAPTURE(is_truncated);
    if (is_truncated) {
      std::filesystem::resize_file(path, 0);
      append("new");
      under_test.look();
      CHECK(read() == "new");
    }
    CHECK((copy_of(text) == copied_text::all));
    CHECK((copy_of(text + "and more") == copied_text::all));
    CHECK((copy_of(text.substr(0, 500)) == copied_text::perhaps));
    CHECK((copy_of("") == copied_text::perhaps));
    CHECK((copy_of("other" + text) == copied_text::none));
    CHECK((copy_of(text.substr(0, 999) + "other") == copied_text::none));
  }
  CHECK((copy_of("new") == copied_text::all));
  CHECK((copy_of("new and another text") == copied_text::none));  // both may begin with the same words
  CHECK((under_test.copy_in(folder / "missing") == copied_text::none));
}
