// Destinations that are files: which are replaced as a whole, which are written in place, and their errors.
#include "report/output/destination.hpp"

#include "tests/pipeline/destination_files.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <string>

using gpuhist::pipeline::destination;
using gpuhist::pipeline::writing;
using folder = gpuhist::test::temporary_folder;
namespace fs = std::filesystem;

namespace {

using gpuhist::test::content;
using gpuhist::test::error_of;
using gpuhist::test::inode_of;
using gpuhist::test::put;
using gpuhist::test::write_failure;

mode_t mode_of(const std::string& path) {
  struct stat status {};
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
  { const destination unused(path, writing::live); }
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
    struct stat found {};
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
    out.write([](const gpuhist::pipeline::text_sink& to) {
      to("half of it");
      throw std::bad_alloc();
    });
  }));
}
