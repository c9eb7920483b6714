// Reads a file, pipe or terminal through a buffer, or a text in memory, without changing the flags of the descriptor.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Calls block. One thread.
class read_buffer {
 public:
  /// Borrows `fd`.
  explicit read_buffer(int fd);

  /// Reads a text in memory instead, which is borrowed.
  explicit read_buffer(std::string_view text) : at_end_(true), text_(text), end_(text.size()) {}

  /// The next bytes: at least one, or none at the end. Valid until the next take(). Throws std::system_error if the
  /// file cannot be read.
  std::string_view ahead();

  /// Removes the first `number` bytes of ahead().
  void take(std::size_t number) { begin_ += number; }

 private:
  bool fill();

  int fd_ = -1;
  bool at_end_ = false;  // a terminal is not read again after its end
  std::vector<char> buffer_;
  std::string_view text_;  // the buffer, or the text in memory
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace gpuhist::pipeline
