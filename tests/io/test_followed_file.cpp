#include "io/followed_file.hpp"

#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

using namespace gpuhist;
using io::name_change;

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
