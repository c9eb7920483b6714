// Lines of the inputs of a batch job, in the order in which they are found. Lines of several inputs that are read at
// the same time alternate in large pieces:
//
//     | a | a | b | a | b | c |       extents, at most 1 MiB and a line; a record of the journal names those of an
//     input
//
// Lines of inputs that have no record are never read.
#pragma once

#include "io/descriptor.hpp"
#include "report/formats/report.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::batch {

/// Where the lines of an input are.
struct line_extents {
  struct extent {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  std::vector<extent> all{};   ///< in the order of the lines
  std::uint64_t checksum = 0;  ///< of all lines

  /// The offset after the last of them.
  [[nodiscard]] std::uint64_t end() const;
};

/// Writes lines. One thread. Memory: 1 MiB for each input whose lines are not taken, 32 MiB in all. All members throw
/// destination_error.
class line_spool {
 public:
  /// Opens the file, or creates it. Throws std::runtime_error if it has fewer than `end` bytes; those from `end` on are
  /// removed. If `end` is 0, the file is a new one: a published
  /// part may be a link to the old one.
  line_spool(std::filesystem::path path, std::uint64_t end);

  /// `input`: any number of an input.
  void append(std::uint64_t input, std::string_view lines);

  /// Where the lines of the input are, once write() was called. Lines that are appended afterwards are another input's.
  [[nodiscard]] line_extents take(std::uint64_t input);

  /// Writes the lines that were taken. They survive the death of the process then.
  void write();

  /// Writes them to disk.
  void synchronize();

 private:
  struct open_lines {
    std::string text{};
    line_extents written{};
  };

  void move_to_tail(open_lines& from);
  void move_largest_to_tail();
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  io::descriptor file_;
  std::uint64_t end_ = 0;  // of the file
  std::string tail_;       // follows the file
  std::map<std::uint64_t, open_lines> open_;
  std::size_t held_ = 0;  // bytes of open_
  bool is_dirty_ = false;
};

/// Reads lines back.
class line_reader {
 public:
  /// Throws std::system_error that names the file.
  explicit line_reader(std::filesystem::path path);

  /// Whether the lines are there and unchanged. Throws std::system_error.
  [[nodiscard]] bool is_intact(const line_extents& lines) const;

  /// Writes the lines to `out`. Throws std::runtime_error if they are damaged, std::system_error.
  void copy(const line_extents& lines, const report::text_sink& out) const;

 private:
  [[nodiscard]] std::string read(const line_extents::extent& from) const;

  std::filesystem::path path_;
  io::descriptor file_;
};

}  // namespace gpuhist::batch
