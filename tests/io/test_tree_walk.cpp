// Trees with names of every kind, loops, entries that are not files, unreadable directories, and great depth; patterns
// and filters for names of a tree.
#include "io/file_access.hpp"
#include "io/output_files.hpp"
#include "io/path_pattern.hpp"
#include "io/tree_walk.hpp"

#include "tests/support/socket_file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using gpuhist::io::open_below;
using gpuhist::io::open_path;
using gpuhist::io::output_files;
using gpuhist::io::path_filter;
using gpuhist::io::path_pattern;
using gpuhist::io::skip_cause;
using gpuhist::io::temporary_name;
using gpuhist::io::tree_entry;
using gpuhist::io::tree_walk;
using gpuhist::io::walk_settings;

namespace {

bool matches(std::string_view pattern, std::string_view path, bool is_directory = false) {
  return path_pattern(pattern).matches(path, is_directory);
}

/// All sequences of one to `max_length` of these components, with slashes between them.
std::vector<std::string> all_of(const std::vector<std::string>& components, std::size_t max_length) {
  std::vector<std::string> all = components;
  for (std::size_t begin = 0, length = 1; length < max_length; ++length) {
    const std::size_t end = all.size();
    for (; begin < end; ++begin) {
      for (const std::string& each : components) all.push_back(all[begin] + "/" + each);
    }
  }
  return all;
}

std::string_view after_slash(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
}

/// Matches one component: * and ? only.
bool naive_component(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return naive_component(pattern.substr(1), name) || (!name.empty() && naive_component(pattern, name.substr(1)));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         naive_component(pattern.substr(1), name.substr(1));
}

/// Matches by trying every possibility.
bool naive(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return path.empty();
  const std::string_view first = pattern.substr(0, pattern.find('/'));
  if (first == "**") {
    return naive(after_slash(pattern), path) || (!path.empty() && naive(pattern, after_slash(path)));
  }
  return !path.empty() && naive_component(first, path.substr(0, path.find('/'))) &&
         naive(after_slash(pattern), after_slash(path));
}

}  // namespace

TEST_CASE("a pattern without a slash is compared with the last component, at any depth") {
  CHECK(matches("*.log", "x.log"));
  CHECK(matches("*.log", "a/b/x.log"));
  CHECK_FALSE(matches("*.log", "x.log/y"));
  CHECK_FALSE(matches("*.log", "x.logs"));
  CHECK(matches("?.log", "a/x.log"));
  CHECK(matches("[a-c]*", "z/beta"));
  CHECK_FALSE(matches("[!a-c]*", "z/beta"));
  CHECK(matches("\\*", "a/*"));
  CHECK_FALSE(matches("\\*", "a/b"));
}

TEST_CASE("a leading dot is not special") {
  CHECK(matches("*", ".hidden"));
  CHECK(matches("*.log", ".log"));
  CHECK(matches("a/*", "a/.git"));
}

TEST_CASE("a pattern with a slash is compared with the whole path, and its stars match no slash") {
  CHECK(matches("a/*.log", "a/x.log"));
  CHECK_FALSE(matches("a/*.log", "b/a/x.log"));
  CHECK_FALSE(matches("a/*.log", "a/b/x.log"));
  CHECK_FALSE(matches("a/b", "a"));
  CHECK_FALSE(matches("a/b", "a/b/c"));
  CHECK(matches("/x.log", "x.log"));
  CHECK_FALSE(matches("/x.log", "a/x.log"));
}

TEST_CASE("two stars match zero or more components") {
  for (const std::string_view path : {"a/x.log", "a/b/x.log", "a/b/c/x.log"}) {
    CHECK(matches("a/**/*.log", path));
    CHECK(matches("**/x.log", path));
    CHECK(matches("a/**", path));
    CHECK(matches("**/a/**/x.log", path));
  }
  CHECK(matches("**/x.log", "x.log"));
  CHECK_FALSE(matches("a/**/*.log", "b/x.log"));
  CHECK_FALSE(matches("a/**/b/x", "a/c/x"));
}

TEST_CASE("patterns agree with a naive matcher for all patterns and paths of a few components") {
  const std::vector<std::string> patterns = all_of({"**", "a", "?", "a*"}, 5);
  const std::vector<std::string> paths = all_of({"a", "b", "ab"}, 5);
  std::size_t matched = 0;
  for (const std::string& pattern : patterns) {
    if (pattern.find('/') == std::string::npos) continue;
    const path_pattern under_test(pattern);
    for (const std::string& path : paths) {
      const bool expected = naive(pattern, path);
      if (under_test.matches(path, false) != expected) FAIL_CHECK(pattern << " " << path);
      matched += expected ? 1 : 0;
    }
  }
  CHECK(matched > 10'000);
}

TEST_CASE("a pattern with many stars is matched in short time") {
  std::string deep = "a";
  std::string stars;
  for (int i = 0; i < 400; ++i) deep += "/a";
  for (int i = 0; i < 40; ++i) stars += "**/a/";
  CHECK_FALSE(matches(stars + "b", deep));
  CHECK(matches(stars + "a", deep));
  std::string many;
  for (int i = 0; i < 40; ++i) many += "*a";
  CHECK_FALSE(matches(many + "*b?", std::string(250, 'a') + "b"));
  CHECK(matches(many + "*b", std::string(250, 'a') + "b"));
}

TEST_CASE("a slash at the end selects directories, and has no other effect") {
  CHECK(matches("cache/", "a/cache", true));
  CHECK_FALSE(matches("cache/", "a/cache", false));
  CHECK(matches("a/cache/", "a/cache", true));
  CHECK_FALSE(matches("a/cache/", "b/a/cache", true));
}

TEST_CASE("bytes are matched one by one, even if they are valid UTF-8") {
  CHECK(matches("caf?.log", "caf\xe9.log"));
  CHECK_FALSE(matches("caf?.log", "caf\xc3\xa9.log"));
  CHECK(matches("*\n*", "a\nb"));
}

TEST_CASE("an empty pattern matches nothing") {
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("/", "a"));
}

TEST_CASE("all files are selected unless a pattern includes some, and excluded files are never selected") {
  path_filter filter;
  CHECK(filter.takes_file("a/b"));
  CHECK(filter.enters_directory("a"));
  filter.include.emplace_back("*.log");
  filter.include.emplace_back("*.txt");
  CHECK(filter.takes_file("a/b.txt"));
  CHECK_FALSE(filter.takes_file("a/b.c"));
  CHECK(filter.enters_directory("a"));
  filter.exclude.emplace_back("b.*");
  CHECK_FALSE(filter.takes_file("a/b.txt"));
  CHECK_FALSE(filter.enters_directory("x/b.d"));
  CHECK(filter.enters_directory("x/c.d"));
}

namespace fs = std::filesystem;

namespace {

using words = std::vector<std::string>;

/// A tree, and the results of a walk through it, without the path of its root.
class tree {
 public:
  void file(const std::string& name, std::string_view content = "x") {
    fs::create_directories(fs::path(root_ / name).parent_path());
    std::ofstream(root_ / name) << content;
  }
  void link(const std::string& name, const std::string& target) { fs::create_symlink(target, root_ / name); }
  [[nodiscard]] std::string path(const std::string& name = "") const { return root_ / name; }

  [[nodiscard]] std::vector<tree_entry> walk(walk_settings settings = {}) const {
    tree_walk walking(path(), std::move(settings));
    std::vector<tree_entry> all;
    while (auto each = walking.next()) {
      REQUIRE(each->path.starts_with(path()));
      each->path.erase(0, path().size());
      all.push_back(*std::move(each));
    }
    CHECK_FALSE(walking.next());
    return all;
  }

  /// The paths of the files; any other entry is a failure.
  [[nodiscard]] words files(walk_settings settings = {}) const {
    words found;
    for (const tree_entry& each : walk(std::move(settings))) {
      CHECK(each.type == tree_entry::kind::file);
      found.push_back(each.path);
    }
    return found;
  }

 private:
  gpuhist::test::temporary_folder root_;
};

walk_settings following() {
  walk_settings settings;
  settings.follow_links = true;
  return settings;
}

/// Sets the soft limit on descriptors during its lifetime.
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

TEST_CASE("files are reported depth first, with the names of each directory in byte order") {
  tree sample;
  for (const char* name : {"b", "a/z", "a/b/c", "a.b", "a/Z", "B", "c/d"}) sample.file(name);
  fs::create_directory(sample.path("empty"));
  CHECK(sample.files() == words{"B", "a/Z", "a/b/c", "a/z", "a.b", "b", "c/d"});
  CHECK(sample.files() == sample.files());
}

TEST_CASE("names of every kind are reported unchanged") {
  tree sample;
  const words names = {"\n", " ", "*", "-rf", "a\nb", std::string(255, 'n'), "caf\xe9", "\xff\xfe"};
  for (const std::string& each : names) sample.file(each);
  words sorted = names;
  std::ranges::sort(sorted, [](const std::string& a, const std::string& b) {
    return std::ranges::lexicographical_compare(
        a, b, [](char x, char y) { return static_cast<unsigned char>(x) < static_cast<unsigned char>(y); });
  });
  CHECK(sample.files() == sorted);
}

TEST_CASE("an empty directory has no files, and a root may be a link or end in a slash") {
  tree sample;
  CHECK(sample.files().empty());
  sample.file("real/x");
  sample.link("link", "real");
  for (const std::string& root : {sample.path("link"), sample.path("link/"), sample.path("link///")}) {
    tree_walk walking(root, {});
    const auto found = walking.next();
    REQUIRE(found);
    CHECK(found->path == root + (root.ends_with('/') ? "x" : "/x"));
    CHECK_FALSE(walking.next());
  }
}

TEST_CASE("a root that does not exist or is not a directory is an error with the message of the system") {
  tree sample;
  sample.file("file");
  for (const auto& [name, reason] : {std::pair{"none", "No such file or directory"}, {"file", "Not a directory"}}) {
    tree_walk walking(sample.path(name), {});
    const auto entry = walking.next();
    REQUIRE(entry);
    CHECK(entry->type == tree_entry::kind::failed);
    CHECK(entry->path == sample.path(name));
    CHECK(entry->error == reason);
    CHECK(entry->error_kind == gpuhist::io::failure_kind::unreadable);
    CHECK_FALSE(walking.next());
  }
}

TEST_CASE("links below the root are followed only on request") {
  tree sample;
  sample.file("a/x");
  sample.link("to-file", "a/x");
  sample.link("to-folder", "a");
  sample.link("to-nothing", "none");
  int links = 0;
  for (const tree_entry& each : sample.walk()) {
    if (each.type == tree_entry::kind::file) {
      CHECK(each.path == "a/x");
    } else {
      CHECK(each.type == tree_entry::kind::skipped);
      CHECK(each.cause == skip_cause::link);
      ++links;
    }
  }
  CHECK(links == 3);

  words found;
  for (const tree_entry& each : sample.walk(following())) {
    if (each.type == tree_entry::kind::file) {
      found.push_back(each.path);
    } else {
      CHECK(each.path == "to-nothing");
      CHECK(each.cause == skip_cause::dangling_link);
    }
  }
  CHECK(found == words{"a/x", "to-file", "to-folder/x"});
}

TEST_CASE("a link to a directory above it is reported once, and not walked") {
  tree sample;
  sample.file("a/b/x");
  sample.link("a/b/up", "..");
  sample.link("a/self", ".");
  sample.link("around", "around");
  words loops;
  words files;
  words dangling;
  for (const tree_entry& each : sample.walk(following())) {
    if (each.type == tree_entry::kind::file) {
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

TEST_CASE("FIFOs, sockets and devices are skipped, with their kind as the cause") {
  tree sample;
  REQUIRE(::mkfifo(sample.path("fifo").c_str(), 0600) == 0);
  const gpuhist::io::descriptor listening = gpuhist::test::socket_file(sample.path("sock"));
  sample.link("to-device", "/dev/null");
  const auto all = sample.walk(following());
  REQUIRE(all.size() == 3);
  for (const tree_entry& each : all) CHECK(each.type == tree_entry::kind::skipped);
  CHECK(all[0].cause == skip_cause::fifo);
  CHECK(all[1].cause == skip_cause::socket);
  CHECK(all[2].cause == skip_cause::device);
  CHECK(name_of(all[0].cause) == "FIFO");
}

TEST_CASE("excluded directories are not entered, and only included files are reported") {
  tree sample;
  for (const char* name : {"a/x.log", "a/x.txt", "cache/y.log", "b/cache/z.log", "b/c/w.log"}) sample.file(name);
  walk_settings settings;
  settings.filter.include.emplace_back("*.log");
  settings.filter.exclude.emplace_back("/cache/");
  CHECK(sample.files(settings) == words{"a/x.log", "b/c/w.log", "b/cache/z.log"});
  settings.filter.exclude.emplace_back("cache/");
  CHECK(sample.files(settings) == words{"a/x.log", "b/c/w.log"});
  settings.filter.exclude.emplace_back("b/**");
  CHECK(sample.files(settings) == words{"a/x.log"});
}

TEST_CASE("a directory that cannot be read does not end the walk") {
  tree sample;
  sample.file("a/x");
  sample.file("b/y");
  sample.file("c/z");
  tree_walk walking(sample.path(), {});
  CHECK(walking.next()->path == sample.path("a/x"));
  fs::remove_all(sample.path("b"));  // as another process could do
  const auto missing = walking.next();
  REQUIRE(missing);
  CHECK(missing->type == tree_entry::kind::failed);
  CHECK(missing->path == sample.path("b"));
  CHECK(missing->error == "No such file or directory");
  CHECK(walking.next()->path == sample.path("c/z"));
  CHECK_FALSE(walking.next());
}

TEST_CASE(
    "a temporary file that is renamed or removed while the tree is walked is no entry, and one that stays is a file") {
  tree sample;
  sample.file("!first");
  sample.file("output");
  struct stat file{};
  REQUIRE(::stat(sample.path("output").c_str(), &file) == 0);
  const auto outputs = std::make_shared<output_files>();
  outputs->set_output(file);
  const std::string removed = temporary_name("output", 0);
  const std::string left = temporary_name("output", 1);
  const std::string replacing = temporary_name("output", 2);
  sample.file(removed);
  sample.file(left);
  const auto create = [&] { return open_path(sample.path(replacing), O_WRONLY | O_CREAT | O_EXCL); };
  REQUIRE(outputs->create_temporary(create));

  tree_walk walking(sample.path(), {.filter = {}, .outputs = outputs});
  CHECK(walking.next()->path == sample.path("!first"));
  fs::remove(sample.path(removed));
  for (int i = 0; i < 2; ++i) {  // the second time, the walk knows neither file
    fs::rename(sample.path(replacing), sample.path("output"));
    outputs->temporary_became_output();
    REQUIRE(outputs->create_temporary(create));
  }
  fs::rename(sample.path(replacing), sample.path("output"));
  outputs->temporary_became_output();

  const auto stays = walking.next();
  REQUIRE(stays);
  CHECK(stays->type == tree_entry::kind::file);
  CHECK(stays->path == sample.path(left));
  const auto output = walking.next();
  REQUIRE(output);
  CHECK(output->cause == skip_cause::output);
  CHECK(output->path == sample.path("output"));
  CHECK_FALSE(walking.next());
}

TEST_CASE("a tree deeper than PATH_MAX is walked completely with few descriptors") {
  const tree sample;
  const std::string name(200, 'd');
  constexpr int depth = 60;
  static_assert(depth * 200 > 2 * PATH_MAX);
  std::string deepest = sample.path();
  auto folder = open_path(sample.path(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < depth; ++i) {
    for (const char* file : {"above", "zafter"}) {
      REQUIRE(open_below(folder, file, O_WRONLY | O_CREAT | O_EXCL));
    }
    REQUIRE(::mkdirat(folder.get(), name.c_str(), 0700) == 0);
    REQUIRE(::mkdirat(folder.get(), "y", 0700) == 0);  // opened on the way back
    folder = open_below(folder, name.c_str(), O_RDONLY | O_DIRECTORY);
    deepest += name + "/";
  }
  REQUIRE(::symlinkat("none", folder.get(), "link") == 0);
  const few_descriptors few(32);
  std::size_t files = 0;
  bool saw_deepest = false;
  tree_walk walking(sample.path(), following());
  while (const auto each = walking.next()) {
    if (each->type == tree_entry::kind::file) {
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
