// Bytes of a file, pipe or terminal, a buffer at a time, without a change to the descriptor's flags.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Blocks; one thread.
class read_buffer {
 public:
  /// Borrows `fd`.
  explicit read_buffer(int fd);

  /// What comes next: at least one byte, or none where there are no more. Valid until the next take(). Throws
  /// std::system_error where the file cannot be read.
  std::string_view ahead();

  /// Takes that many of the bytes ahead.
  void take(std::size_t number) { begin_ += number; }

 private:
  bool fill();

  int fd_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool over_ = false;  // a terminal whose end was told is not asked again
};

}  // namespace gpuhist::pipeline
