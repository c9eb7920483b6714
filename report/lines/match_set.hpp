// Which of a set of regular expressions match in each line. RE2 searches only the lines that have a string without
// which the expression cannot match; all lines of a batch are searched for these strings at once.
//
//     expressions:   slow=took [0-9]{4,} ms    user=(?i)user=\w+
//     strings:       "took " and " ms"         "er="                 k and s are also U+212A and U+017F with (?i)
//     lines:         USER=ann took 12 ms \n took 1234 ms \n
//     matched:       10                       01                     (binary; bit e: expression e)
//
// Syntax and meaning are those of RE2 (https://github.com/google/re2/wiki/Syntax). A match is within a line, at any
// place in it. ^ \A and $ \z are the begin and the end of the line. `.` matches one code point except \n; (?s) adds \n,
// in lines that may contain it. \w \d \s \b are those of ASCII; \pL and \pN are the letters and digits of Unicode. (?i)
// follows Unicode. A byte that is not part of UTF-8 is matched by \C only; RE2 takes sequences of the form of UTF-8
// that are not valid (surrogates, overlong ones) for code points. No look-around, no back-references. The time is
// linear in the length of the line.
#pragma once

#include "gpu/cuda/units/searched_strings.hpp"
#include "gpu/host/literal_search.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::lines {

/// A regular expression and the name of its count. UTF-8.
struct match_expression {
  std::string name;
  std::string pattern;

  bool operator==(const match_expression&) const = default;
};

/// Of "NAME=REGEX" as typed. The name has letters, digits, '_', '-' and '.' of ASCII. Throws config::usage_error.
match_expression parse_match(std::string_view typed);

/// Of the lines of a file: NAME=REGEX each. Skips blank lines and lines that begin with '#'; a '\r' at the end of a
/// line is dropped. `where`: the file, for messages. Throws config::usage_error with file and line.
std::vector<match_expression> parse_match_file(std::string_view text, std::string_view where);

/// Expressions that RE2 accepts, and the strings to search for. Immutable: any number of threads may use it.
class match_set {
 public:
  static constexpr std::size_t max_expressions = 4096;
  static constexpr std::size_t max_pattern = std::size_t{8} << 10U;  ///< bytes

  /// Throws config::usage_error for an expression that is malformed, not supported or too large, for a name that occurs
  /// twice, and for too many expressions. `ignore_case`: as if each expression began with (?i).
  match_set(std::vector<match_expression> typed, bool ignore_case);

  [[nodiscard]] std::size_t size() const { return typed_.size(); }
  [[nodiscard]] std::span<const match_expression> expressions() const { return typed_; }

  /// The string that an expression matches, if it matches nothing else. Those that contain k and s may match other
  /// letters (searched_strings.hpp).
  [[nodiscard]] const std::optional<gpu::cuda::units::searched_string>& string_of(std::size_t expression) const {
    return strings_[expression];
  }

  /// The strings of all expressions; empty: some expressions are not strings.
  [[nodiscard]] std::vector<gpu::cuda::units::searched_string> strings() const;

  // For the reader.
  [[nodiscard]] bool ignores_case() const { return ignores_case_; }
  [[nodiscard]] const gpu::host::literal_set& needles() const { return needles_; }
  /// An expression that cannot match in a line without one of its first needles, and one of its second if it has some.
  struct candidate {
    std::uint32_t expression = 0;
    bool is_of_second = false;
  };
  /// The expressions of a needle.
  [[nodiscard]] std::span<const candidate> candidates(std::size_t needle) const { return candidates_[needle]; }
  /// Whether it matches each line with its needle: it is a string whose letters are exact.
  [[nodiscard]] bool is_needle(std::size_t expression) const {
    const auto& string = strings_[expression];
    return string && !string->ignores_case && string->text.size() >= gpu::host::literal::min_size;
  }
  /// The expressions that have no needles.
  [[nodiscard]] std::span<const std::uint32_t> without_needles() const { return without_needles_; }

 private:
  std::vector<match_expression> typed_;
  bool ignores_case_;
  std::vector<std::optional<gpu::cuda::units::searched_string>> strings_;  // by expression
  std::vector<std::vector<candidate>> candidates_;                         // by needle
  std::vector<std::uint32_t> without_needles_;
  gpu::host::literal_set needles_;
};

/// Finds the matches in lines. One thread at a time. Borrows the set, which must not be moved meanwhile. Has
/// expressions of its own, compiled when they are first used: readers that share one also share a lock. The automata
/// take up to 8 MiB for each expression that is used.
class match_reader {
 public:
  /// Throws std::bad_alloc.
  explicit match_reader(const match_set& set);
  ~match_reader();
  match_reader(match_reader&&) noexcept;
  match_reader& operator=(match_reader&&) noexcept;

  /// Line i is text[ends[i-1], ends[i]), with its delimiter as the last byte, which is not part of the line for
  /// matching. A line may lack the delimiter; no line has it elsewhere. A '\r' before the delimiter is part of the
  /// line. `matched`: ends.size() * words_per_line() words, overwritten; bit e of line i is set if expression e matches
  /// in it. Throws std::bad_alloc.
  void read(std::string_view text, std::span<const std::uint32_t> ends, char delimiter,
            std::span<std::uint64_t> matched);

  [[nodiscard]] std::size_t words_per_line() const;

 private:
  class searcher;

  std::unique_ptr<searcher> searcher_;
};

}  // namespace gpuhist::report::lines
