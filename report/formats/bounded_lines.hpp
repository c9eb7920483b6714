// The lines of a file that may be from another machine or program: a list, a manifest, a result of an earlier run.
#pragma once

#include "io/descriptor.hpp"
#include "report/formats/read_buffer.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace gpuhist::pipeline {

/// One thread. Memory: a buffer, and the line of the caller.
class bounded_lines {
 public:
  /// Bytes of the longest line.
  static constexpr std::size_t longest = std::size_t{16} << 20U;

  /// Throws std::system_error that names the file if it cannot be opened.
  explicit bounded_lines(std::filesystem::path path);

  /// Replaces `line` by the next line, without its line feed. False: there is none. Throws std::runtime_error that
  /// names file and line if it is longer than `longest`, std::system_error if the file cannot be read.
  bool next(std::string& line);

  /// Whether the last line ended in a line feed.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

  /// "counts.jsonl:3", the last line, for messages.
  [[nodiscard]] std::string place() const;

 private:
  [[noreturn]] void fail(int error) const;
  std::string_view ahead();

  std::filesystem::path path_;
  io::descriptor file_;
  std::optional<read_buffer> bytes_;
  std::size_t number_ = 0;
  bool is_whole_ = false;
};

}  // namespace gpuhist::pipeline
