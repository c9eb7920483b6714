// A set of characters, read from a file: those of good text, such as the histograms of NLLB have.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// Immutable: any thread may use it.
class character_table {
 public:
  /// Reads a file in UTF-8:
  /// - a result of --group-by character in JSON or JSONL, or
  /// - a histogram as HistogramFilter of NeMo Curator reads it: the first character of each line, up to a line that
  /// begins
  ///   with ']'. An empty line is a line feed.
  /// `group`: the first key of a result with two, such as "en"; empty: the result has one. Throws std::runtime_error:
  /// the path, the line, the cause and the remedy.
  character_table(const std::string& path, std::string_view group);

  [[nodiscard]] bool has(char32_t code_point) const { return is_in_[code_point]; }

  /// The share of the characters of a text that are in the table. White space at its ends is never in it, but counts
  /// for the text. NaN: the text is empty. `text`: valid UTF-8.
  [[nodiscard]] double share_of(std::string_view text) const;

  /// Of the set.
  [[nodiscard]] std::string hash() const;

 private:
  void read_histogram(std::string_view text);
  void read_result(const std::string& text, std::string_view group);

  std::vector<bool> is_in_;
};

}  // namespace gpuhist::report::texts
