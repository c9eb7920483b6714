// Which names of a tree are wanted: patterns of the shell's kind, matched byte by byte whatever the locale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// One pattern: * ? [...] and \ as fnmatch(3) has them, of bytes. A leading dot is a character like any other.
///
///   "*.log"      no slash: matches the last component, anywhere
///   "a/*.log"    with a slash: matches the whole path below the root; * and ? match no slash
///   "a/**/*.log" the component ** matches any number of components, also none
///   "cache/"     a slash at the end: directories only; it does not count as one of the above
///   "/*.log"     a slash at the front: the whole path below the root; so only what lies directly there
class path_pattern {
 public:
  explicit path_pattern(std::string_view pattern);

  /// `path`: below the root, without a leading slash. Thread-safe. Takes time in proportion to the product of the
  /// lengths at the most.
  [[nodiscard]] bool matches(std::string_view path, bool is_directory) const;

 private:
  [[nodiscard]] bool matches_whole(std::string_view path) const;

  std::vector<std::string> components_;
  bool last_only_ = false;
  bool directories_only_ = false;
};

/// What is taken of a tree: everything, unless something is included; and nothing that is excluded.
struct path_filter {
  std::vector<path_pattern> include;  ///< of files; empty: all
  std::vector<path_pattern> exclude;  ///< of files, and of directories with all that is in them

  [[nodiscard]] bool takes_file(std::string_view path) const;
  [[nodiscard]] bool enters_directory(std::string_view path) const;
};

}  // namespace gpuhist::io
