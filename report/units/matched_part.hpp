// Which strings match in a part of a line, without its text: text that was read, and pieces that a device has searched
// (gpu/cuda/units/piece_classes.hpp). Strings that begin in one and end in another one are found in the text around the
// joint, one byte less than the longest string on both sides:
//
//     a device:  ... connec|      another device, or the host:  |tion reset ...
//                    connection reset                            is found in the last and the first bytes
#pragma once

#include "report/lines/match_set.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// One thread at a time.
class matched_part {
 public:
  /// Borrows both. Precondition: all expressions of the set are strings, and the reader is one of it. `delimiter`: ends
  /// a line.
  matched_part(const lines::match_set& set, lines::match_reader& reader, char delimiter);

  /// The next text of the line, which may end with the delimiter.
  void add_text(std::string_view text);

  /// What a device has searched: the strings that it found in pieces of the line, as bits; the first bytes of an extent
  /// before its pieces, and its last bytes after them. These may have the ends of other lines.
  void add_found(std::uint64_t strings) { found_.front() |= strings; }
  void add_begin(std::string_view text);
  void add_end(std::string_view text);

  /// Adds the part of the line that follows. The same set.
  void append(const matched_part& later);

  /// Exchanges the parts.
  void swap(matched_part& other) noexcept;

  /// Bit e is set if expression e matches.
  [[nodiscard]] std::span<const std::uint64_t> found() const { return found_; }

  /// The next line begins.
  void clear();

 private:
  [[nodiscard]] std::string_view without_delimiter(std::string_view text) const;
  void search(std::string_view text);
  void search_joint(std::string_view begin);
  void add_first(std::string_view text);
  void add_last(std::string_view text);

  lines::match_reader& reader_;
  const char delimiter_;
  std::size_t edge_bytes_ = 0;
  std::vector<std::uint64_t> found_;
  std::vector<std::uint64_t> scratch_;
  std::string first_;  // up to edge_bytes_ bytes of the part
  std::string last_;
};

}  // namespace gpuhist::report::units
