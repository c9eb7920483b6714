// Selects names of a tree by shell patterns. They are matched byte by byte in every locale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// One pattern: * ? [...] and \ as fnmatch(3) has them, of bytes. A leading dot is not special.
///
///   "*.log"      no slash: matches the last component, anywhere
///   "a/*.log"    with a slash: matches the whole path below the root; * and ? match no slash
///   "a/**/*.log" the component ** matches zero or more components
///   "cache/"     a slash at the end: directories only; it has no other effect
///   "/*.log"     a slash at the front: the whole path below the root; here, only names directly in the root
class path_pattern {
 public:
  explicit path_pattern(std::string_view pattern);

  /// `path`: below the root, without a leading slash. Thread-safe. Time: at most proportional to the product of the
  /// lengths.
  [[nodiscard]] bool matches(std::string_view path, bool is_directory) const;

 private:
  [[nodiscard]] bool matches_whole(std::string_view path) const;

  std::vector<std::string> components_;
  bool last_only_ = false;
  bool directories_only_ = false;
};

/// Selects files of a tree: all files, or those that are included; never those that are excluded.
struct path_filter {
  std::vector<path_pattern> include;  ///< of files; empty: all
  std::vector<path_pattern> exclude;  ///< of files, and of directories with all their content

  [[nodiscard]] bool takes_file(std::string_view path) const;
  [[nodiscard]] bool enters_directory(std::string_view path) const;
};

}  // namespace gpuhist::io
