// How a log is known again: what is read of its file, and when.
#include "io/log_identity.hpp"

#include "io/input_error.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

using gpuhist::io::log_file;
using gpuhist::test::temporary_folder;

TEST_CASE("the head of a log is read once: its format and its identity are of the same bytes") {
  const temporary_folder folder;
  const std::string path = folder.file("a.log", "before");
  const log_file before(path, true, nullptr, {});
  std::ofstream(path) << "behind";
  const log_file behind(path, true, nullptr, {});
  CHECK(before.identity(6).head == log_file(folder.file("b.log", "before"), true, nullptr, {}).identity(6).head);
  CHECK(behind.identity(6).head == log_file(folder.file("c.log", "behind"), true, nullptr, {}).identity(6).head);
  CHECK(before.identity(6).head != behind.identity(6).head);
  CHECK(before.identity(3).head == log_file(folder.file("d.log", "bef"), true, nullptr, {}).identity(3).head);
}

TEST_CASE("a log that is shorter than it was has no identity, and the error is that of every truncated file") {
  const temporary_folder folder;
  const std::string text(10'000, 'x');
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{4095}, std::size_t{9999}}) {
    CAPTURE(bytes);
    const log_file found(folder.file("a.log", text.substr(0, bytes)), true, nullptr, {});
    try {
      static_cast<void>(found.identity(text.size()));
      FAIL("no error");
    } catch (const gpuhist::io::input_error& error) {
      CHECK(std::string(error.what()) ==
            "it was truncated while it was read: it had 10000 bytes, and has " + std::to_string(bytes));
      CHECK(error.offset() == bytes);
    }
  }
}
