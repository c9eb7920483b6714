// Patterns and filters for names of a tree.
#include "io/path_pattern.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using gpuhist::io::path_filter;
using gpuhist::io::path_pattern;

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
