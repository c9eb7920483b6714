// Trees as they are met: names of every kind, loops, what is no file, what may not be read, and what is too deep.
#include "io/long_path.hpp"
#include "io/tree_walk.hpp"
#include "tests/support/socket_file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using gpuhist::io::open_below;
using gpuhist::io::open_path;
using gpuhist::io::skip_cause;
using gpuhist::io::tree_entry;
using gpuhist::io::tree_walk;
using gpuhist::io::walk_settings;
namespace fs = std::filesystem;

namespace {

using words = std::vector<std::string>;

/// A tree to be walked, and what a walk says of it, without its root.
class tree {
 public:
  void file(const std::string& name, std::string_view content = "x") {
    fs::create_directories(fs::path(root_ / name).parent_path());
    std::ofstream(root_ / name) << content;
  }
  void link(const std::string& name, const std::string& target) { fs::create_symlink(target, root_ / name); }
  [[nodiscard]] std::string path(const std::string& name = "") const { return root_ / name; }

  [[nodiscard]] std::vector<tree_entry> walk(walk_settings how = {}) const {
    tree_walk walking(path(), std::move(how));
    std::vector<tree_entry> all;
    while (auto each = walking.next()) {
      REQUIRE(each->path.starts_with(path()));
      each->path.erase(0, path().size());
      all.push_back(*std::move(each));
    }
    CHECK_FALSE(walking.next());
    return all;
  }

  /// The files; anything else is a failure.
  [[nodiscard]] words files(walk_settings how = {}) const {
    words found;
    for (const tree_entry& each : walk(std::move(how))) {
      CHECK(each.what == tree_entry::kind::file);
      found.push_back(each.path);
    }
    return found;
  }

 private:
  gpuhist::test::temporary_folder root_;
};

walk_settings following() {
  walk_settings how;
  how.follow_links = true;
  return how;
}

/// The soft limit on descriptors, while this lives.
class few_descriptors {
 public:
  explicit few_descriptors(rlim_t number) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = number;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  few_descriptors(const few_descriptors&) = delete;
  few_descriptors& operator=(const few_descriptors&) = delete;
  ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("files come depth first, in the order of the bytes of each directory's names") {
  tree it;
  for (const char* name : {"b", "a/z", "a/b/c", "a.b", "a/Z", "B", "c/d"}) it.file(name);
  fs::create_directory(it.path("empty"));
  CHECK(it.files() == words{"B", "a/Z", "a/b/c", "a/z", "a.b", "b", "c/d"});
  CHECK(it.files() == it.files());
}

TEST_CASE("names of every kind are carried as they are") {
  tree it;
  const words names = {"\n", " ", "*", "-rf", "a\nb", std::string(255, 'n'), "caf\xe9", "\xff\xfe"};
  for (const std::string& each : names) it.file(each);
  words sorted = names;
  std::ranges::sort(sorted, [](const std::string& a, const std::string& b) {
    return std::ranges::lexicographical_compare(
        a, b, [](char x, char y) { return static_cast<unsigned char>(x) < static_cast<unsigned char>(y); });
  });
  CHECK(it.files() == sorted);
}

TEST_CASE("an empty directory has no files, and a root may be a link or end in a slash") {
  tree it;
  CHECK(it.files().empty());
  it.file("real/x");
  it.link("link", "real");
  for (const std::string& root : {it.path("link"), it.path("link/"), it.path("link///")}) {
    tree_walk walking(root, {});
    const auto found = walking.next();
    REQUIRE(found);
    CHECK(found->path == root + (root.ends_with('/') ? "x" : "/x"));
    CHECK_FALSE(walking.next());
  }
}

TEST_CASE("a root that is not there, or is no directory, is said with the system's reason") {
  tree it;
  it.file("file");
  for (const auto& [name, reason] : {std::pair{"none", "No such file or directory"}, {"file", "Not a directory"}}) {
    tree_walk walking(it.path(name), {});
    const auto said = walking.next();
    REQUIRE(said);
    CHECK(said->what == tree_entry::kind::failed);
    CHECK(said->path == it.path(name));
    CHECK(said->error == reason);
    CHECK_FALSE(walking.next());
  }
}

TEST_CASE("links below the root are not followed, unless that is asked for") {
  tree it;
  it.file("a/x");
  it.link("to-file", "a/x");
  it.link("to-folder", "a");
  it.link("to-nothing", "none");
  int links = 0;
  for (const tree_entry& each : it.walk()) {
    if (each.what == tree_entry::kind::file) {
      CHECK(each.path == "a/x");
    } else {
      CHECK(each.what == tree_entry::kind::skipped);
      CHECK(each.cause == skip_cause::link);
      ++links;
    }
  }
  CHECK(links == 3);

  words found;
  for (const tree_entry& each : it.walk(following())) {
    if (each.what == tree_entry::kind::file) {
      found.push_back(each.path);
    } else {
      CHECK(each.path == "to-nothing");
      CHECK(each.cause == skip_cause::dangling_link);
    }
  }
  CHECK(found == words{"a/x", "to-file", "to-folder/x"});
}

TEST_CASE("a link to a directory above is said once, and not walked") {
  tree it;
  it.file("a/b/x");
  it.link("a/b/up", "..");
  it.link("a/self", ".");
  it.link("around", "around");
  words loops;
  words files;
  words dangling;
  for (const tree_entry& each : it.walk(following())) {
    if (each.what == tree_entry::kind::file) {
      files.push_back(each.path);
    } else if (each.cause == skip_cause::loop) {
      loops.push_back(each.path);
    } else {
      dangling.push_back(each.path);
    }
  }
  CHECK(files == words{"a/b/x"});
  CHECK(loops == words{"a/b/up", "a/self"});
  CHECK(dangling == words{"around"});
}

TEST_CASE("FIFOs, sockets and devices are skipped, by what they are") {
  tree it;
  REQUIRE(::mkfifo(it.path("fifo").c_str(), 0600) == 0);
  const gpuhist::io::descriptor listening = gpuhist::test::socket_file(it.path("sock"));
  it.link("to-device", "/dev/null");
  const auto all = it.walk(following());
  REQUIRE(all.size() == 3);
  for (const tree_entry& each : all) CHECK(each.what == tree_entry::kind::skipped);
  CHECK(all[0].cause == skip_cause::fifo);
  CHECK(all[1].cause == skip_cause::socket);
  CHECK(all[2].cause == skip_cause::device);
  CHECK(name_of(all[0].cause) == "FIFO");
}

TEST_CASE("what is excluded is not entered, and only what is included is taken") {
  tree it;
  for (const char* name : {"a/x.log", "a/x.txt", "cache/y.log", "b/cache/z.log", "b/c/w.log"}) it.file(name);
  walk_settings how;
  how.filter.include.emplace_back("*.log");
  how.filter.exclude.emplace_back("/cache/");
  CHECK(it.files(how) == words{"a/x.log", "b/c/w.log", "b/cache/z.log"});
  how.filter.exclude.emplace_back("cache/");
  CHECK(it.files(how) == words{"a/x.log", "b/c/w.log"});
  how.filter.exclude.emplace_back("b/**");
  CHECK(it.files(how) == words{"a/x.log"});
}

TEST_CASE("the rest of a tree is walked where a directory cannot be read") {
  tree it;
  it.file("a/x");
  it.file("b/y");
  it.file("c/z");
  tree_walk walking(it.path(), {});
  CHECK(walking.next()->path == it.path("a/x"));
  fs::remove_all(it.path("b"));  // as if somebody else did
  const auto gone = walking.next();
  REQUIRE(gone);
  CHECK(gone->what == tree_entry::kind::failed);
  CHECK(gone->path == it.path("b"));
  CHECK(gone->error == "No such file or directory");
  CHECK(walking.next()->path == it.path("c/z"));
  CHECK_FALSE(walking.next());
}

TEST_CASE("a tree deeper than PATH_MAX is walked to its bottom, and back, with few descriptors") {
  const tree it;
  const std::string name(200, 'd');
  constexpr int depth = 60;
  static_assert(depth * 200 > 2 * PATH_MAX);
  std::string deepest = it.path();
  auto folder = open_path(it.path(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < depth; ++i) {
    for (const char* file : {"above", "zbehind"}) {
      REQUIRE(open_below(folder, file, O_WRONLY | O_CREAT | O_EXCL));
    }
    REQUIRE(::mkdirat(folder.get(), name.c_str(), 0700) == 0);
    REQUIRE(::mkdirat(folder.get(), "y", 0700) == 0);  // to be opened on the way back
    folder = open_below(folder, name.c_str(), O_RDONLY | O_DIRECTORY);
    deepest += name + "/";
  }
  REQUIRE(::symlinkat("none", folder.get(), "link") == 0);
  const few_descriptors few(32);
  std::size_t files = 0;
  bool saw_deepest = false;
  tree_walk walking(it.path(), following());
  while (const auto each = walking.next()) {
    if (each->what == tree_entry::kind::file) {
      ++files;
      CHECK(open_path(each->path, O_RDONLY));
    } else {
      CHECK(each->cause == skip_cause::dangling_link);
      CHECK(each->path == deepest + "link");
      saw_deepest = true;
    }
  }
  CHECK(saw_deepest);
  CHECK(files == 2 * depth);
}
