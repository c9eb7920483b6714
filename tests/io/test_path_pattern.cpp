// Which names of a tree are wanted.
#include "io/path_pattern.hpp"

#include <doctest/doctest.h>

#include <string_view>

using gpuhist::io::path_filter;
using gpuhist::io::path_pattern;

namespace {

bool matches(std::string_view pattern, std::string_view path, bool is_directory = false) {
  return path_pattern(pattern).matches(path, is_directory);
}

}  // namespace

TEST_CASE("a pattern without a slash is held against the last component, at any depth") {
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

TEST_CASE("a leading dot is a character like any other") {
  CHECK(matches("*", ".hidden"));
  CHECK(matches("*.log", ".log"));
  CHECK(matches("a/*", "a/.git"));
}

TEST_CASE("a pattern with a slash is held against the whole path, and its stars cross no slash") {
  CHECK(matches("a/*.log", "a/x.log"));
  CHECK_FALSE(matches("a/*.log", "b/a/x.log"));
  CHECK_FALSE(matches("a/*.log", "a/b/x.log"));
  CHECK_FALSE(matches("a/b", "a"));
  CHECK_FALSE(matches("a/b", "a/b/c"));
  CHECK(matches("/x.log", "x.log"));
  CHECK_FALSE(matches("/x.log", "a/x.log"));
}

TEST_CASE("two stars match any number of components, also none") {
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

TEST_CASE("a slash at the end asks for directories, and is no slash otherwise") {
  CHECK(matches("cache/", "a/cache", true));
  CHECK_FALSE(matches("cache/", "a/cache", false));
  CHECK(matches("a/cache/", "a/cache", true));
  CHECK_FALSE(matches("a/cache/", "b/a/cache", true));
}

TEST_CASE("bytes are matched one by one, whatever they would be in UTF-8") {
  CHECK(matches("caf?.log", "caf\xe9.log"));
  CHECK_FALSE(matches("caf?.log", "caf\xc3\xa9.log"));
  CHECK(matches("*\n*", "a\nb"));
}

TEST_CASE("an empty pattern matches nothing") {
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("/", "a"));
}

TEST_CASE("everything is taken unless something is included, and what is excluded is not") {
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
