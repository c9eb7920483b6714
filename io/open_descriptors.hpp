// The descriptors that were open when the process started, and the names that paths give them. A number that the
// process assigned later to a descriptor of its own cannot be meant by the user.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// A value: the open descriptors at one moment. A default-constructed value contains every number.
class open_descriptors {
 public:
  open_descriptors() = default;

  /// The descriptors that are open at the call, which must precede any open() of the process. If /proc cannot be read,
  /// the numbers below 1024 are tried.
  static open_descriptors of_process();

  [[nodiscard]] bool contains(int fd) const;

 private:
  std::optional<std::vector<int>> numbers_;  // in ascending order
};

/// The descriptor that a path such as "-" (standard input), /dev/stdin or /dev/fd/63 names, or nothing.
std::optional<int> descriptor_named(std::string_view path);

/// The cause why the input cannot be read if it names a descriptor that was not open; otherwise empty.
std::string closed_descriptor_text(std::string_view path, const open_descriptors& inherited);

}  // namespace gpuhist::io
