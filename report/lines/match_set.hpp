// Which of a set of regular expressions match in each line. Vectorscan scans a batch of lines for all expressions at
// once.
//
//     expressions:   slow=took [0-9]{4,} ms    user=(?i)user=\w+
//     lines:         USER=ann took 12 ms \n took 1234 ms \n
//     matched:       10                       01              (binary; bit e: expression e)
//
// Meaning: that of `rg -a -c REGEX`. A match is within a line. ^ \A and $ \z are the begin and the end of the line. No
// construct matches the delimiter. `.` matches one code point except \n; (?s) adds \n, in lines that may contain it. \w
// \d \s \b and (?i) follow Unicode. A byte that is not part of valid UTF-8 matches nothing and is not a word character.
// An expression that can match the empty text matches every line.
//
// Syntax: alternatives, groups, sets with ranges, [:alpha:], \p{L}, repetitions, and the flags i and s; m, u and U
// change nothing here. Not supported: look-around, back-references, atomic groups, the flag x, operations on sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// Compiled expressions. Does not change after construction, except that rare databases are compiled at first use,
/// under a lock; any thread may use it.
class match_set {
 public:
  static constexpr std::size_t max_expressions = 4096;
  static constexpr std::size_t max_pattern = std::size_t{8} << 10U;  ///< bytes

  /// Throws config::usage_error for an expression that is malformed, not supported or too large, for a name that occurs
  /// twice, and for too many expressions; std::runtime_error if the variant of Vectorscan for this processor is known
  /// to miss matches. `ignore_case`: as if each expression began with (?i).
  match_set(std::vector<match_expression> typed, bool ignore_case);
  ~match_set();
  match_set(match_set&&) noexcept;
  match_set& operator=(match_set&&) noexcept;

  [[nodiscard]] std::size_t size() const { return typed_.size(); }
  [[nodiscard]] std::span<const match_expression> expressions() const { return typed_; }

 private:
  friend class match_reader;
  class databases;

  std::vector<match_expression> typed_;
  std::unique_ptr<databases> databases_;
};

/// Finds the matches in lines. One thread at a time. Borrows the set, which must not be moved meanwhile.
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
  /// in it. Lines with the delimiter '\n' are scanned together, others one by one. Throws std::bad_alloc;
  /// std::logic_error if Vectorscan reports an error; config::usage_error if the expressions are too large for this
  /// delimiter.
  void read(std::string_view text, std::span<const std::uint32_t> ends, char delimiter,
            std::span<std::uint64_t> matched);

  [[nodiscard]] std::size_t words_per_line() const;

 private:
  class scanner;

  std::unique_ptr<scanner> scanner_;
};

}  // namespace gpuhist::report::lines
