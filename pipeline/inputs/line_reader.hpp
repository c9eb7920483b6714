// Lines of a file, pipe or terminal, one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Blocks; one thread.
class line_reader {
 public:
  static constexpr std::size_t longest_line = std::size_t{256} << 20U;

  /// Borrows `fd`.
  explicit line_reader(int fd);

  /// The next line without its end, or false where there is none. The last one may lack its end. Throws
  /// std::system_error where the file cannot be read, std::length_error for a line that is too long to be kept.
  bool next(std::string& line);

 private:
  bool fill();

  int fd_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace gpuhist::pipeline
