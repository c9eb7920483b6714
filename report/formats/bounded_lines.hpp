// Reads files that may be from another machine or program: through a buffer, and line by line.
#pragma once

#include "io/descriptor.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report {

/// Reads a file, pipe or terminal through a buffer, or a text in memory, without changing the flags of the descriptor.
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

/// The lines of a list, a manifest or a result of an earlier run. One thread. Memory: a buffer, and the line of the
/// caller.
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

/// Calls `use` with the lines of a file to which lines of JSON are appended; a missing file has none. A line for which
/// nlohmann::json::exception is thrown is left out: a process ended while it wrote it, or it is of another version.
/// Throws what io::require_regular() and bounded_lines throw.
void for_each_record(const std::filesystem::path& path, const std::function<void(const nlohmann::ordered_json&)>& use);

}  // namespace gpuhist::report
