// Helpers for tests of destinations: files, their content, and the error of a write.
#pragma once

#include "io/descriptor.hpp"
#include "report/output/destination.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace gpuhist::test {

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

inline ino_t inode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

/// The error of a write; code 0: there was none.
struct write_failure {
  int code = 0;
  std::string message;
};

inline write_failure error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const report::destination_error& error) {
    return {error.code().value(), error.what()};
  }
  return {};
}

inline std::string name_of(const io::descriptor& fd) { return "fd:" + std::to_string(fd.get()); }

}  // namespace gpuhist::test
