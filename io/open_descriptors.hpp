// The descriptors that a process was started with, and the names that paths give them. A number that the process has
// given to a descriptor of its own since is not one that the user can mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// A value: what was open at one moment. As constructed it knows of nothing and contains every number.
class open_descriptors {
 public:
  open_descriptors() = default;

  /// Those that are open now. To be called before the process opens any. Where /proc cannot be read the first thousand
  /// numbers are tried.
  static open_descriptors of_process();

  [[nodiscard]] bool contains(int fd) const;

 private:
  std::optional<std::vector<int>> numbers_;  // in ascending order
};

/// The descriptor that a path such as "-" (standard input), /dev/stdin or /dev/fd/63 names, or nothing.
std::optional<int> descriptor_named(std::string_view path);

/// Why the input cannot be read, where it names a descriptor that was not open; otherwise empty.
std::string closed_descriptor_text(std::string_view path, const open_descriptors& given);

}  // namespace gpuhist::io
